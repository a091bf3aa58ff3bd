import PinWire
import Pinning

/// A rollout for people.
enum RolloutText {
    static func text(_ rollout: JSON) -> String {
        let points = rollout["basis_points"]?.integerValue ?? 0
        let share = points % 100 == 0 ? "\(points / 100)" : "\(Double(points) / 100)"
        let seed = (rollout["seed"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
        var text = "\(share) % by \(rollout.text("method")) of \(seed)"
        if rollout["sticky"] == false { text += ", a new cohort with each edit" }
        if let countries = rollout["countries"]?.arrayValue {
            text += ", in \(countries.compactMap(\.stringValue).joined(separator: " "))"
        }
        for (list, words) in [("whitelist", "on the whitelist"), ("exclusions", "on the exclusion list")] {
            guard let count = rollout[list]?.arrayValue?.count, count > 0 else { continue }
            text += ", \(count) id\(count == 1 ? "" : "s") \(words)"
        }
        return text
    }

    /// The devices that a rollout lets in, as the subject of a sentence.
    ///
    /// - Parameters:
    ///   - rollout: Nil where none keeps a device out.
    ///   - app: The app whose devices they are, where the sentence does not name it.
    static func devices(_ rollout: JSON?, of app: String? = nil) -> String {
        let devices = app.map { "devices of \($0)" } ?? "devices"
        guard let rollout, rollout != .null else { return "All \(devices)" }
        let listed = rollout["whitelist"]?.arrayValue?.count ?? 0
        let ids = "\(listed) listed id\(listed == 1 ? "" : "s")"
        var subject = "\(Self.share(rollout)) of the \(devices)"
        var clauses: [String] = []
        switch rollout["method"]?.stringValue {
        case "whitelist":
            guard listed > 0 else { return "No \(devices)" }
            subject = "Only the \(devices) with the \(ids)"
        case "geography":
            let countries = (rollout["countries"]?.arrayValue ?? []).compactMap(\.stringValue)
            subject += " in \(countries.joined(separator: ", "))"
            fallthrough
        default: if listed > 0 { clauses.append("and those with the \(ids)") }
        }
        if rollout["exclusions"]?.arrayValue?.isEmpty == false { clauses.append("without those on the exclusion list") }
        return clauses.isEmpty ? subject : "\(subject), \(clauses.joined(separator: ", ")),"
    }

    /// The share of devices that a rollout draws.
    static func share(_ rollout: JSON) -> String {
        Percent.text(basisPoints: Int(rollout["basis_points"]?.integerValue ?? 0))
    }
}
