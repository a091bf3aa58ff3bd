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
        guard !changes.isEmpty else { return ["no connection is judged differently (\(sampled))."] }
        let isWiderOnly = changes.allSatisfy { $0.change["key"] != nil && $0.change["to"] == "accept" }
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
