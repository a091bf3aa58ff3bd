import ArgumentParser
import PinWire

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Who changed what, when and why; newest first."
    )
    @Argument(help: "Only this app.") var app: String?
    @Option(
        help:
            "Only this stream: app/ID, watch/ID (warnings about an app, keys of its reports), fleet, keys, access or webhooks."
    )
    var stream: String?
    @Option(help: "Only these types of events, with commas between them.") var type: String?
    @Option(help: "Only events of this actor (its id).") var actor: String?
    @Option(help: "Only events from this time on (RFC 3339).") var since: String?
    @Option(help: "Only events before this time (RFC 3339).") var until: String?
    @Option(help: "How many at the most.") var limit = 50
    @Flag(help: "Oldest first.") var oldest = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        guard self.app == nil || self.stream == nil else {
            throw CommandFailure("give an app or a --stream, not both", status: .usage)
        }
        guard self.limit > 0 else { throw CommandFailure("--limit must be at least 1", status: .usage) }
        let base = self.app.map { "/v1/apps/\(APIClient.escaped($0))/history" } ?? "/v1/history"
        var query = [
            ("stream", self.stream), ("type", self.type), ("actor", self.actor), ("since", self.since),
            ("until", self.until),
        ]
        .compactMap { name, value in value.map { "\(name)=\(APIClient.escaped($0))" } }
        if self.oldest { query.append("order=oldest") }
        try await self.remote.withClient { client in
            var events: [JSON] = []
            var cursor: String?
            repeat {
                let page =
                    query + ["limit=\(min(1000, self.limit - events.count))"] + (cursor.map { ["cursor=\($0)"] } ?? [])
                let json = try await client.get("\(base)?\(page.joined(separator: "&"))")
                events += json["events"]?.arrayValue ?? []
                cursor = json["next_cursor"]?.stringValue
            } while cursor != nil && events.count < self.limit
            ListReport.print(
                ["events": .array(events)], "events", self.remote.output,
                ["POSITION", "TIME", "WHO", "STREAM", "WHAT", "WHY"]
            ) { event in
                [
                    event.text("position"), event.text("time"), event["actor"]?.text("name") ?? "-",
                    event.text("stream"),
                    EventLine.text(of: event), event.text("reason"),
                ]
            }
        }
    }
}
