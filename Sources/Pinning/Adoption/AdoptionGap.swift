/// A limit of the figures of adoption, and its meaning.
package enum AdoptionGap: String, CaseIterable, Sendable {
    case nothingSeen = "nothing_seen"
    case noConditions = "no_conditions"
    case fewFullFetches = "few_full_fetches"
    case fewSightings = "few_sightings"
    case noInstalls = "no_installs"
    case someInstalls = "some_installs"
    case unclearVersions = "unclear_versions"
    case aheadVersions = "ahead_versions"
    case nothingSigned = "nothing_signed"

    /// Fewer say little about a population.
    static let leastSightings: Int64 = 100

    /// In whole sentences, for people.
    package var sentence: String {
        switch self {
        case .nothingSeen:
            "No client was seen in this time, so what clients hold is unknown."
        case .noConditions:
            "Every request asked for the whole document: clients store none, or a cache answers in place of this server. "
                + "Clients behind a cache are not seen, and what they hold is known from their reports only."
        case .fewFullFetches:
            "Hardly any request asked for the whole document: if a cache stands in front of this server, the requests are "
                + "the cache's, the clients behind it are not seen, and what they hold is known from their reports only."
        case .fewSightings:
            "Fewer than \(Self.leastSightings) requests and reports were seen: too few to speak for all clients."
        case .noInstalls:
            "No client sends an install id, so clients that ask often count for more than others."
        case .someInstalls:
            "Only some clients send an install id; for the others only the number of requests is known."
        case .unclearVersions:
            "Some requests do not say which version their sender holds."
        case .aheadVersions:
            "Some clients claim a version later than any that existed: the claims are made up, or the ledger was "
                + "restored from a backup (`pinledger explain G33`)."
        case .nothingSigned:
            "No report was signed. Anyone can send such figures, so no rotation relies on them."
        }
    }

    static func all(of facts: AdoptionFacts) -> [AdoptionGap] {
        let total = facts.total
        guard total.sightings > 0 else { return [.nothingSeen] }
        func requests(_ held: HeldVersion) -> Int64 {
            facts.holdings.first { $0.held == held }?.count.requests ?? 0
        }
        let full = requests(.nothing)
        var gaps: [AdoptionGap] = []
        if total.requests > 0, full == total.requests {
            gaps.append(.noConditions)
        } else if full * 100 < total.requests {
            gaps.append(.fewFullFetches)
        }
        if total.sightings < Self.leastSightings { gaps.append(.fewSightings) }
        if total.identified == 0 {
            gaps.append(.noInstalls)
        } else if total.identified * 20 < total.sightings * 19 {
            gaps.append(.someInstalls)
        }
        if requests(.unknown) > 0 { gaps.append(.unclearVersions) }
        if facts.holdings.contains(where: { $0.held.isAhead && $0.count.sightings > 0 }) { gaps.append(.aheadVersions) }
        if facts.signed.installs == nil { gaps.append(.nothingSigned) }
        return gaps
    }
}
