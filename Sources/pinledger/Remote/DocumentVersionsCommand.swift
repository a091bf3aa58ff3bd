import ArgumentParser
import PinWire

extension DocumentCommands {
    struct Versions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "versions", abstract: "List the versions of an app's document between two times.",
            discussion: """
                pinledger document versions com.example.app --since 2026-11-01 --until 2026-11-22T18:30:00Z
                pinledger document versions com.example.app --since 7d
                pinledger document versions com.example.app --day 2026-11-22

                The first one is the version that stood at --since. A client can hold a version until its copy expires, \
                which is at most a document's lifetime after the time under UNTIL.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var period: PeriodOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let period = try self.period.parameters()
            try await self.remote.withClient { client in
                let versions = try await Self.list(of: self.app, period, client)
                ListReport.print(
                    ["versions": .array(versions)], "versions", self.remote.output,
                    ["VERSION", "SINCE", "UNTIL", "POSITION", "CONTENT_SHA256"]
                ) {
                    [
                        $0.text("version"), $0.time("since"), $0.time("until"), $0.text("position"),
                        $0.text("content_sha256"),
                    ]
                }
            }
        }

        /// The versions of a period, given as parameters of a query.
        static func list(of app: String, _ period: [String], _ client: APIClient) async throws -> [JSON] {
            let path = "/v1/apps/\(APIClient.escaped(app))/document/versions?"
            var versions: [JSON] = []
            var cursor: String?
            repeat {
                let query = ["limit=200"] + period + (cursor.map { ["cursor=\($0)"] } ?? [])
                let page = try await client.get(path + query.joined(separator: "&"))
                // A page ends where the next one begins.
                versions += page["versions"]?.arrayValue ?? []
                cursor = page["next_cursor"]?.stringValue
            } while cursor != nil
            return versions
        }
    }
}
