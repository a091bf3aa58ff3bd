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
        if change["obstacle"] != nil { table.add(["obstacle", change.text("obstacle")]) }
        for approval in change["approvals"]?.arrayValue ?? [] {
            table.add([
                approval["signature"] == nil ? "approved" : "approved, signed",
                "by \(approval["approver"]?.text("name") ?? "-"), \(LocalTime.text(approval.text("time")))",
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

    private static func print(preview: JSON, of change: JSON, _ write: (String) -> Void) {
        let events = preview["events"]?.arrayValue ?? []
        if !events.isEmpty { write("It would record:") }
        for event in events { write("  \(event.text("stream")): \(EventSentence(event).text)") }
        let items = (preview["differences"]?.arrayValue ?? []).flatMap { $0["difference"]?.arrayValue ?? [] }
        let lines = items.compactMap(DifferenceLine.text)
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
            write(problem.text("detail"))
        }
    }
}
