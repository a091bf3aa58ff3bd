import PinWire

/// Shows what a change recorded, or would.
enum ChangeReport {
    static func print(_ json: JSON, _ output: OutputForm) {
        guard output.isTable else { return Console.print(json, output) }
        let isDryRun = json["dry_run"] == true
        if let change = json["change"] {
            return Self.print(change, json["events"]?.arrayValue ?? [], isDryRun: isDryRun)
        }
        let events = json["events"]?.arrayValue ?? []
        if events.isEmpty {
            Console.print("Nothing to change: everything already is as requested.")
            return
        }
        if !isDryRun {
            for sentence in Self.sentences(of: events) { Console.print(sentence) }
        }
        Console.print(isDryRun ? "Would record:" : "Recorded:")
        for event in events { Console.print("  " + EventLine.text(of: event)) }
        if isDryRun {
            let lines = DifferenceLine.lines(json["difference"]?.arrayValue ?? [])
            if !lines.isEmpty { Console.print("What would change:") }
            for line in lines { Console.print("  " + line) }
        } else if let stream = json["stream"]?.stringValue, let version = json["version"]?.integerValue {
            Console.print("\(stream) is at version \(version).")
        }
        // Findings that refused nothing are for people, not for pipes.
        FindingReport.print(json["guard_rail_findings"]?.arrayValue ?? []) { Console.error($0) }
    }
}

extension ChangeReport {
    /// Shows a proposed change, and what was recorded of it.
    private static func print(_ change: JSON, _ events: [JSON], isDryRun: Bool) {
        if isDryRun {
            Console.print("Nothing is recorded. It would be:")
        } else if events.isEmpty {
            Console.print("Nothing to change: the change already is so.")
        } else {
            for sentence in Self.sentences(of: events) { Console.print(sentence) }
        }
        ChangeText.print(change)
    }

    /// The most sentences that describe a change; the rest of a large one is counted.
    private static let limit = 10

    private static func sentences(of events: [JSON]) -> [String] {
        let sentences = events.map { EventSentence($0).text }
        guard sentences.count > Self.limit else { return sentences }
        return sentences.prefix(Self.limit) + ["… and \(sentences.count - Self.limit) more changes, listed below."]
    }
}

/// One event on one line.
enum EventLine {
    static func text(of event: JSON) -> String {
        let type = event["type"]?.stringValue ?? "?"
        var data = event["data"]?.objectValue ?? [:]
        if type == "KeyDescribed" { data = Self.summary(of: data) }
        if let root = data["root"]?["signed"] {
            data = ["version": .string(root.text("version")), "expires": .string(root.text("expires"))]
        }
        if type.hasSuffix("RailsOverridden") {
            let codes = (data["findings"]?.arrayValue ?? []).map { $0.text("code") }
            data = ["codes": .string(codes.joined(separator: ","))]
        }
        if type == "RequestsAudited" { data["records"] = .integer(Int64(data["records"]?.arrayValue?.count ?? 0)) }
        // The name of an actor, and the reason of a change's content, say enough on one line.
        for name in ["author", "approver", "by"] where data[name]?.objectValue != nil {
            data[name] = .string(data[name]?.text("name") ?? "-")
        }
        if let content = data["content"] { data["content"] = .string(content.text("reason")) }
        let order = ["host", "policy", "pin", "role", "mode"]
        let names = order.filter { data[$0] != nil } + data.keys.filter { !order.contains($0) }.sorted()
        let details = names.compactMap { name in
            data[name].map { value in "\(name)=\(value.stringValue ?? value.canonicalText)" }
        }
        return ([type] + details).joined(separator: " ")
    }
}

extension EventLine {
    /// Keeps only the names for people of an uploaded key.
    private static func summary(of data: [String: JSON]) -> [String: JSON] {
        if let certificate = data["certificate"] {
            return [
                "pin": .string(certificate["key"]?.text("pin") ?? "-"),
                "certificate": .string(certificate.text("subject")), "until": .string(certificate.text("not_after")),
            ]
        }
        if let request = data["request"] {
            return ["pin": .string(request["key"]?.text("pin") ?? "-"), "request": .string(request.text("subject"))]
        }
        return ["pin": .string(data["public_key"]?.text("pin") ?? "-")]
    }
}

extension JSON {
    /// The text of a string member, or a dash.
    func text(_ name: String) -> String {
        switch self[name] {
        case .string(let text)?: text
        case .integer(let number)?: String(number)
        case .bool(let flag)?: flag ? "yes" : "no"
        default: "-"
        }
    }
}
