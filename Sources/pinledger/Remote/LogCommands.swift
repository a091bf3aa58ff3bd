import ArgumentParser
import PinWire

struct LogCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Manage the transparency log, which proves to outsiders what the ledger holds.",
        discussion: """
            The ledger is a transparency log (C2SP tlog-tiles): each event is a leaf of a Merkle tree, and a signed \
            checkpoint states the tree's size and root. An event that is altered or left out later fits no earlier \
            checkpoint. `pinledger handbook transparency-log` says how auditors use it.
            """,
        subcommands: [
            Show.self, Open.self, Update.self, LogExportCommand.self, Key.self, LogWitnessCommands.self,
            LogPolicyCommand.self,
        ]
    )

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the log's name and the keys of its checkpoints.",
            discussion: "pinledger log show")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let log = try await client.get("/v1/log")
                if self.remote.output.isTable {
                    guard let origin = log["origin"]?.stringValue else {
                        return Console.print("The log is not open: `pinledger log open NAME` opens it.")
                    }
                    Console.print("Origin: \(origin)")
                    Console.print("Readers: \(log["public"] == true ? "everyone" : "who has a token")")
                    Console.print("Published documents are recorded: \(log["document_proofs"] == true ? "yes" : "no")")
                    for earlier in log["earlier"]?.arrayValue ?? [] {
                        Console.print(
                            "Earlier: \(earlier.text("origin")), known up to size \(earlier.text("size")) with root \(earlier.text("root"))"
                        )
                    }
                }
                ListReport.print(log, "keys", self.remote.output, ["VKEY", "KID", "CREATED", "RETIRED"]) {
                    [$0.text("vkey"), $0.text("kid"), $0.time("created_at"), $0.time("retired_at")]
                }
            }
        }
    }

    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "open", abstract: "Open the log: name it, and make the key of its checkpoints.",
            discussion: """
                pinledger log open pins.example.com/log --reason "audit"

                The name changes only after a loss of events. Use the address under which auditors reach the log, without https:// and \
                without a slash at the end.
                """)
        @Argument(help: "The log's name (C2SP: origin).") var origin: String
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/log", ["origin": .string(self.origin)], self.change)
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Change who may read the log, and whether documents are recorded in it.",
            discussion: """
                pinledger log update --document-proofs
                pinledger log update --public --reason "published with our transparency report"

                With --public, everyone may read all events, with the names and reasons in them. Proofs of documents need no \
                public log: such a proof shows nothing but the app, the version and the digest of its document.
                """)
        @Flag(
            name: .customLong("public"), inversion: .prefixedNo,
            help: "Let everyone read the log, or only who has a token.")
        var isPublic: Bool?
        @Flag(inversion: .prefixedNo, help: "Record each published document, so that there is a proof of it.")
        var documentProofs: Bool?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: JSON = .members([
                "public": self.isPublic.map { .bool($0) }, "document_proofs": self.documentProofs.map { .bool($0) },
            ])
            guard let members = members.objectValue, !members.isEmpty else {
                throw CommandFailure(
                    "no setting is given", advice: "Give --public or --document-proofs, or their opposites.",
                    status: .usage)
            }
            try await self.remote.change("PATCH", "/v1/log", members, self.change)
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key", abstract: "Manage the keys of the log's checkpoints.",
            discussion: """
                To change the key: `log key add` makes a second one, and checkpoints have a signature of both. When all \
                auditors know the new one, `log key retire` removes the old one. The log keeps its name.
                """,
            subcommands: [Add.self, Retire.self])

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "add", abstract: "Add a key: checkpoints have its signature too from now on.",
                discussion: "pinledger log key add --reason \"yearly rotation\"")
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
            @OptionGroup var remote: RemoteOptions

            func run() async throws { try await self.remote.change("POST", "/v1/log/keys", self.change) }
        }

        struct Retire: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "retire",
                abstract: "Retire a key: it signs no more checkpoints, and its private half is erased.",
                discussion: "pinledger log key retire 8Jx1V0mYwq3tQ5sE")
            @Argument(help: "The key's id (kid).") var kid: KeyIDArgument
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.change(
                    "POST", "/v1/log/keys/\(APIClient.escaped(self.kid.text))/retire", self.change)
            }
        }
    }
}
