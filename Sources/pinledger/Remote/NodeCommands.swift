import ArgumentParser
import PinWire

struct NodeCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "node", abstract: "Show the nodes that share the ledger, and raise its feature level.",
        subcommands: [List.self, RaiseFeatureLevel.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the nodes with the version and the state of each.",
            discussion: """
                pinledger node list

                Each node reports itself every ten seconds. A node on a standby of the database cannot, and is not listed.
                """)
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                let list = try await client.get("/v1/nodes")
                if self.remote.output.isTable, self.remote.output.kind != .name {
                    let known = list.text("known_feature_level")
                    Console.print(
                        "Feature level: \(list.text("feature_level")) (the server's program knows up to \(known))")
                }
                ListReport.print(
                    list, "nodes", self.remote.output,
                    ["NODE", "VERSION", "KNOWS LEVEL", "SCHEMA", "STATE", "POSITION", "LAST SEEN"]
                ) {
                    [
                        $0.text("name"), $0.text("version"), $0.text("feature_level"), $0.text("schema_version"),
                        ($0["live"] == true ? "" : "gone, was ") + $0.text("state")
                            + ($0["read_only"] == true ? ", read-only" : ""),
                        $0.text("position"), $0.time("seen_at"),
                    ]
                }
            }
        }
    }

    struct RaiseFeatureLevel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "raise-feature-level",
            abstract: "Raise the feature level: allow what only later programs know.",
            discussion: """
                pinledger node raise-feature-level 2 --reason "all nodes run 0.2"

                It cannot be undone: from now on earlier programs record and sign nothing, and going back to one takes a \
                restored backup. The server refuses while a node runs that does not know the level.
                """)
        @Argument(help: "The feature level, as `pinledger node list` shows it.") var level: Int
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "PUT", "/v1/fleet/feature-level", ["level": .integer(Int64(self.level))], self.change)
        }
    }
}
