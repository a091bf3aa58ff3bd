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
            let items = (json["difference"]?.arrayValue ?? []).compactMap(DifferenceLine.text)
            if !items.isEmpty { Console.print("What would change:") }
            for line in items { Console.print("  " + line) }
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

/// One difference between before and after on one line.
enum DifferenceLine {
    static func text(_ item: JSON) -> String? {
        let place = Self.place(item.text("pointer"))
        let before = item["before"].flatMap { $0 == .null ? nil : $0 }
        let after = item["after"].flatMap { $0 == .null ? nil : $0 }
        switch (before, after) {
        case (let before?, let after?): return "\(place): \(Self.value(before)) -> \(Self.value(after))"
        case (let before?, nil): return "\(place): \(Self.value(before)) is removed"
        case (nil, let after?): return "\(place): \(Self.value(after)) is added"
        case (nil, nil): return nil
        }
    }

    /// A JSON Pointer (RFC 6901) as words: `hosts, api.example.com, baseline, mode`.
    private static func place(_ pointer: String) -> String {
        let parts = pointer.split(separator: "/").map { part in
            let name = part.replacing("~1", with: "/").replacing("~0", with: "~")
            // A member's name has underscores for spaces; an id keeps its own.
            return name.allSatisfy { $0.isLowercase || $0 == "_" } ? name.replacing("_", with: " ") : name
        }
        return parts.isEmpty ? "everything" : parts.joined(separator: ", ")
    }

    private static func value(_ value: JSON) -> String {
        switch value {
        case .string(let text): return text
        case .bool(let flag): return flag ? "yes" : "no"
        case .integer(let number): return String(number)
        case .array(let elements): return elements.map(Self.value).joined(separator: "; ")
        case .object(let members):
            return members.sorted { $0.key < $1.key }
                .map { "\($0.key.replacing("_", with: " ")) \(Self.value($0.value))" }.joined(separator: ", ")
        default: return value.canonicalText
        }
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

/// The text between a list in JSON and a table.
enum ListReport {
    /// Prints `list` unchanged, or as a table with a row for each element.
    static func print(
        _ json: JSON, _ list: String, _ output: OutputForm, _ header: [String], _ row: (JSON) -> [String]
    ) {
        guard output.isTable else { return Console.print(json, output) }
        let elements = json[list]?.arrayValue ?? []
        guard !elements.isEmpty else { return output.kind == .name ? () : Console.error("None.") }
        var table = Table(header)
        for element in elements { table.add(row(element)) }
        switch output.kind {
        case .name: for element in elements { Console.line(row(element).first ?? "") }
        case .wide: Console.print(Self.wide(elements, header, row).text)
        case .table, .json, .yaml: Console.print(table.text)
        }
    }

    /// The table, and after its own columns each value that any element has and that is one text, number, or yes or no, by its name.
    private static func wide(_ elements: [JSON], _ header: [String], _ row: (JSON) -> [String]) -> Table {
        let members = elements.map { element in
            if case .object(let members) = element { members.filter { $0.value.isSingle } } else { [String: JSON]() }
        }
        // A value that the table's own columns have is not shown twice.
        let names = Set(members.flatMap(\.keys)).sorted().filter { name in
            !elements.allSatisfy { row($0).contains($0.text(name)) }
        }
        var table = Table(header + names)
        for element in elements { table.add(row(element) + names.map { element.text($0) }) }
        return table
    }
}

extension JSON {
    /// Whether it is one value, and neither a list nor an object.
    fileprivate var isSingle: Bool {
        switch self {
        case .object, .array: false
        case .null, .bool, .integer, .number, .string: true
        }
    }
}
