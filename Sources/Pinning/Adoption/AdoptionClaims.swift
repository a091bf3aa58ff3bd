/// Clients' statements about themselves without proof that they are clients of the app: anyone can invent them. They
/// serve warnings and people; no gate uses them.
package struct AdoptionClaims: Hashable, Sendable {
    /// Requests and reports in the window.
    package var sightings: Int64
    /// The statements among these of a version later than any existing one, by that version; 0 for others of them.
    package var ahead: [Int64: Int64]

    package init(sightings: Int64, ahead: [Int64: Int64] = [:]) {
        self.sightings = sightings
        self.ahead = ahead
    }

    /// How many named a version later than a given one, and the latest that was named, as far as it is known; nil where
    /// none did. A version that was later than any when it was stated, and has been made since, does not count.
    func later(than version: Int64) -> (sightings: Int64, latest: Int64?)? {
        let later = self.ahead.filter { $0.key == 0 || $0.key > version }
        guard !later.isEmpty else { return nil }
        return (later.values.reduce(0, +), later.keys.max().flatMap { $0 == 0 ? nil : $0 })
    }
}

extension AdoptionFacts {
    /// Limits on the statements that rules may see, which anyone can invent.
    package var claims: AdoptionClaims {
        var claims = AdoptionClaims(sightings: self.total.sightings)
        for holding in self.holdings where holding.count.sightings > 0 {
            if case .ahead(let version) = holding.held { claims.ahead[version, default: 0] += holding.count.sightings }
        }
        return claims
    }
}
