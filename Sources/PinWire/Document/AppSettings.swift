/// Which hosts of an app have pins built into it, and whether they are used where no document can be had.
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
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var fallback = Fallback(usesBuiltinPins: try members.required("use_builtin_pins").bool())
            if let hosts = members.optional("builtin_pin_hosts") {
                var seen: Set<HostPattern> = []
                for element in try hosts.elements(atMost: 1000) {
                    let host = try element.parse(HostPattern.init)
                    guard seen.insert(host).inserted else { throw element.defect("names the same host twice") }
                    fallback.hosts.append(host)
                }
            }
            fallback.hosts.sort()
            return fallback
        }
    }
}

/// What clients are asked to report, and what the server may do with it.
public struct Monitoring: Hashable, Sendable {
    /// Whether clients report the outcomes of pin validation.
    public var isEnabled: Bool
    /// Share of failing installs above which the server reacts, in basis points (500 = 5 %).
    public var failureThreshold: Int
    /// Whether the reaction may go as far as a kill switch for one host.
    public var autoDisables: Bool
    /// What becomes of the server's verdicts on what is reported.
    public var reaction: Reaction
    /// Whether the installs that a rollout's plan waits for may be told of by reports that are not signed, counted by
    /// network: anybody can make those.
    public var countsUnsigned: Bool

    /// What becomes of the server's verdicts on what is reported.
    public enum Reaction: String, CaseIterable, Sendable, Hashable {
        /// There are none.
        case off
        /// They are shown, and nothing follows from them.
        case shadow
        /// They are carried out.
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

    /// What clients are told: without what is the server's own affair and came later than clients that refuse members
    /// they do not know.
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
