import ArgumentParser
import PinWire

struct PinCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Manage a host's pins.",
        discussion: """
            Instead of a pin you can give a file with the key: a certificate (PEM or DER), a signing request or a \
            public key. Private keys are refused and never sent. `pinledger pin inspect FILE` shows what a file holds.
            """,
        subcommands: [
            Inspect.self, List.self, Add.self, Describe.self, Activate.self, SetRole.self, Retire.self, Revoke.self,
        ]
    )

    struct Place: ParsableArguments {
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String

        var path: String { HostCommands.path(self.app, self.host) }
    }

    /// A pin of a host's policy.
    struct HeldPin: ParsableArguments {
        @Argument(help: "A pin (sha256/BASE64), or a file with the key.") var pin: String
        @Option(help: "The policy that has the pin.") var policy = PolicyArm.baseline
    }

    /// A pin that the host has.
    struct Target: JoinedArguments {
        private var place = Place()
        private var held = HeldPin()

        init() {}

        init(joining decoder: any Decoder) throws {
            self.place = try Place(from: decoder)
            self.held = try HeldPin(from: decoder)
        }

        var groups: [any ParsableArguments] { [self.place, self.held] }

        /// Changes the pin.
        func change(_ members: [String: JSON], _ change: ChangeOptions, _ remote: RemoteOptions) async throws {
            let pin = try KeyInput.existing(self.held.pin)
            var members = members
            members["policy"] = .string(self.held.policy.rawValue)
            try await remote.withClient { client in
                let path = "\(self.place.path)/pins/\(Hex.encode(pin.bytes))"
                ChangeReport.print(try await client.change("PATCH", path, members, change), remote.output)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List a host's pins.",
            discussion: "pinledger pin list com.example.app api.example.com")
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
                        $0.text("policy"), $0.text("state"), $0.text("role"), $0.text("pin"), $0.time("since"),
                        $0.text("note"),
                    ]
                }
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a pin.",
            discussion: """
                pinledger pin add com.example.app api.example.com next.csr --role backup --note "in the safe"
                """
        )
        @OptionGroup var place: Place
        @Argument(help: "A file with the key (certificate, signing request, public key), or a pin.") var pin: String
        @Option(help: "What the key is kept for.") var role = PinRole.backup
        @Flag(help: "Record the pin without publishing it.") var staged = false
        @Option(help: "Note for people, such as where the key is kept.") var note: String?
        @Option(help: "The policy that has the pin.") var policy = PolicyArm.baseline
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members = try KeyInput(self.pin).members
            members["role"] = .string(self.role.rawValue)
            members["policy"] = .string(self.policy.rawValue)
            members["state"] = self.staged ? "staged" : "active"
            members["note"] = self.note.map { .string($0) }
            try await self.remote.change("POST", "\(self.place.path)/pins", members, self.change)
        }
    }

    struct Describe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "describe", abstract: "Store keys and certificates for existing pins.",
            discussion: """
                pinledger pin describe com.example.shop renewed.pem

                Some client formats need the key or the certificate itself, not only its pin. Use this for a renewed \
                certificate, or for a key that was added as a pin. The app must pin everything in the file.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "A file with certificates, signing requests or public keys.") var file: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let (bytes, _) = try KeyInput.read(self.file)
            // Bytes that are not text are sent in base64, which the server reads as well.
            let material = String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes)
            let path = "/v1/apps/\(APIClient.escaped(self.app))/key-facts"
            try await self.remote.change("POST", path, ["material": .string(material)], self.change)
        }
    }

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "activate", abstract: "Publish a staged pin.",
            discussion: "pinledger pin activate com.example.app api.example.com next.csr")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "active"], self.change, self.remote) }
    }

    struct SetRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-role", abstract: "Change a pin's role.",
            discussion: "pinledger pin set-role com.example.app api.example.com next.csr --role primary")
        @OptionGroup var target: Target
        @Option(help: "What the key is kept for.") var role: PinRole
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.target.change(["role": .string(self.role.rawValue)], self.change, self.remote)
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retire", abstract: "Retire a pin: clients stop accepting it.",
            discussion: "pinledger pin retire com.example.app api.example.com old.pem --reason \"the key is replaced\"")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "retired"], self.change, self.remote) }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Revoke a compromised key's pin. It cannot be used again.",
            discussion: """
                pinledger pin revoke com.example.app api.example.com old.pem --reason "key leaked"
                """
        )
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.change(["state": "revoked"], self.change, self.remote) }
    }
}
