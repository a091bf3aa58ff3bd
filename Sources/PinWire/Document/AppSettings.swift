/// The hosts for which an app has built-in pins, and whether clients use those without a document.
public struct Fallback: Hashable, Sendable {
    /// Whether a client without a valid document falls back to the pins built into it.
    public var usesBuiltinPins: Bool
    /// The hosts for which the app ships pins.
    public var hosts: [HostPattern]

    public init(usesBuiltinPins: Bool = true, hosts: [HostPattern] = []) {
        self.usesBuiltinPins = usesBuiltinPins
        self.hosts = hosts
    }

    public var json: JSON {
        [
            "use_builtin_pins": .bool(self.usesBuiltinPins),
            "builtin_pin_hosts": .array(self.hosts.sorted().map { .string($0.text) }),
        ]
    }

    /// Reads ``json``.
    public init(_ field: JSONField) throws(JSONDefect) { try self.init(field, isSigned: false) }

    /// - Parameter isSigned: Whether it stands in a document (see ``HostPattern/init(signed:)``).
    init(_ field: JSONField, isSigned: Bool) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var fallback = Fallback(usesBuiltinPins: try members.required("use_builtin_pins").bool())
            if let hosts = members.optional("builtin_pin_hosts") {
                var seen: Set<HostPattern> = []
                for element in try hosts.elements(atMost: 1000) {
                    let host = try element.parse { (text) throws(HostPattern.Malformed) in
                        isSigned ? try HostPattern(signed: text) : try HostPattern(text)
                    }
                    guard seen.insert(host).inserted else { throw element.defect("names the same host twice") }
                    fallback.hosts.append(host)
                }
            }
            fallback.hosts.sort()
            return fallback
        }
    }
}

/// What clients report, and what the server may do with it.
public struct Monitoring: Hashable, Sendable {
    /// Whether clients report the outcomes of pin validation.
    public var isEnabled: Bool
    /// Share of failing installs above which the server reacts, in basis points (500 = 5 %).
    public var failureThreshold: Int
    /// Whether the reaction may go as far as a kill switch for one host.
    public var autoDisables: Bool
    /// What the server does with its verdicts on reports.
    public var reaction: Reaction
    /// Whether unsigned reports, counted by network, may stand for the installs that a rollout's plan waits for: anyone
    /// can make such reports.
    public var countsUnsigned: Bool

    /// What the server does with its verdicts on reports.
    public enum Reaction: String, CaseIterable, Sendable, Hashable {
        /// Nothing: there are no verdicts.
        case off
        /// Shows them, without any effect.
        case shadow
        /// Carries them out.
        case act
    }

    public init(
        isEnabled: Bool = false, failureThreshold: Int = 500, autoDisables: Bool = false, reaction: Reaction = .shadow,
        countsUnsigned: Bool = false
    ) {
        self.isEnabled = isEnabled
        self.failureThreshold = failureThreshold
        self.autoDisables = autoDisables
        self.reaction = reaction
        self.countsUnsigned = countsUnsigned
    }

    /// The part for clients: without settings of the server's own, which came later than clients that refuse unknown
    /// members.
    public var published: Monitoring {
        var published = self
        published.countsUnsigned = false
        return published
    }

    public var json: JSON {
        .members([
            "enabled": .bool(self.isEnabled),
            "failure_threshold_bp": .integer(Int64(self.failureThreshold)),
            "auto_disable": .bool(self.autoDisables),
            "reaction": self.reaction == .shadow ? nil : .string(self.reaction.rawValue),
            "count_unsigned": self.countsUnsigned ? true : nil,
        ])
    }

    /// Reads ``json``; the threshold lies between 1 and 9999.
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var monitoring = Monitoring(isEnabled: try members.required("enabled").bool())
            if let threshold = members.optional("failure_threshold_bp") {
                monitoring.failureThreshold = Int(try threshold.integer(1...9999))
            }
            if let auto = members.optional("auto_disable") { monitoring.autoDisables = try auto.bool() }
            if let reaction = members.optional("reaction") { monitoring.reaction = try reaction.oneOf(Reaction.self) }
            if let counts = members.optional("count_unsigned") { monitoring.countsUnsigned = try counts.bool() }
            return monitoring
        }
    }
}
