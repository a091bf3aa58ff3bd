import PinWire

/// The connections that devices judge differently after a change, as a simulation found them, in words.
enum JudgementText {
    /// The most kinds of connections that are listed; the rest is counted.
    private static let limit = 20

    /// The sentence, and below it a line for each kind of connections to a host.
    static func lines(_ simulation: JSON) -> [String] {
        let sampled = Self.sampled(simulation["population"]?["source"])
        let devices = simulation.text("devices")
        let changes = (simulation["hosts"]?.arrayValue ?? []).flatMap { host in
            (host["judged_differently"]?.arrayValue ?? []).map { (host: host.text("host"), change: $0) }
        }
        let unsampled = (simulation["not_sampled"]?.arrayValue ?? []).map(Self.unsampled).joined(separator: ", or ")
        guard !changes.isEmpty else {
            guard unsampled.isEmpty else {
                return [
                    "not known for devices \(unsampled): no such device was sampled. "
                        + "No other connection is judged differently (\(sampled))."
                ]
            }
            return ["no connection is judged differently (\(sampled))."]
        }
        let isWiderOnly =
            unsampled.isEmpty && changes.allSatisfy { $0.change["key"] != nil && $0.change["to"] == "accept" }
        let sentence =
            isWiderOnly
            ? "no connection is judged differently, except with these keys (\(sampled)):"
            : "\(simulation.text("judging_differently")) of \(devices) devices judge connections differently (\(sampled)):"
        var lines = [sentence]
        for (host, change) in changes.prefix(Self.limit) {
            let key = change["key"]?.stringValue ?? "any other key"
            lines.append(
                "  \(host) with \(key): \(Self.word(change["from"])) -> \(Self.word(change["to"])), \(change.text("devices")) of \(devices) devices"
            )
        }
        if changes.count > Self.limit { lines.append("  and \(changes.count - Self.limit) more") }
        if !unsampled.isEmpty {
            lines.append("  not known for devices \(unsampled): no such device was sampled")
        }
        return lines
    }

    /// The devices that the simulation asked.
    private static func sampled(_ source: JSON?) -> String {
        switch source?.stringValue {
        case "known": "devices as clients reported them"
        case "given": "devices of the given population"
        default: "assumed devices: no client reported any"
        }
    }

    /// A kind of devices of which the sample has none, as the words after "devices".
    private static func unsampled(_ kind: JSON) -> String {
        switch kind.stringValue {
        case "app_version": "that report their app version"
        case "build": "that report their build"
        case "country": "whose country is known"
        case "listed_id": "with an id on a whitelist or exclusion list"
        default: "of another kind, which the rules treat differently"
        }
    }

    private static func word(_ judgement: JSON?) -> String {
        switch judgement?.stringValue {
        case "accept": "accept"
        case "accept_and_report": "accept and report"
        case "refuse": "refuse"
        case "builtin": "as the built-in pins say"
        default: "unknown"
        }
    }
}
