import ArgumentParser
import PinWire

extension DocumentCommands {
    struct Versions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the versions of an app's document between two times.",
            discussion: """
                pinledger document versions com.example.app --since 2026-11-01 --until 2026-11-22T18:30:00Z
                pinledger document versions com.example.app --since 7d

                The first one is the version that stood at --since. A client can hold a version until its copy expires, \
                which is at most a document's lifetime after the time under UNTIL.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(
            help: "The versions that stood then, and later ones: \(TimeInput.moments) or 7d (ago). Default: all.")
        var since: String?
        @Option(help: "The versions made before this time, written like --since.") var until: String?
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let since = try self.since.map { try TimeInput.rfc3339($0, .back) }
            let until = try self.until.map { try TimeInput.rfc3339($0, .back) }
            try await self.remote.withClient { client in
                let path = "/v1/apps/\(APIClient.escaped(self.app))/document/versions?limit=200"
                let query = [("since", since), ("until", until)].compactMap { name, value in
                    value.map { "&\(name)=\(APIClient.escaped($0))" }
                }
                var versions: [JSON] = []
                var cursor: String? = ""
                while let place = cursor {
                    let page = try await client.get(path + query.joined() + (place.isEmpty ? "" : "&cursor=\(place)"))
                    // A page ends where the next one begins.
                    versions += page["versions"]?.arrayValue ?? []
                    cursor = page["next_cursor"]?.stringValue
                }
                ListReport.print(
                    ["versions": .array(versions)], "versions", self.remote.output,
                    ["VERSION", "SINCE", "UNTIL", "POSITION", "CONTENT_SHA256"]
                ) {
                    [
                        $0.text("version"), $0.text("since"), $0.text("until"), $0.text("position"),
                        $0.text("content_sha256"),
                    ]
                }
            }
        }
    }
}
