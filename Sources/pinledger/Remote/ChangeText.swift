import PinWire

/// A proposed change in words.
enum ChangeText {
    /// The apps, and other streams, that the commands of a change in a list are about.
    static func places(_ change: JSON) -> String {
        let streams = (change["streams"]?.arrayValue ?? []).compactMap(\.stringValue)
        return streams.map { $0.hasPrefix("app/") ? String($0.dropFirst(4)) : $0 }.joined(separator: ", ")
    }

    static func print(_ change: JSON, _ write: (String) -> Void = { Console.print($0) }) {
        var table = Table(["WHAT", "VALUE"])
        for name in ["change_id", "status", "reason"] { table.add([name, change.text(name)]) }
        table.add(["author", change["author"]?.text("name") ?? "-"])
        for name in ["created_at", "expires_at", "not_before"] where change[name] != nil {
            table.add([name, LocalTime.text(change.text(name))])
        }
        if change["forced"] == true { table.add(["forced", "guard rails are overridden where they can be"]) }
        if change["import"] == true { table.add(["import", "it may bring pins of which only hashes are known"]) }
        if change["obstacle"] != nil { table.add(["obstacle", change.said("obstacle")]) }
        for approval in change["approvals"]?.arrayValue ?? [] {
            table.add([
                approval["signature"] == nil ? "approved" : "approved, signed",
                "by \(approval["approver"]?.text("name") ?? "-"), \(approval.time("time"))",
            ])
        }
        if let closed = change["closed_by"] { table.add([change.text("status"), "by \(closed.text("name"))"]) }
        if change["bypassed_approvals"] == true {
            let review = change["review"]?["reviewer"]?.text("name")
            table.add(["bypassed approvals", review.map { "reviewed by \($0)" } ?? "awaits review"])
        }
        table.add(["content_sha256", change.text("content_sha256")])
        write(table.text)
        if let preview = change["preview"] { Self.print(preview: preview, of: change, write) }
    }

    /// What a change would do to devices and deployed clients, for each app that it is about.
    ///
    /// What the reader may not ask for is left out.
    static func effects(_ change: JSON, _ client: APIClient) async throws -> [String] {
        let streams = (change["preview"]?["differences"]?.arrayValue ?? []).map { $0.text("stream") }
        let apps = streams.filter { $0.hasPrefix("app/") }.map { String($0.dropFirst(4)) }
        let id = change.text("change_id")
        var lines: [String] = []
        for app in apps.prefix(Self.appLimit) {
            let path = "/v1/apps/\(APIClient.escaped(app))"
            let question: JSON = ["change_id": .string(id)]
            let answer = try await client.send("POST", "\(path)/simulate", body: question.canonicalBytes)
            if answer.status == 200 {
                let json = try answer.json
                let judged = JudgementText.lines(json)
                lines += judged.prefix(1).map { "\(app): \($0)" } + judged.dropFirst()
                if let rest = json["hosts_left_out"]?.integerValue, rest > 0 {
                    lines.append("\(app): \(rest) hosts were not looked at.")
                }
            }
            lines += try await Self.clientFindings(of: app, path, change: id, client).map { "\(app): \($0)" }
        }
        if apps.count > Self.appLimit {
            lines.append("\(apps.count - Self.appLimit) more apps: pinledger simulate APP --change \(id)")
        }
        return lines
    }

    /// The most apps whose effects are asked for.
    private static let appLimit = 5

    /// What deployed clients could not do any more, or not as stated.
    private static func clientFindings(
        of app: String, _ path: String, change: String, _ client: APIClient
    ) async throws -> [String] {
        func findings(_ query: String) async throws -> [String]? {
            guard case .success(let answer) = await client.look("\(path)/compat\(query)"), answer.status == 200 else {
                return nil
            }
            return try answer.json["clients"]?.arrayValue?.flatMap { kind in
                (kind["findings"]?.arrayValue ?? []).map { finding in
                    let host = finding["host"]?.stringValue.map { " \($0)" } ?? ""
                    return "\(kind.text("client")) \(finding.text("severity"))\(host): \(finding.said("detail"))"
                }
            }
        }
        guard let before = try await findings(""),
            let after = try await findings("?change_id=\(APIClient.escaped(change))")
        else { return [] }
        return after.filter { !before.contains($0) }
    }

    /// The lines of what would change.
    static func differences(_ preview: JSON) -> [String] {
        DifferenceLine.lines((preview["differences"]?.arrayValue ?? []).flatMap { $0["difference"]?.arrayValue ?? [] })
    }

    private static func print(preview: JSON, of change: JSON, _ write: (String) -> Void) {
        let events = preview["events"]?.arrayValue ?? []
        if !events.isEmpty { write("It would record:") }
        for event in events { write("  \(event.text("stream")): \(EventSentence(event).text)") }
        let lines = Self.differences(preview)
        if !lines.isEmpty { write("What would change:") }
        for line in lines { write("  " + line) }
        FindingReport.print(preview["guard_rail_findings"]?.arrayValue ?? [], write)
        for need in preview["approvals_needed"]?.arrayValue ?? [] {
            let have = need["approvers"]?.arrayValue?.count ?? 0
            write(
                "The rule \(need.text("rule")) asks for \(need.text("approvals"))\(need["signed"] == true ? " signed" : "") approval\(need["approvals"] == 1 ? "" : "s"); \(have) count\(have == 1 ? "s" : "") so far."
            )
        }
        if preview["ready"] == true {
            write("It can be applied: pinledger change apply \(change.text("change_id"))")
        } else if change["status"] == "draft" {
            write("It is a draft: pinledger change propose \(change.text("change_id"))")
        } else if let problem = preview["problem"] {
            write(problem.said("detail"))
        }
    }
}
