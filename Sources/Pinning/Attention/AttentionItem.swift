package import PinWire

/// One thing that needs a person's attention, as far as state and observations tell.
package struct AttentionItem: Hashable, Sendable {
    package enum Severity: String, CaseIterable, Sendable, Hashable, Comparable {
        /// Clients are locked out or unprotected, or will be within days.
        case urgent
        /// There is a task, and time for it.
        case soon
        /// Good to know.
        case info

        package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
        private var rank: Int {
            switch self {
            case .urgent: 0
            case .soon: 1
            case .info: 2
            }
        }
    }

    package enum Kind: String, CaseIterable, Sendable, Hashable {
        case certificateExpires = "certificate_expires"
        case servedKeyUnpinned = "served_key_unpinned"
        case notProbed = "not_probed"
        case unreachable
        case noReserve = "no_reserve"
        case unprovenReserve = "unproven_reserve"
        case weakKey = "weak_key"
        case pinsValidUntil = "pins_valid_until"
        case killSwitch = "kill_switch"
        case notEnforced = "not_enforced"
        case candidateStands = "candidate_stands"
        case rotationReady = "rotation_ready"
        case rotationStuck = "rotation_stuck"
        case rotationAborted = "rotation_aborted"
        case rolloutApproval = "rollout_approval"
        case rolloutPaused = "rollout_paused"
        case rolloutStuck = "rollout_stuck"
        case rolloutRolledBack = "rollout_rolled_back"
        case failingReports = "failing_reports"
        case renewalAnnounced = "renewal_announced"
        case adoptionSurge = "adoption_surge"
        case guardRailLowered = "guard_rail_lowered"
        case ledgerAhead = "ledger_ahead"
        case nothingProbed = "nothing_probed"
        case webhookPaused = "webhook_paused"
        case rootExpires = "root_expires"
        case clientBreaks = "client_breaks"
        case tokenNewNetwork = "token_new_network"
    }

    package let severity: Severity
    package let kind: Kind
    /// Nil for what concerns every app.
    package var app: AppID?
    package var host: HostPattern?
    package var policy: PolicySlot?
    package var pin: Pin?
    package var endpoint: Endpoint?
    package var rotation: String?
    /// The id of the token concerned.
    package var token: String?
    /// The kind of client concerned, and the one of its limits.
    package var client: ClientKind?
    package var limit: ClientLimit?
    /// The guard rail whose page explains it.
    package var rail: GuardRail?
    /// When it happens or since when it is so; nil where there is no such time.
    package var date: Timestamp?
    /// How many seconds before the date it is announced: the nearest horizon reached, 0 where the date is past; nil
    /// where the date is not in the future by nature.
    var lead: Int64?
    /// What is wrong, as a sentence.
    package let detail: String
    /// What to do, as a sentence.
    package let remedy: String

    init(_ severity: Severity, _ kind: Kind, app: AppID?, _ detail: String, remedy: String) {
        self.severity = severity
        self.kind = kind
        self.app = app
        self.detail = detail
        self.remedy = remedy
    }

    package var json: JSON {
        .members([
            "severity": .string(self.severity.rawValue),
            "kind": .string(self.kind.rawValue),
            "app": self.app.map { .string($0.text) },
            "host": self.host.map { .string($0.text) },
            "policy": self.policy.map { .string($0.rawValue) },
            "pin": self.pin.map { .string($0.description) },
            "endpoint": self.endpoint.map { .string($0.description) },
            "rotation": self.rotation.map { .string($0) },
            "token_id": self.token.map { .string($0) },
            "client": self.client.map { .string($0.rawValue) },
            "limit": self.limit.map { .string($0.rawValue) },
            "code": self.rail.map { .string($0.code) },
            "date": self.date.map { .string($0.rfc3339) },
            "detail": .string(self.detail),
            "remedy": .string(self.remedy),
        ])
    }
}

/// The attention list, by severity and then by date; bounded, however many items there are.
package struct AttentionList: Sendable {
    package private(set) var items: [AttentionItem] = []
    /// The number of all items, also those that are left out.
    package private(set) var counts: [AttentionItem.Severity: Int] = [:]

    /// The most items of one list.
    package static let limit = 1000

    package var isTruncated: Bool { self.items.count < self.counts.values.reduce(0, +) }

    mutating func add(_ items: [AttentionItem]) {
        for item in items { self.counts[item.severity, default: 0] += 1 }
        self.items += items
        if self.items.count > 4 * Self.limit { self.cut() }
    }

    /// Sorts, and leaves the least severe out. To be called at the end.
    mutating func cut() {
        self.items.sort { $0.isBefore($1) }
        if self.items.count > Self.limit { self.items.removeLast(self.items.count - Self.limit) }
    }
}

extension AttentionItem {
    /// The order of lists; total, so that every node shows the same.
    fileprivate func isBefore(_ other: AttentionItem) -> Bool {
        if self.severity != other.severity { return self.severity < other.severity }
        let last = Timestamp(microseconds: .max)
        if self.date != other.date { return self.date ?? last < other.date ?? last }
        let texts = [(self.app?.text, other.app?.text), (self.host?.text, other.host?.text)]
        for (left, right) in texts where left != right { return left ?? "" < right ?? "" }
        return self.detail < other.detail
    }
}
