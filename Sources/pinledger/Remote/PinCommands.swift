import ArgumentParser
import PinWire

struct PinCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Pins of a host.",
        discussion: """
            Where a pin is asked for, a file may be given that shows the key: a certificate (PEM or DER), a signing request or \
            a public key. A private key is refused and never sent. `pinledger pin inspect FILE` shows what a file holds.
            """,
        subcommands: [
            Inspect.self, List.self, Add.self, Describe.self, Activate.self, Role.self, Retire.self, Revoke.self,
        ]
    )

    struct Place: ParsableArguments {
        @Argument var app: String
        @Argument var host: String

        var path: String { HostCommands.path(self.app, self.host) }
    }

    /// A pin that is there already.
    struct Target: ParsableArguments {
        @OptionGroup var place: Place
        @Argument(help: "A pin (sha256/BASE64), or a file that shows the key.") var pin: String
        @Option(help: "baseline or candidate") var policy = "baseline"

        /// Changes the pin.
        func change(_ members: [String: JSON], _ change: ChangeOptions, _ remote: RemoteOptions) async throws {
            let pin = try KeyInput(self.pin).pin
            var members = members
            members["policy"] = .string(self.policy)
            try await remote.withClient { client in
                let path = "\(self.place.path)/pins/\(Hex.encode(pin.bytes))"
                ChangeReport.print(try await client.change("PATCH", path, members, change), remote.output)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists a host's pins.")
        @OptionGroup var place: Place
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let host = try await client.get(self.place.path)
                let pins = ["baseline", "candidate"].flatMap { slot in
                    (host[slot]?["pins"]?.arrayValue ?? []).map { pin in
                        var members = pin.objectValue ?? [:]
                        members["policy"] = .string(slot)
                        return JSON.object(members)
                    }
                }
                ListReport.print(
                    ["pins": .array(pins)], "pins", self.remote.output,
                    ["POLICY", "STATE", "ROLE", "PIN", "SINCE", "NOTE"]
                ) {
                    [
                        $0.text("policy"), $0.text("state"), $0.text("role"), $0.text("pin"), $0.text("since"),
                        $0.text("note"),
                    ]
                }
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Adds a pin.")
        @OptionGroup var place: Place
        @Argument(help: "A file that shows the key (certificate, signing request, public key), or a pin.") var pin:
            String
        @Option(help: "primary, backup or emergency") var role = "backup"
        @Flag(help: "Record it without publishing it.") var staged = false
        @Option(help: "What people should know, such as where the key is kept.") var note: String?
        @Option(help: "baseline or candidate") var policy = "baseline"
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members = try KeyInput(self.pin).members
            members["role"] = .string(self.role)
            members["policy"] = .string(self.policy)
            members["state"] = self.staged ? "staged" : "active"
            members["note"] = self.note.map { .string($0) }
            try await self.remote.change("POST", "\(self.place.path)/pins", members, self.change)
        }
    }

    struct Describe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keeps the keys and certificates of a file whose pins an app has.",
            discussion: """
                pinledger pin describe com.example.shop renewed.pem

                A renewed certificate, or a key of which the app has the pin alone: what formats take that need more \
                than pins. All that the file holds must be pinned.
                """
        )
        @Argument var app: String
        @Argument(help: "A file with certificates, signing requests or public keys.") var file: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let (bytes, _) = try KeyInput.read(self.file)
            // What is not text is sent in base64, which is read as well.
            let material = String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes)
            let path = "/v1/apps/\(APIClient.escaped(self.app))/key-facts"
            try await self.remote.change("POST", path, ["material": .string(material)], self.change)
        }
    }

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Publishes a staged pin.")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "active"], self.change, self.remote) }
    }

    struct Role: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Gives a pin another role.")
        @OptionGroup var target: Target
        @Option(help: "primary, backup or emergency") var role: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["role": .string(self.role)], self.change, self.remote) }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes a pin out of use.")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "retired"], self.change, self.remote) }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes a compromised key's pin out of use for ever.")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "revoked"], self.change, self.remote) }
    }
}
