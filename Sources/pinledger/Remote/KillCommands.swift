import ArgumentParser
import Foundation
import PinWire

struct KillCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill", abstract: "Kill switches: pinning off for a time, for a host, an app or everything.",
        discussion: "Nothing is deleted: released, everything is as before.",
        subcommands: [List.self, Engage.self, Release.self]
    )

    struct Scope: ParsableArguments {
        @Argument(help: "The app; left out only with --everything.") var app: String?
        @Argument(help: "The host; without it the whole app.") var host: String?
        @Flag(help: "Every host of every app.") var everything = false

        func path() throws -> String {
            guard self.everything != (self.app != nil) else {
                throw CommandFailure("name an app, or give --everything", status: .usage)
            }
            guard let app = self.app else { return "/v1/kill-switch" }
            return (self.host.map { HostCommands.path(app, $0) } ?? "/v1/apps/\(APIClient.escaped(app))")
                + "/kill-switch"
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists engaged kill switches.")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/kill-switches")
                ListReport.print(
                    json, "kill_switches", self.remote.output,
                    ["SCOPE", "APP", "HOST", "ENGAGED", "EXPIRES", "IN FORCE"]
                ) {
                    [
                        $0.text("scope"), $0.text("app"), $0.text("host"), $0.text("engaged_at"), $0.text("expires_at"),
                        $0.text("in_force"),
                    ]
                }
            }
        }
    }

    struct Engage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turns pinning off.",
            discussion: "pinledger kill engage com.example.app --reason \"CA incident 4711\" --for 4h"
        )
        @OptionGroup var scope: Scope
        @Option(name: .customLong("for"), help: "How long, such as 30m, 4h or 2d; 7 days at most.") var duration = "4h"
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let expiry = Node.clock().adding(seconds: try Self.seconds(self.duration))
            let members: [String: JSON] = ["expires_at": .string(Timestamp(seconds: expiry.seconds).rfc3339)]
            try await self.remote.change("PUT", try self.scope.path(), members, self.change)
        }

        static func seconds(_ text: String) throws -> Int64 {
            let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
            guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
                (1...1_000_000).contains(count)
            else {
                throw CommandFailure("\(text) is not a time such as 30m, 4h or 2d", status: .usage)
            }
            return count * unit
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Turns pinning on again.")
        @OptionGroup var scope: Scope
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", try self.scope.path(), self.change)
        }
    }
}
