import PinWire

/// Shows what a change recorded, or would.
enum ChangeReport {
    static func print(_ json: JSON, _ output: RemoteOptions.OutputForm) {
        guard output == .table else { return Console.print(json.canonicalText) }
        let isDryRun = json["dry_run"] == true
        let events = json["events"]?.arrayValue ?? []
        if events.isEmpty {
            Console.print("Nothing to do: everything is as you want it.")
            return
        }
        Console.print(isDryRun ? "Would record:" : "Recorded:")
        for event in events { Console.print("  " + EventLine.text(of: event)) }
        if isDryRun {
            for item in json["difference"]?.arrayValue ?? [] {
                let pointer = item["pointer"]?.stringValue ?? ""
                if let before = item["before"], before != .null {
                    Console.print("  - \(pointer): \(before.canonicalText)")
                }
                if let after = item["after"], after != .null { Console.print("  + \(pointer): \(after.canonicalText)") }
            }
        } else if let stream = json["stream"]?.stringValue, let version = json["version"]?.integerValue {
            Console.print("\(stream) is at version \(version).")
        }
        // What did not stand in the way is for people, not for pipes.
        FindingReport.print(json["guard_rail_findings"]?.arrayValue ?? []) { Console.error($0) }
    }
}

/// One event on one line.
enum EventLine {
    static func text(of event: JSON) -> String {
        let type = event["type"]?.stringValue ?? "?"
        var data = event["data"]?.objectValue ?? [:]
        if type == "KeyDescribed" { data = Self.summary(of: data) }
        if type == "GuardRailsOverridden" {
            let codes = (data["findings"]?.arrayValue ?? []).map { $0.text("code") }
            data = ["codes": .string(codes.joined(separator: ","))]
        }
        let order = ["host", "policy", "pin", "role", "mode"]
        let names = order.filter { data[$0] != nil } + data.keys.filter { !order.contains($0) }.sorted()
        let details = names.compactMap { name in
            data[name].map { value in "\(name)=\(value.stringValue ?? value.canonicalText)" }
        }
        return ([type] + details).joined(separator: " ")
    }
}

extension EventLine {
    /// Of what was shown of a key only what people know it by.
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

/// What stands between a list in JSON and a table.
enum ListReport {
    /// Prints `list` as it came, or as a table with a row for each element.
    static func print(
        _ json: JSON, _ list: String, _ output: RemoteOptions.OutputForm, _ header: [String], _ row: (JSON) -> [String]
    ) {
        guard output == .table else { return Console.print(json.canonicalText) }
        let elements = json[list]?.arrayValue ?? []
        guard !elements.isEmpty else { return Console.error("None.") }
        var table = Table(header)
        for element in elements { table.add(row(element)) }
        Console.print(table.text)
    }
}
