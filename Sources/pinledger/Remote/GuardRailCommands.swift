import ArgumentParser
import PinWire

struct GuardRailCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard-rail", abstract: "Shows the guard rails, and lowers one to a warning or raises it again.",
        discussion: "What a rail asks and why: pinledger explain G07",
        subcommands: [List.self, Lower.self, Raise.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the guard rails, and which only warn.")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/guard-rails")
                ListReport.print(
                    json, "guard_rails", self.remote.output, ["CODE", "SEVERITY", "LOWERED", "HELD", "RULE"]
                ) {
                    [$0.text("code"), $0.text("severity"), $0.text("lowered"), $0.text("holding"), $0.text("title")]
                }
            }
        }
    }

    struct Target: ParsableArguments {
        @Argument(help: "The guard rail's code, such as G13.") var code: String
        @Option(help: "Only for this app.") var app: String?

        func set(lowered: Bool, _ change: ChangeOptions, _ remote: RemoteOptions) async throws {
            let place = self.app.map { "/v1/apps/\(APIClient.escaped($0))" } ?? "/v1"
            try await remote.change(
                "PUT", "\(place)/guard-rails/\(APIClient.escaped(self.code))", ["lowered": .bool(lowered)], change)
        }
    }

    struct Lower: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets a guard rail only warn.",
            discussion: "Only rails of severity override can be lowered. It takes a reason, and is recorded."
        )
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.set(lowered: true, self.change, self.remote) }
    }

    struct Raise: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Puts a lowered guard rail back in force.")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.set(lowered: false, self.change, self.remote) }
    }
}
