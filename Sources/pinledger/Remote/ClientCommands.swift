import ArgumentParser
import Foundation
import PinWire
import Pinning

struct ClientCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client",
        abstract: "Manage the kinds of clients that an app's installs use besides this project's own.",
        discussion: """
            pinledger client set com.example.shop dynapins --generate-key
            pinledger client set com.example.shop wultra --settings wultra.json --key private.pem
            pinledger client set com.example.shop remote_config --hash raw_key
            pinledger compat com.example.shop

            Clients of the kinds \(Self.kinds(areServed: true)) fetch their pins from the server. Those of \
            the kinds \(Self.kinds(areServed: false)) have them built into the app (`pinledger export FORMAT APP`).
            """,
        subcommands: [List.self, Show.self, Set.self, SetKey.self, Remove.self]
    )

    private static func kinds(areServed: Bool) -> String {
        ClientKind.allCases.filter { $0.isServed == areServed }.map(\.rawValue).joined(separator: ", ")
    }

    /// The path of an app's kinds of clients in the API.
    fileprivate static func path(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/clients" }

    /// The path of one kind.
    fileprivate static func path(_ app: String, _ kind: ClientKind) -> String {
        "\(Self.path(app))/\(kind.rawValue)"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List an app's kinds of clients.",
            discussion: "pinledger client list com.example.shop")
        @Argument(help: "The app's id.", completion: .apps) var app: String
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
            commandName: "show", abstract: "Show one kind of client, with the public key to build into the app.",
            discussion: "pinledger client show com.example.shop dynapins")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The kind of client.") var kind: ClientKind
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get(ClientCommands.path(self.app, self.kind))
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                var table = Table(["WHAT", "VALUE"])
                table.add(["client", json.text("client")])
                for (name, value) in (json["settings"]?.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                    table.add([name, value.stringValue ?? value.canonicalText])
                }
                for name in ["key_id", "algorithm", "public_key"] { table.add([name, json["key"]?.text(name) ?? "-"]) }
                if let name = json["key_name"]?.stringValue { table.add(["key_name", name]) }
                Console.print(table)
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Declare a kind of client or change its settings, and set its key if one is given.",
            discussion: """
                pinledger client set com.example.shop dynapins --generate-key
                pinledger client set com.example.shop wultra --settings wultra.json --key private.pem

                Settings that neither the file nor an option names get their defaults.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The kind of client.") var kind: ClientKind
        @Option(help: ArgumentHelp("File with the settings as JSON, - for standard input.", valueName: "file"))
        var settings: String?
        @Option(
            help: ArgumentHelp(
                "For remote_config only: what installs hash. Default: spki. Adds to the settings of the file.",
                valueName: "hash"))
        var hash: RemoteConfigHash?
        @Option(
            help: ArgumentHelp(
                "File with the private key to sign with (PEM, DER or base64). Installs have its public half.",
                valueName: "file"))
        var key: String?
        @Flag(help: "Create a key. Its private half never leaves the server.") var generateKey = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard self.key == nil || !self.generateKey else {
                throw CommandFailure("give --key or --generate-key, not both", status: .usage)
            }
            guard self.settings != "-" || self.key != "-" else {
                throw CommandFailure(
                    "standard input can be read only once: give a file for --settings or for --key", status: .usage)
            }
            var members: [String: JSON] = [:]
            members["settings"] = try self.givenSettings()
            // Read before anything is recorded: an unreadable file would leave the change half done.
            let key: [String: JSON]? = try self.key.map(PrivateKeyInput.members) ?? (self.generateKey ? [:] : nil)
            if key != nil, try !self.change.proposal.query.isEmpty {
                throw CommandFailure(
                    "a key is set at once and cannot be part of a proposed change",
                    advice:
                        "Propose the client without a key, and then set it with `pinledger client set-key \(self.app) \(self.kind.rawValue)`.",
                    status: .usage)
            }
            try await self.remote.withClient { client in
                let path = ClientCommands.path(self.app, self.kind)
                let json = try await client.change("PUT", path, members, self.change)
                ChangeReport.print(json, self.remote.output)
                guard let key else { return }
                if self.change.dryRun {
                    return Console.error(
                        "Then the key would be set. For a dry run of that: `pinledger client set-key \(self.app) \(self.kind.rawValue) --dry-run`."
                    )
                }
                var next = self.change
                next.ifVersion = self.change.ifVersion.flatMap { before in
                    json["version"]?.integerValue.map { EpochNumber(epoch: before.epoch, number: $0) }
                }
                next.idempotencyKey = self.change.idempotencyKey.map { "\($0)/key" }
                KeyReport.print(try await client.change("POST", "\(path)/key", key, next), self.remote.output)
            }
        }

        /// The file's settings and the options; nil where neither is there.
        private func givenSettings() throws -> JSON? {
            let given = try self.settings.map(Self.json)
            guard let hash = self.hash else { return given }
            guard case .object(var members) = given ?? [:] else {
                throw CommandFailure("the settings must be an object", status: .usage)
            }
            guard members["hash"] == nil else {
                throw CommandFailure("give --hash or a hash in the settings, not both", status: .usage)
            }
            members["hash"] = .string(hash.rawValue)
            return .object(members)
        }

        private static func json(_ path: String) throws -> JSON {
            let data = try GivenFile.data(path, takesInput: true)
            do { return try JSON(parsing: data) } catch {
                throw CommandFailure("\(path) does not hold JSON: \(error)", status: .usage)
            }
        }
    }

    struct SetKey: AsyncParsableCommand, HoldsKeys {
        static let configuration = CommandConfiguration(
            commandName: "set-key",
            abstract: "Set the key that signs responses to a kind of client: your own, or one that the server creates.",
            discussion: """
                pinledger client set-key com.example.shop wultra --import private.pem

                Installs have the public half built in and accept no other key. Replacing a key needs --force and a \
                --reason.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The kind of client.") var kind: ClientKind
        @Option(
            name: .customLong("import"),
            help: ArgumentHelp(
                "File with the private key (PEM, DER or base64), - for standard input. Default: create one.",
                valueName: "file"))
        var file: String?
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
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
            commandName: "remove",
            abstract: "Stop serving a client kind and erase its key. Existing installs accept no other key.",
            discussion: "pinledger client remove com.example.shop okhttp --reason \"app rewritten\"")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The kind of client.") var kind: ClientKind
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", ClientCommands.path(self.app, self.kind), self.change)
        }
    }
}

/// A file with a private key in the API's form. Nothing of it is ever shown.
private enum PrivateKeyInput {
    /// Text unchanged (PEM, or base64), anything else in base64.
    static func members(_ path: String) throws -> [String: JSON] {
        let data = try GivenFile.data(path, takesInput: true)
        guard !data.isEmpty else { throw CommandFailure("\(path) is empty", status: .usage) }
        // The server's limit for PEM, DER or base64, with room for white space.
        guard data.count <= 32 * 1024 else { throw CommandFailure("\(path) is too large for a key", status: .usage) }
        let isText = data.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
        return ["private_key": .string(isText ? String(decoding: data, as: UTF8.self) : Base64.encode(data))]
    }
}

/// The result of setting a key, for people.
private enum KeyReport {
    static func print(_ json: JSON, _ output: OutputForm) {
        ChangeReport.print(json, output)
        guard output.isTable, json["dry_run"] != true, let key = json["key"] else { return }
        Console.print("Key \(key.text("key_id")) (\(key.text("algorithm"))). Build its public half into the app:")
        Console.print(key.text("public_key"))
    }
}
