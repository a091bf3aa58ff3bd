import PinWire

/// The differences between before and after, in lines: `+` before what is added, `-` before what is removed, and `~` before what is
/// changed.
enum DifferenceLine {
    /// The lines of the differences that the API lists.
    static func lines(_ items: [JSON]) -> [String] { items.flatMap(Self.lines) }

    /// The lines of one difference; none for one that only counts or says since when.
    static func lines(_ item: JSON) -> [String] {
        let parts = Self.parts(item.text("pointer"))
        let isNamed = Self.names(in: parts)
        if let last = parts.last, isNamed.last != true, Self.counting.contains(last) { return [] }
        let before = item["before"].flatMap { $0 == .null ? nil : $0 }
        let after = item["after"].flatMap { $0 == .null ? nil : $0 }
        if let lines = Self.linesOfHost(parts, before, after) { return lines }
        if parts.isEmpty, let app = (after ?? before), app["app"] != nil {
            return Self.app(app, before == nil ? "+" : "-")
        }
        let place = Self.place(parts, isNamed)
        switch (before, after) {
        case (let before?, let after?): return ["~ \(place): \(Self.value(before)) -> \(Self.value(after))"]
        case (let before?, nil): return ["- \(place): \(Self.value(before))"]
        case (nil, let after?): return ["+ \(place): \(Self.value(after))"]
        case (nil, nil): return []
        }
    }

    /// Members that say how much or since when, which follows from the other lines.
    private static let counting: Set = [
        "host_count", "version", "updated_at", "rollout_revision", "phase_since", "since",
    ]

    /// Members whose own members have the names that operators, or the server, gave to things.
    private static let collections: Set = [
        "hosts", "pins", "rotations", "clients", "tokens", "roles", "principals", "grants", "approval_rules", "freezes",
        "identity_providers", "sign_in_rules",
    ]

    /// For each part, true where it is the name of a thing, which may have the text of any member.
    private static func names(in parts: [String]) -> [Bool] {
        var isNamed: [Bool] = []
        for place in parts.indices {
            isNamed.append(place > 0 && !isNamed[place - 1] && Self.collections.contains(parts[place - 1]))
        }
        return isNamed
    }

    // MARK: Apps, hosts and pins

    private static func app(_ app: JSON, _ sign: String) -> [String] {
        ["\(sign) app \(app.text("app"))"]
            + (app["hosts"]?.arrayValue ?? []).flatMap { Self.host($0.text("host"), $0, sign) }
    }

    /// The lines of a difference of a host, its policies or its pins; nil for one of anything else.
    private static func linesOfHost(_ parts: [String], _ before: JSON?, _ after: JSON?) -> [String]? {
        guard parts.count >= 2, parts[0] == "hosts" else { return nil }
        let host = parts[1]
        // The only value, with the sign of its coming or going; nil where there are both.
        let one: (value: JSON, sign: String)? =
            switch (before, after) {
            case (nil, let after?): (after, "+")
            case (let before?, nil): (before, "-")
            case (nil, nil), (.some, .some): nil
            }
        guard parts.count > 2 else { return one.map { Self.host(host, $0.value, $0.sign) } }
        let policy = parts[2]
        guard Self.policies.contains(policy) else { return nil }
        if parts.count == 3 { return one.map { Self.policy(policy, of: host, $0.value, $0.sign) } }
        guard parts.count >= 5, parts[3] == "pins" else { return nil }
        let place = Self.place(policy, of: host)
        if parts.count == 5 { return one.map { [Self.pin(parts[4], $0.value, place, $0.sign)] } }
        guard parts.count == 6, let before, let after else { return nil }
        let change = "\(Self.value(before)) -> \(Self.value(after))"
        switch parts[5] {
        case "role": return ["~ pin \(parts[4]) for \(place): \(change)"]
        case "state": return ["\(Self.sign(from: before, to: after)) pin \(parts[4]) for \(place): \(change)"]
        default: return nil
        }
    }

    private static let policies = ["baseline", "candidate"]

    private static func place(_ policy: String, of host: String) -> String {
        policy == "baseline" ? host : "the \(policy) of \(host)"
    }

    private static func host(_ host: String, _ value: JSON, _ sign: String) -> [String] {
        let mode = value["baseline"]?["mode"]?.stringValue ?? "pins built into the app"
        let reach = value["include_subdomains"] == true ? ", with its subdomains" : ""
        return ["\(sign) host \(host) (\(mode)\(reach))"]
            + Self.policies.flatMap { policy -> [String] in
                guard let held = value[policy] else { return [] }
                return policy == "baseline"
                    ? Self.pins(held, host, sign) : Self.policy(policy, of: host, held, sign)
            }
    }

    private static func policy(_ policy: String, of host: String, _ value: JSON, _ sign: String) -> [String] {
        let mode = value["mode"]?.stringValue.map { " (\($0))" } ?? ""
        return ["\(sign) \(policy) of \(host)\(mode)"] + Self.pins(value, Self.place(policy, of: host), sign)
    }

    private static func pins(_ policy: JSON, _ place: String, _ sign: String) -> [String] {
        (policy["pins"]?.arrayValue ?? []).map { Self.pin($0.text("pin"), $0, place, sign) }
    }

    /// `+ pin sha256/… (backup) for api.example.com`, with the state where the pin is not in documents.
    private static func pin(_ pin: String, _ value: JSON, _ place: String, _ sign: String) -> String {
        let state = value["state"]?.stringValue.flatMap { $0 == "active" ? nil : ", \($0)" } ?? ""
        return "\(sign) pin \(pin) (\(value.text("role"))\(state)) for \(place)"
    }

    /// The sign of a pin's new state: documents have active pins alone.
    private static func sign(from before: JSON, to after: JSON) -> String {
        switch (before == "active", after == "active") {
        case (false, true): "+"
        case (true, false): "-"
        default: "~"
        }
    }

    // MARK: Everything else

    /// The names in a JSON Pointer (RFC 6901).
    private static func parts(_ pointer: String) -> [String] {
        pointer.split(separator: "/").map { String($0.replacing("~1", with: "/").replacing("~0", with: "~")) }
    }

    /// The parts as words: `api.example.com, endpoints`.
    private static func place(_ parts: [String], _ isNamed: [Bool]) -> String {
        let isOfHost = parts.count > 1 && parts[0] == "hosts"
        // A member's name has underscores for spaces; a thing's keeps its own.
        var words = zip(parts, isNamed).map { name, isNamed in
            !isNamed && name.allSatisfy { $0.isLowercase || $0 == "_" } ? name.replacing("_", with: " ") : name
        }
        if isOfHost {
            words.removeFirst()
            if words.count > 1, words[1] == "baseline" { words.remove(at: 1) }
        }
        return words.isEmpty ? "everything" : words.joined(separator: ", ")
    }

    private static func value(_ value: JSON) -> String {
        switch value {
        case .string(let text): return LocalTime.text(text)
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
