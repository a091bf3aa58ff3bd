import ArgumentParser
import PinWire

extension AppCommands {
    struct Revert: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revert", abstract: "Revert a recorded change of an app.",
            discussion: """
                pinledger history com.example.app
                pinledger app revert com.example.app 42 --dry-run
                pinledger app revert com.example.app 42 --reason "the new key is not served yet"

                POSITION is that of any event of the change. Each setting that the change set gets the value that it had \
                before. If a later change set one of them again, nothing is changed: revert the later change first.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "Position of an event of the change, as `history` shows it.") var position: Int64
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let path = "/v1/apps/\(APIClient.escaped(self.app))/revert"
                let json = try await client.change("POST", path, ["position": .integer(self.position)], self.change)
                ChangeReport.print(json, self.remote.output)
                guard self.remote.output.isTable else { return }
                for kept in json["not_reverted"]?.arrayValue ?? [] { Console.error(kept.said("detail")) }
            }
        }
    }
}
