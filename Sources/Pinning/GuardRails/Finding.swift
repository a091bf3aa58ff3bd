package import PinWire

/// A guard rail's finding about one change.
package struct Finding: Hashable, Sendable {
    /// Whether the rule is known to be broken.
    package enum Verdict: String, Sendable, Hashable {
        case violated
        /// The necessary facts are unknown. This never counts as fine.
        case unknown
    }

    package var rail: GuardRail
    package var verdict: Verdict
    package var severity: GuardRail.Severity
    package var host: HostPattern?
    package var policy: PolicySlot?
    package var pin: Pin?
    /// The kind of client concerned, and the one of its limits; nil where it concerns others too.
    package var client: ClientKind?
    package var limit: ClientLimit?
    /// What is wrong, as a sentence.
    package var detail: String
    /// What to do instead, as a sentence.
    package var remedy: String
    /// The refusal of a change that the finding blocks; nil where that is ``Refusal/guarded(_:)``.
    var refusal: Refusal?

    package init(
        _ rail: GuardRail, host: HostPattern? = nil, policy: PolicySlot? = nil, pin: Pin? = nil, _ detail: String,
        remedy: String, refusal: Refusal? = nil
    ) {
        self.init(rail, rail.entry.severity, host: host, policy: policy, pin: pin, detail, remedy: remedy)
        assert(refusal == nil || refusal?.rail == rail, "\(rail) is refused as another rail")
        self.refusal = refusal
    }

    package init(
        _ rail: GuardRail, _ severity: GuardRail.Severity, host: HostPattern? = nil, policy: PolicySlot? = nil,
        pin: Pin? = nil, _ detail: String, remedy: String
    ) {
        self.rail = rail
        self.verdict = .violated
        self.severity = severity
        self.host = host
        self.policy = policy
        self.pin = pin
        self.detail = detail
        self.remedy = remedy
    }

    /// A finding that cannot be judged. It refuses nothing unless `severity` says so.
    package static func unknown(
        _ rail: GuardRail, _ severity: GuardRail.Severity = .warn, host: HostPattern? = nil, pin: Pin? = nil,
        _ detail: String, remedy: String
    ) -> Finding {
        var finding = Finding(rail, severity, host: host, pin: pin, detail, remedy: remedy)
        finding.verdict = .unknown
        return finding
    }

    /// The finding as the API shows it and as it is recorded.
    package var json: JSON {
        .members([
            "code": .string(self.rail.code),
            "title": .string(self.rail.entry.title),
            "verdict": .string(self.verdict.rawValue),
            "severity": .string(self.severity.rawValue),
            "host": self.host.map { .string($0.text) },
            "policy": self.policy.map { .string($0.rawValue) },
            "pin": self.pin.map { .string($0.description) },
            "client": self.client.map { .string($0.rawValue) },
            "limit": self.limit.map { .string($0.rawValue) },
            "detail": .string(self.detail),
            "remedy": .string(self.remedy),
        ])
    }
}

/// An overridden finding, as the ledger keeps it.
package struct OverriddenFinding: Hashable, Sendable {
    /// The rail's code. A text, because a ledger outlives the list of rails.
    package var code: String
    package var host: HostPattern?
    package var pin: Pin?
    package var detail: String

    package init(code: String, host: HostPattern?, pin: Pin?, detail: String) {
        self.code = code
        self.host = host
        self.pin = pin
        self.detail = detail
    }

    package init(_ finding: Finding) {
        self.init(code: finding.rail.code, host: finding.host, pin: finding.pin, detail: finding.detail)
    }

    package var json: JSON {
        .members([
            "code": .string(self.code), "host": self.host.map { .string($0.text) },
            "pin": self.pin.map { .string($0.description) }, "detail": .string(self.detail),
        ])
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            OverriddenFinding(
                code: try m.required("code").string(), host: try m.optional("host")?.parse(HostPattern.init),
                pin: try m.optional("pin")?.parse(Pin.init(text:)), detail: try m.required("detail").string()
            )
        }
    }
}
