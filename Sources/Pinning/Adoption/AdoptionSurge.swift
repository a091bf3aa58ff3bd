package import PinWire

/// An app whose requests and reports in one hour far exceed those of every hour of the week before.
package struct AdoptionSurge: Hashable, Sendable {
    /// When the hour began.
    package var hour: Timestamp
    /// One node's count in it so far.
    package var sightings: Int64
    /// All nodes' count in the busiest hour of the week before.
    package var usual: Int64

    /// Fewer in an hour are no surge, however many there were before.
    package static let least: Int64 = 10_000
    /// The factor over the busiest hour.
    package static let factor: Int64 = 10

    package init(hour: Timestamp, sightings: Int64, usual: Int64) {
        self.hour = hour
        self.sightings = sightings
        self.usual = usual
    }

    /// Whether it is a surge.
    package var isOne: Bool {
        let (limit, isLarger) = self.usual.multipliedReportingOverflow(by: Self.factor)
        return self.sightings >= Self.least && !isLarger && self.sightings > limit
    }
}

extension App {
    /// The attention item of a surge; nil where there is none, or it is over: surges stand for a day.
    func surgeAttention(in context: DecisionContext) -> AttentionItem? {
        guard let surge = context.facts.surge(self.id), context.now < surge.hour.adding(seconds: 86_400) else {
            return nil
        }
        var item = AttentionItem(
            .soon, .adoptionSurge, app: self.id,
            "One node counted \(surge.sightings) requests and reports of clients in the hour from \(surge.hour), but no hour of the week before had more than \(surge.usual) on all nodes: many clients installed a release at once, or the requests are made up. Until that is known, the counts do not show what clients hold; no rotation relies on them.",
            remedy:
                "Compare the counts with the proxy's log (`pinledger app adoption \(self.id)`). If they are made up, limit the requests of one network in front of this service."
        )
        item.date = surge.hour
        return item
    }
}
