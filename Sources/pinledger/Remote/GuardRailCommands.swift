import ArgumentParser
import PinWire

struct GuardRailCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard-rail", abstract: "Show guard rails, lower one to a warning, or raise it again.",
        discussion: "`pinledger explain G07` explains a guard rail.",
        subcommands: [List.self, Lower.self, Raise.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the guard rails, and which of them only warn.",
            discussion: "pinledger guard-rail list")
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
        @Option(help: "Apply to this app only.") var app: String?

        func set(lowered: Bool, _ change: ChangeOptions, _ remote: RemoteOptions) async throws {
            let place = self.app.map { "/v1/apps/\(APIClient.escaped($0))" } ?? "/v1"
            try await remote.change(
                "PUT", "\(place)/guard-rails/\(APIClient.escaped(self.code))", ["lowered": .bool(lowered)], change)
        }
    }

    struct Lower: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lower", abstract: "Lower a guard rail: it only warns.",
            discussion: """
                pinledger guard-rail lower G13 --app com.example.app --reason "no second key yet"

                Only guard rails of severity override can be lowered. A reason is required, and the ledger records it.
                """
        )
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.set(lowered: true, self.change, self.remote) }
    }

    struct Raise: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "raise", abstract: "Raise a lowered guard rail: it is enforced again.",
            discussion: "pinledger guard-rail raise G13 --app com.example.app")
        @OptionGroup var target: Target
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.target.set(lowered: false, self.change, self.remote) }
    }
}
