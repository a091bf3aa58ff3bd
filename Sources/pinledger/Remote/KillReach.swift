import NIOHTTP1
import PinWire

/// How many installs learn of a change of a kill switch, and when, as far as the server knows.
enum KillReach {
    /// The sentences after a change that was recorded, or that a dry run shows.
    ///
    /// - Parameter app: The app; nil for all.
    static func lines(_ answer: JSON, _ app: String?, _ client: APIClient) async -> [String] {
        guard answer["events"]?.arrayValue?.isEmpty == false else { return [] }
        var lines = await Self.installs(app, client)
        let age = await Self.maxAge(app, client).map { ", from caches within \($0) s" } ?? ""
        lines.append(
            "Clients learn of it when they next fetch their document\(age); clients with an open stream learn at once.")
        if let app { lines.append(await Self.pace(app, client)) }
        let findings = (answer["guard_rail_findings"]?.arrayValue ?? []).filter { $0["limit"] == "kill_switch" }
        let kinds = Set(findings.compactMap { $0["client"]?.stringValue }).sorted()
        if !kinds.isEmpty {
            lines.append(
                "\(kinds.count) kind\(kinds.count == 1 ? "" : "s") of deployed clients will not learn of it: \(kinds.joined(separator: ", "))."
            )
        } else if !findings.isEmpty {
            lines.append("Some deployed clients will not learn of it; see the findings.")
        }
        return lines
    }

    /// The most apps whose installs are counted together.
    private static let appLimit = 20

    private static func installs(_ app: String?, _ client: APIClient) async -> [String] {
        if let app { return Self.installs(in: await Self.json("adoption", of: app, client)) }
        guard case .success(let answer) = await client.look("/v1/apps?limit=\(Self.appLimit)"), answer.status == 200,
            let page = try? answer.json
        else { return [Self.unknown("the apps cannot be listed")] }
        guard page["next_cursor"] == nil else {
            return [
                Self.unknown("there are more than \(Self.appLimit) apps. `pinledger app adoption APP` counts one's")
            ]
        }
        var lines: [String] = []
        for one in page["apps"]?.arrayValue ?? [] {
            let name = one.text("app")
            lines += Self.installs(in: await Self.json("adoption", of: name, client)).map { "\(name): \($0)" }
        }
        return lines
    }

    /// How many installs were seen of late: those learn of it that come again.
    static func installs(in adoption: JSON?) -> [String] {
        guard let adoption else { return [Self.unknown("their number cannot be read")] }
        let window = adoption["window"]
        if let installs = adoption["seen"]?["installs"]?.integerValue, installs > 0 {
            let partly = Self.gap("some_installs", of: adoption).map { " \($0)" } ?? ""
            return [
                "About \(installs) install\(installs == 1 ? "" : "s") will learn of it: so many were seen since \(window?.time("installs_since") ?? "-").\(partly)"
            ]
        }
        let reason =
            ["nothing_seen", "no_installs"].compactMap { Self.gap($0, of: adoption) }.first
            ?? "No install was told apart from others."
        let requests = adoption["seen"]?["requests"]?.integerValue ?? 0
        let seen =
            requests > 0 ? " \(requests) requests for documents were seen since \(window?.time("since") ?? "-")." : ""
        return ["How many installs will learn of it is not known. \(reason)\(seen)"]
    }

    private static func gap(_ code: String, of adoption: JSON) -> String? {
        adoption["not_known"]?.arrayValue?.first { $0["code"]?.stringValue == code }?["detail"]?.stringValue
    }

    private static func unknown(_ reason: String) -> String {
        "How many installs will learn of it is not known: \(reason)."
    }

    /// How long clients took to get an earlier document.
    private static func pace(_ app: String, _ client: APIClient) async -> String {
        Self.pace(in: await Self.json("forecast", of: app, client))
    }

    static func pace(in forecast: JSON?) -> String {
        let limit = forecast?["delivery_seconds"]?.integerValue.map {
            " A client that fetches as it should does so within \(Self.length($0))."
        }
        guard let adoption = forecast?["adoption"], let least = adoption["at_least_seconds"]?.integerValue else {
            return
                "How long they take until then is not known: too few clients were seen to hold this document or an earlier one.\(limit ?? "")"
        }
        let most = adoption["at_most_seconds"]?.integerValue.map { ", and at most \(Self.length($0))" } ?? ""
        return "99 % of the clients took at least \(Self.length(least))\(most) to get an earlier change.\(limit ?? "")"
    }

    /// Seconds in the largest unit of which there are two, rounded up.
    private static func length(_ seconds: Int64) -> String {
        for (unit, size) in [("d", Int64(86_400)), ("h", 3600), ("min", 60)] where seconds >= 2 * size {
            return "\(seconds / size + (seconds % size == 0 ? 0 : 1)) \(unit)"
        }
        return "\(seconds) s"
    }

    private static func json(_ what: String, of app: String, _ client: APIClient) async -> JSON? {
        guard case .success(let answer) = await client.look("/v1/apps/\(APIClient.escaped(app))/\(what)"),
            answer.status == 200
        else { return nil }
        return try? answer.json
    }

    /// `max-age` of the document's Cache-Control field (RFC 9111 section 5.2.2.1).
    private static func maxAge(_ app: String?, _ client: APIClient) async -> Int? {
        guard let app,
            case .success(let document) = await client.look("/client/v1/apps/\(APIClient.escaped(app))/document"),
            document.status == 200
        else { return nil }
        return document.headers.first(name: "cache-control")?.split(separator: ",").compactMap { part -> Int? in
            let text = part.drop { $0 == " " }
            return text.hasPrefix("max-age=") ? Int(text.dropFirst(8)) : nil
        }.first
    }
}
