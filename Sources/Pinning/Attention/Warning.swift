package import PinWire

/// A warning of the service itself, as the ledger keeps it: an item of the attention list that reaches receivers of
/// events without a request.
package struct Warning: Hashable, Sendable {
    /// The kinds of warnings. A part of ``AttentionItem/Kind``: items that follow from a change were reported with it,
    /// and gaps of probes come and go too often.
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        case certificateExpires = "certificate_expires"
        case servedKeyUnpinned = "served_key_unpinned"
        case pinsValidUntil = "pins_valid_until"
        case rotationReady = "rotation_ready"
        case rotationStuck = "rotation_stuck"
        case rolloutApproval = "rollout_approval"
        case rolloutStuck = "rollout_stuck"
        case failingReports = "failing_reports"
        case renewalAnnounced = "renewal_announced"

        init?(_ kind: AttentionItem.Kind) { self.init(rawValue: kind.rawValue) }
    }

    /// The subject of a warning: while it stands, the same subject gets no other one, unless it has become more severe.
    package struct Subject: Hashable, Sendable {
        package var kind: Kind
        package var host: HostPattern?
        package var policy: PolicySlot?
        package var pin: Pin?
        package var endpoint: Endpoint?
        package var rotation: String?

        package init(
            _ kind: Kind, host: HostPattern? = nil, policy: PolicySlot? = nil, pin: Pin? = nil,
            endpoint: Endpoint? = nil, rotation: String? = nil
        ) {
            self.kind = kind
            self.host = host
            self.policy = policy
            self.pin = pin
            self.endpoint = endpoint
            self.rotation = rotation
        }
    }

    package var subject: Subject
    package var severity: AttentionItem.Severity
    /// When it happens, or since when it is so; nil where there is no such time.
    package var date: Timestamp?
    /// How many seconds before the date this is announced, a horizon of the deployment: 0 where the date is past, nil
    /// where the date is not in the future by nature.
    package var lead: Int64?
    /// The guard rail whose page explains it. A text, because a ledger outlives the list of rails.
    package var code: String?
    /// What is wrong, and what to do: a sentence each.
    package var detail: String
    package var remedy: String

    package init(
        _ subject: Subject, severity: AttentionItem.Severity, date: Timestamp? = nil, lead: Int64? = nil,
        code: String? = nil, detail: String, remedy: String
    ) {
        self.subject = subject
        self.severity = severity
        self.date = date
        self.lead = lead
        self.code = code
        self.detail = detail
        self.remedy = remedy
    }

    /// Nil for items that are only on the list.
    init?(_ item: AttentionItem) {
        guard item.severity != .info, let kind = Kind(item.kind) else { return nil }
        // Addresses that present different keys, none of them pinned, are one subject.
        let pin = kind == .servedKeyUnpinned ? nil : item.pin
        self.init(
            Subject(
                kind, host: item.host, policy: item.policy, pin: pin, endpoint: item.endpoint, rotation: item.rotation),
            severity: item.severity, date: item.date, lead: item.lead, code: item.rail?.code, detail: item.detail,
            remedy: item.remedy
        )
    }
}

/// A fact of an app's monitoring: the service's warnings, and the keys that sign clients' reports.
package enum WatchEvent: Hashable, Sendable {
    case warningRaised(Warning)
    /// The condition is over.
    case warningCleared(Warning.Subject)
    /// Reports signed with it count as the app's own. The secret is not in the ledger.
    case telemetryKeyAdded(id: String, note: String?)
    case telemetryKeyRetired(id: String)
    case documentPublished(Publication)
}

extension Warning {
    package var json: JSON { .object(self.members) }

    var members: [String: JSON] {
        var members = self.subject.members
        members["severity"] = .string(self.severity.rawValue)
        members["date"] = self.date.map { .string($0.rfc3339) }
        members["lead_seconds"] = self.lead.map { .integer($0) }
        members["code"] = self.code.map { .string($0) }
        members["detail"] = .string(self.detail)
        members["remedy"] = .string(self.remedy)
        return members
    }

    /// Reads ``json``.
    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in try Warning(&m) }
    }

    /// Reads ``members``.
    init(_ m: inout JSONMembers) throws(JSONDefect) {
        self.init(
            try Subject(&m), severity: try m.required("severity").oneOf(AttentionItem.Severity.self),
            date: try m.optional("date")?.timestamp(), lead: try m.optional("lead_seconds")?.integer(0...(.max)),
            code: try m.optional("code")?.string(), detail: try m.required("detail").string(),
            remedy: try m.required("remedy").string()
        )
    }
}

extension Warning.Subject {
    var members: [String: JSON] {
        let members: [String: JSON?] = [
            "kind": .string(self.kind.rawValue),
            "host": self.host.map { .string($0.text) },
            "policy": self.policy.map { .string($0.rawValue) },
            "pin": self.pin.map { .string($0.description) },
            "endpoint": self.endpoint.map { .string($0.description) },
            "rotation": self.rotation.map { .string($0) },
        ]
        return members.compactMapValues { $0 }
    }

    init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.init(
            try members.required("kind").oneOf(Warning.Kind.self),
            host: try members.optional("host")?.parse(HostPattern.init),
            policy: try members.optional("policy")?.oneOf(PolicySlot.self),
            pin: try members.optional("pin")?.parse(Pin.init(text:)),
            endpoint: try members.optional("endpoint")?.parse(Endpoint.init),
            rotation: try members.optional("rotation")?.string()
        )
    }
}
