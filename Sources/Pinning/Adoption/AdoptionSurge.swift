package import PinWire

/// That far more requests and reports are counted of an app in one hour than in any hour of the week before.
package struct AdoptionSurge: Hashable, Sendable {
    /// When the hour began.
    package var hour: Timestamp
    /// What one node counted in it so far.
    package var sightings: Int64
    /// What all nodes counted in the busiest hour of the week before.
    package var usual: Int64

    /// Fewer in an hour are none, however many there were before.
    package static let least: Int64 = 10_000
    /// So many times as many as in the busiest hour.
    package static let factor: Int64 = 10

    package init(hour: Timestamp, sightings: Int64, usual: Int64) {
        self.hour = hour
        self.sightings = sightings
        self.usual = usual
    }

    /// Whether it is one.
    package var isOne: Bool {
        let (limit, isLarger) = self.usual.multipliedReportingOverflow(by: Self.factor)
        return self.sightings >= Self.least && !isLarger && self.sightings > limit
    }
}

extension App {
    /// What a surge asks of people; nil where there is none, or it is over: surges stand for a day.
    func surgeAttention(in context: DecisionContext) -> AttentionItem? {
        guard let surge = context.facts.surge(self.id), context.now < surge.hour.adding(seconds: 86_400) else {
            return nil
        }
        var item = AttentionItem(
            .soon, .adoptionSurge, app: self.id,
            "One node counted \(surge.sightings) requests and reports of clients in the hour from \(surge.hour), but no hour of the week before had more than \(surge.usual) on all nodes: many clients installed a release at once, or the requests are made up. Until that is known, the counts do not show what clients hold; no guard rail uses them.",
            remedy:
                "Compare the counts with the proxy's log (`pinledger app adoption \(self.id)`). If they are made up, limit the requests of one network in front of this service."
        )
        item.date = surge.hour
        return item
    }
}
