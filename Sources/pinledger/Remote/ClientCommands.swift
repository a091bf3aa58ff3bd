import ArgumentParser
import Foundation
import PinWire

struct ClientCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client", abstract: "Kinds of clients that an app's installs use, besides this project's own.",
        discussion: """
            pinledger client set com.example.shop dynapins --generate-key
            pinledger client set com.example.shop wultra --settings wultra.json --key private.pem
            pinledger client set com.example.shop remote_config --hash raw_key
            pinledger compat com.example.shop

            Kinds: dynapins, wultra, remote_config, muejam, netkit, ssl_pinning are served while they run; trustkit_ios, \
            trustkit_android, apple_ats, android_nsc, okhttp, okhttp_3, react_native, flutter, curl have their pins built \
            into the app (`pinledger export FORMAT APP`).
            """,
        subcommands: [List.self, Show.self, Set.self, Key.self, Remove.self]
    )

    /// The path of an app's kinds of clients in the API.
    fileprivate static func path(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/clients" }

    /// The path of one kind.
    fileprivate static func path(_ app: String, _ kind: String) -> String {
        "\(Self.path(app))/\(APIClient.escaped(kind))"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the kinds of clients of an app.")
        @Argument var app: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get(ClientCommands.path(self.app)), "clients", self.remote.output,
                    ["CLIENT", "KEY", "ALGORITHM", "SETTINGS"]
                ) { kind in
                    [
                        kind.text("client"), kind["key"]?.text("key_id") ?? "-", kind["key"]?.text("algorithm") ?? "-",
                        kind["settings"]?.canonicalText ?? "-",
                    ]
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows one kind of client, with the public key to build into the app.")
        @Argument var app: String
        @Argument var kind: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get(ClientCommands.path(self.app, self.kind))
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                var table = Table(["WHAT", "VALUE"])
                table.add(["client", json.text("client")])
                for (name, value) in (json["settings"]?.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                    table.add([name, value.stringValue ?? value.canonicalText])
                }
                for name in ["key_id", "algorithm", "public_key"] { table.add([name, json["key"]?.text(name) ?? "-"]) }
                if let name = json["key_name"]?.stringValue { table.add(["key_name", name]) }
                Console.print(table.text)
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Declares a kind of client, or changes its settings; sets its key where one is given.",
            discussion: "What neither the file of settings nor an option names has its default."
        )
        @Argument var app: String
        @Argument var kind: String
        @Option(help: ArgumentHelp("File with the settings as JSON, - for standard input.", valueName: "file"))
        var settings: String?
        @Option(
            help: ArgumentHelp(
                "Of remote_config, beside the file's settings: what installs hash, spki (the default) or raw_key.",
                valueName: "hash"))
        var hash: String?
        @Option(
            help: ArgumentHelp(
                "File with the private key that installs have the public half of: PEM, DER or base64.",
                valueName: "file"))
        var key: String?
        @Flag(help: "Have a key made. Its private half never leaves the server.") var generateKey = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard self.key == nil || !self.generateKey else {
                throw CommandFailure("--key and --generate-key exclude each other", status: .usage)
            }
            guard self.settings != "-" || self.key != "-" else {
                throw CommandFailure("standard input can be read once: give a file for one of them", status: .usage)
            }
            var members: [String: JSON] = [:]
            members["settings"] = try self.givenSettings()
            // Before anything is recorded: a file that cannot be read would leave half of it done.
            let key: [String: JSON]? = try self.key.map(PrivateKeyInput.members) ?? (self.generateKey ? [:] : nil)
            try await self.remote.withClient { client in
                let path = ClientCommands.path(self.app, self.kind)
                let json = try await client.change("PUT", path, members, self.change)
                ChangeReport.print(json, self.remote.output)
                guard let key else { return }
                if self.change.dryRun {
                    return Console.error(
                        "Then the key would be set; a dry run of that: `pinledger client key \(self.app) \(self.kind) --dry-run`."
                    )
                }
                var next = self.change
                next.ifVersion = self.change.ifVersion == nil ? nil : json["version"]?.integerValue
                next.idempotencyKey = self.change.idempotencyKey.map { "\($0)/key" }
                KeyReport.print(try await client.change("POST", "\(path)/key", key, next), self.remote.output)
            }
        }

        /// What the file says, and the options; nil where neither is there.
        private func givenSettings() throws -> JSON? {
            let given = try self.settings.map(Self.json)
            guard let hash = self.hash else { return given }
            guard case .object(var members) = given ?? [:] else {
                throw CommandFailure("the settings must be an object", status: .usage)
            }
            guard members["hash"] == nil else {
                throw CommandFailure("--hash, and a hash among the settings, exclude each other", status: .usage)
            }
            members["hash"] = .string(hash)
            return .object(members)
        }

        private static func json(_ path: String) throws -> JSON {
            let data =
                path == "-"
                ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
            guard let data else { throw CommandFailure("\(path) cannot be read", status: .usage) }
            do { return try JSON(parsing: data) } catch {
                throw CommandFailure("\(path) does not hold JSON: \(error)", status: .usage)
            }
        }
    }

    struct Key: AsyncParsableCommand, HoldsKeys {
        static let configuration = CommandConfiguration(
            abstract:
                "Sets what answers to a kind of client are signed with: a key of yours, or one made by the server.",
            discussion: """
                Installs have the public half built in and take nothing that another key signed. Replacing a key needs \
                --force and a --reason.
                """
        )
        @Argument var app: String
        @Argument var kind: String
        @Option(
            name: .customLong("import"),
            help: ArgumentHelp(
                "File with the private key (PEM, DER or base64), - for standard input. Without it, one is made.",
                valueName: "file"))
        var file: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members = try self.file.map(PrivateKeyInput.members) ?? [:]
            try await self.remote.withClient { client in
                let path = "\(ClientCommands.path(self.app, self.kind))/key"
                KeyReport.print(try await client.change("POST", path, members, self.change), self.remote.output)
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Serves a kind of client no longer. Its key is erased: installs understand no other.")
        @Argument var app: String
        @Argument var kind: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", ClientCommands.path(self.app, self.kind), self.change)
        }
    }
}

/// A file with a private key as the API takes it. Nothing of it is ever shown.
private enum PrivateKeyInput {
    /// Text as it is (PEM, or base64), anything else in base64.
    static func members(_ path: String) throws -> [String: JSON] {
        let data =
            path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data, !data.isEmpty else {
            throw CommandFailure("\(path) cannot be read, or is empty", status: .usage)
        }
        // What the server takes of PEM, DER or base64, with room for white space.
        guard data.count <= 32 * 1024 else { throw CommandFailure("\(path) is too large for a key", status: .usage) }
        let isText = data.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
        return ["private_key": .string(isText ? String(decoding: data, as: UTF8.self) : Base64.encode(data))]
    }
}

/// What came of setting a key, for people.
private enum KeyReport {
    static func print(_ json: JSON, _ output: RemoteOptions.OutputForm) {
        ChangeReport.print(json, output)
        guard output == .table, json["dry_run"] != true, let key = json["key"] else { return }
        Console.print("Key \(key.text("key_id")) (\(key.text("algorithm"))). The app is built with its public half:")
        Console.print(key.text("public_key"))
    }
}
