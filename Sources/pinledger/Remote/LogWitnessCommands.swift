import ArgumentParser
import PinWire

struct LogWitnessCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "witness", abstract: "Manage the witnesses that cosign the log's checkpoints.",
        discussion: """
            A witness (C2SP tlog-witness) cosigns a checkpoint only if it extends all that it has cosigned before. With a \
            quorum, readers are shown only checkpoints that so many witnesses have cosigned.
            """,
        subcommands: [List.self, Add.self, Remove.self, SetQuorum.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the witnesses with the last answer of each.",
            discussion: "pinledger log witness list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let list = try await client.get("/v1/log/witnesses")
                if self.remote.output.isTable { Console.print("Quorum: \(list.text("quorum"))") }
                ListReport.print(
                    list, "witnesses", self.remote.output, ["KEY", "NAME", "URL", "COSIGNED", "AT", "FAILURE"]
                ) {
                    [
                        $0.text("key_id"), $0.text("name"), $0.text("url"), $0.text("cosigned_size"),
                        $0.time("cosigned_at"), $0.text("failure"),
                    ]
                }
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a witness: it is asked to cosign from now on.",
            discussion: """
                pinledger log witness add witness.example.net/w1+621ef7a3+BHQ36cEh+K1pR4heKOHN+FOq6QTGzcCgS2MmMzV1junQ \
                --url https://witness.example.net/pins --reason "audit"

                The witness's operator has to know the log's name and vkey (`pinledger log show`).
                """)
        @Argument(help: "The witness's key (C2SP vkey).") var vkey: String
        @Option(
            help: ArgumentHelp(
                "Address below which the witness takes checkpoints (C2SP: submission prefix).", valueName: "url"))
        var url: String
        @Option(
            help: ArgumentHelp(
                "Address below which it shows what it has cosigned (C2SP: monitoring prefix), if it is another.",
                valueName: "url"))
        var monitoringURL: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = ["vkey": .string(self.vkey), "url": .string(self.url)]
            members["monitoring_url"] = self.monitoringURL.map { .string($0) }
            try await self.remote.change("POST", "/v1/log/witnesses", members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a witness: it is no longer asked.",
            discussion: "pinledger log witness remove 621ef7a3")
        @Argument(help: "The witness's key: the 8 hexadecimal digits in its vkey.") var key: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", "/v1/log/witnesses/\(APIClient.escaped(self.key))", self.change)
        }
    }

    struct SetQuorum: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-quorum",
            abstract: "Set how many witnesses have to cosign a checkpoint before it is shown; 0 for none.",
            discussion: "pinledger log witness set-quorum 2 --reason \"audit\"")
        @Argument(help: "How many.") var count: Int
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "PUT", "/v1/log/quorum", ["quorum": .integer(Int64(self.count))], self.change)
        }
    }
}

struct LogPolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Print what verifiers have to know of the log and its witnesses.",
        discussion: """
            pinledger log policy

            The form is C2SP tlog-policy. Give it to auditors by a way that does not lead through the server.
            """)
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        try await self.remote.withClient { client in
            let log = try await client.get("/v1/log")
            guard log["origin"]?.stringValue != nil else {
                throw CommandFailure("the log is not open", advice: "Open it with `pinledger log open NAME`.")
            }
            let keys = (log["keys"]?.arrayValue ?? []).filter { $0["retired_at"] == nil }
            for key in keys { Console.print("log \(key.text("vkey"))") }
            let witnesses = log["witnesses"]?.arrayValue ?? []
            for (number, witness) in witnesses.enumerated() {
                Console.print("witness w\(number + 1) \(witness.text("vkey")) \(witness.text("url"))")
            }
            let quorum = log["quorum"]?.integerValue ?? 0
            guard quorum > 0 else { return Console.print("quorum none") }
            let names = witnesses.indices.map { "w\($0 + 1)" }.joined(separator: " ")
            Console.print("group witnesses \(quorum) \(names)")
            Console.print("quorum witnesses")
        }
    }
}
