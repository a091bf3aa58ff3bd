import ArgumentParser

extension AppCommands {
    struct Archive: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "archive", abstract: "Archive an app that is no longer used.",
            discussion: """
                pinledger app adoption com.example.app
                pinledger app archive com.example.app --dry-run
                pinledger app archive com.example.app --reason "replaced by com.example.app2"

                All hosts, kill switches and rollouts of the app are removed. Its document stays, signed and without hosts, \
                so that installs that still fetch it pin nothing. The app takes no more changes, and its id stays taken. To \
                get everything back, revert the change: `pinledger app revert APP POSITION`.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/apps/\(APIClient.escaped(self.app))/archive", [:], self.change)
        }
    }

    struct Unarchive: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unarchive", abstract: "Unarchive an app: it has no hosts, and takes changes again.",
            discussion: """
                pinledger app list --archived
                pinledger app unarchive com.example.app

                To get its hosts back as well, revert the change that archived it: `pinledger app revert APP POSITION`.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/apps/\(APIClient.escaped(self.app))/unarchive", [:], self.change)
        }
    }
}
