package import PinWire

/// How many clients have a key: by counts, and by what time alone guarantees.
package struct Delivery: Hashable, Sendable {
    /// When the last policy that should have the key published it, and by which document.
    package var publishedAt: Timestamp
    package var documentVersion: Int64
    package var share: AdoptionShare
    /// From then on no client uses a document without the key unless it failed to fetch a newer one, whatever the
    /// counts say.
    package var sufficientAt: Timestamp
    /// Before then the key does not count as delivered, however many have it.
    package var earliestAt: Timestamp
    /// The sufficient share, in basis points.
    package var goal: Int

    /// Whether clients can be relied on to have the key.
    package func isEnough(at now: Timestamp) -> Bool {
        self.sufficientAt <= now
            || (self.earliestAt <= now && self.share.basis != .unknown && self.goal <= self.share.lowerBasisPoints)
    }

    /// The progress, as a sentence.
    package func sentence(at now: Timestamp) -> String {
        let counted =
            switch self.share.basis {
            case .unknown:
                "how many clients have it is unknown (only signed reports count: unsigned ones can come from anyone)"
            case .installs, .requests:
                "\(Self.percent(self.share.lowerBasisPoints)) to \(Self.percent(self.share.upperBasisPoints)) of \(self.share.sample) \(self.share.basis == .installs ? "installations that sign their reports" : "requests") have document \(self.documentVersion) or a later one, but \(Self.percent(self.goal)) are required"
            }
        let time =
            self.sufficientAt <= now
            ? "every older document is stale since \(self.sufficientAt)"
            : "the last older document becomes stale at \(self.sufficientAt)"
        return "\(counted); \(time)"
    }

    private static func percent(_ basisPoints: Int) -> String {
        "\(basisPoints / 100).\(basisPoints % 100 < 10 ? "0" : "")\(basisPoints % 100) %"
    }
}

extension App {
    /// The delivery of `pin`, which the hosts' policies publish; nil where one of them does not.
    package func delivery(
        of pin: Pin, hosts: [HostPattern], goals: Rotation.Goals, versionOffset: Int64, _ facts: ExternalFacts
    ) -> Delivery? {
        var since = Timestamp(microseconds: .min)
        var version: Int64 = 0
        for pattern in hosts {
            guard let host = self.hosts[pattern] else { continue }
            for slot in PolicySlot.allCases {
                // A policy that is off today counts too: clients may hold a document in which it was not.
                guard let policy = host[slot] else { continue }
                guard let record = policy.pins[pin], record.state == .active else { return nil }
                since = max(since, record.since)
                version = max(version, record.publishedBy)
            }
        }
        guard version > 0 else { return nil }
        // Events of the fleet count into the document's version. Those since then make this one higher than necessary,
        // never lower: each of them had every client fetch again.
        let document = version + versionOffset
        return Delivery(
            publishedAt: since, documentVersion: document, share: facts.adoption(self.id, document) ?? .unknown,
            // No setting can make documents stale before they are.
            sufficientAt: since.adding(seconds: max(goals.sufficientWait, facts.deliverySeconds)),
            earliestAt: since.adding(seconds: goals.minimumWait), goal: goals.adoption
        )
    }
}

extension Rotation {
    /// When the last document that still had the old key goes stale; of a rotation in its phase `clean_up`.
    func staleAt(_ facts: ExternalFacts) -> Timestamp {
        self.phaseSince.adding(seconds: max(self.goals.sufficientWait, facts.deliverySeconds))
    }
}

extension Rotation.Goals {
    /// The default: as long as a document is fresh and a cache keeps it.
    package init(for facts: ExternalFacts) {
        self.init(
            minimumWait: min(3600, facts.deliverySeconds), sufficientWait: facts.deliverySeconds
        )
    }
}
