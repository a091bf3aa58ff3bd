import ArgumentParser
import PinWire
import Pinning

/// Requests that were refused or failed, and reads of what is confidential.
struct AuditRequestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests", abstract: "Show requests that were refused or failed, and confidential reads.",
        discussion: """
            pinledger audit requests --since 7d --outcome denied
            pinledger audit requests --since 2026-07-01 --until 2026-10-01 --csv

            OUTCOME is mistyped, and not denied or refused, where the request itself was wrong: malformed, or for a name that does not exist. \
            What a right or a rule refused is denied or refused, and so is a name that may be hidden from who asked: of a change, token, \
            grant, approval rule or freeze, and of an app unless you see all apps. Without --since it looks back seven days. Each line counts requests that are alike. Times of --since and --until are those at which they were recorded, \
            which is some seconds later, and up to an hour for strangers.
            """)
    @OptionGroup var period: PeriodOptions
    @Option(help: ArgumentHelp("Show only those of this principal (prn_…) or token (tok_…).", valueName: "id"))
    var actor: String?
    @Option(help: ArgumentHelp("Show only those for this app.", valueName: "app")) var app: String?
    @Option(help: "Show only those that ended so.") var outcome: ShownOutcome?
    @Flag(help: "Print a table for spreadsheets (RFC 4180).") var csv = false
    @OptionGroup var remote: RemoteOptions

    private static let columns = [
        "first_time", "last_time", "count", "outcome", "status", "problem", "operation", "app", "actor_id",
        "actor_name", "principal_id", "address", "proxy", "node", "first_request_id", "last_request_id", "is_mistyped",
    ]

    func run() async throws {
        let filter = ["stream=audit", "order=oldest", "limit=1000"] + (try self.period.parameters(since: "7d"))
        try await self.remote.withClient { client in
            let apps = try await Self.apps(client)
            var records: [JSON] = []
            var omitted: Int64 = 0
            var cursor: String?
            if self.csv { Console.write(CSVRow(cells: Self.columns).bytes) }
            repeat {
                let query = filter + (cursor.map { ["cursor=\($0)"] } ?? [])
                let page = try await client.get("/v1/history?\(query.joined(separator: "&"))")
                for event in page["events"]?.arrayValue ?? [] {
                    omitted += event["data"]?["omitted"]?.integerValue ?? 0
                    let node = event["data"]?["node"] ?? .null
                    for record in event["data"]?["records"]?.arrayValue ?? [] {
                        let outcome = ShownOutcome(of: record, apps: apps)
                        guard self.isWanted(record, outcome), case .object(var members) = record else { continue }
                        members["node"] = node
                        members["is_mistyped"] = .bool(outcome == .mistyped)
                        if self.csv {
                            Console.write(Self.row(.object(members)).bytes)
                        } else {
                            records.append(.object(members))
                        }
                    }
                }
                cursor = page["next_cursor"]?.stringValue
            } while cursor != nil
            if !self.csv {
                ListReport.print(
                    ["requests": .array(records), "omitted": .integer(omitted)], "requests", self.remote.output,
                    ["FIRST", "LAST", "COUNT", "OUTCOME", "WHY", "OPERATION", "APP", "WHO", "FROM", "REQUEST"]
                ) { record in
                    [
                        record.time("first_time"), record.time("last_time"),
                        record.text("count"), record["is_mistyped"] == true ? "mistyped" : record.text("outcome"),
                        record.text("problem"), record.text("operation"),
                        record.text("app"), record["actor"]?.text("name") ?? "-", record.text("address"),
                        record.text("first_request_id"),
                    ]
                }
            }
            if omitted > 0 {
                Console.error("There was no room for \(omitted) further requests, which were only counted.")
            }
        }
    }

    /// The apps that there are, for telling a misspelled one from one that the caller did not see; nil for an auditor who does not see
    /// all of them.
    private static func apps(_ client: APIClient) async throws -> Set<String>? {
        guard Self.seesAllApps(try await client.get("/v1/whoami")) else { return nil }
        let apps =
            try await AppCommands.List.all(client) + AppCommands.List.all(archived: true, client)
        return Set(apps.map { $0.text("app") })
    }

    /// True where the token that the answer is about may read every app.
    static func seesAllApps(_ whoami: JSON) -> Bool {
        (whoami["permissions"]?.arrayValue ?? []).contains {
            $0["permission"]?.stringValue == Permission.readApps.rawValue && $0["everywhere"] == true
        }
    }

    private func isWanted(_ record: JSON, _ outcome: ShownOutcome?) -> Bool {
        let actor = record["actor"]
        return (self.outcome.map { outcome == $0 } ?? true)
            && (self.app.map { record["app"]?.stringValue == $0 } ?? true)
            && (self.actor.map { [actor?["id"]?.stringValue, actor?["principal_id"]?.stringValue].contains($0) } ?? true)
    }

    private static func row(_ record: JSON) -> CSVRow {
        CSVRow(
            cells: Self.columns.map { column in
                let value: JSON? =
                    switch column {
                    case "actor_id": record["actor"]?["id"]
                    case "actor_name": record["actor"]?["name"]
                    case "principal_id": record["actor"]?["principal_id"]
                    default: record[column]
                    }
                return value.map { $0.stringValue ?? $0.canonicalText } ?? ""
            })
    }
}
