import ArgumentParser
import PinWire

/// Prints the history in a form that other programs read.
struct AuditExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export events, oldest first, for logs, tables and SIEMs.",
        discussion: """
            pinledger audit export --format csv --since 2026-07-01 --until 2026-10-01
            pinledger audit export --format ocsf --after 4711

            ndjson: each event as it was recorded, byte for byte, one a line. csv: a table for spreadsheets (RFC 4180), in \
            which no cell is a formula. cloudevents: CloudEvents 1.0, structured JSON, one a line. ocsf: Open \
            Cybersecurity Schema Framework 1.1, the class Entity Management (3004), one a line. The id of an event is the \
            hash of its leaf in the transparency log.

            Give the position of the last event that you have with --after to go on behind it. Events with their proofs: \
            `pinledger audit report DIRECTORY --since TIME --key VKEY`.
            """)
    @Argument(help: "Export only events of this app.") var app: String?
    @Option(help: "Form of the events.") var format: EventExport
    @OptionGroup var period: PeriodOptions
    @Option(help: ArgumentHelp("Export only events behind this position.", valueName: "position")) var after: Int64?
    @Option(help: "Export only these types of events or groups of them, separated by commas.") var type: String?
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let base = self.app.map { "/v1/apps/\(APIClient.escaped($0))/history" } ?? "/v1/history"
        let filter =
            try [("type", self.type), ("after", self.after.map { "\($0)" })]
            .compactMap { name, value in value.map { "\(name)=\(APIClient.escaped($0))" } } + self.period.parameters()
        try await self.remote.withClient { client in
            var cursor: String?
            if let header = self.format.header { Console.write(header) }
            repeat {
                let query = filter + ["order=oldest", "limit=1000"] + (cursor.map { ["cursor=\($0)"] } ?? [])
                let page = try await client.get("\(base)?\(query.joined(separator: "&"))")
                for event in page["events"]?.arrayValue ?? [] {
                    Console.write(try self.format.line(of: event, from: client.context.server))
                }
                cursor = page["next_cursor"]?.stringValue
            } while cursor != nil
        }
    }
}
