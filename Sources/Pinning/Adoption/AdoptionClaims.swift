/// What clients say of themselves without showing that they are clients of the app: anybody can make it up. Good for
/// warnings and for people; no gate goes by it.
package struct AdoptionClaims: Hashable, Sendable {
    /// Requests and reports in the window.
    package var sightings: Int64
    /// Of these, those that named a version later than any that there was, by that version; 0 for others of them.
    package var ahead: [Int64: Int64]

    package init(sightings: Int64, ahead: [Int64: Int64] = [:]) {
        self.sightings = sightings
        self.ahead = ahead
    }

    /// How many named a version later than one, and the latest that was named, as far as it is known; nil where none did.
    /// What was later than any when it was said, and is not any more, is none of them.
    func later(than version: Int64) -> (sightings: Int64, latest: Int64?)? {
        let later = self.ahead.filter { $0.key == 0 || $0.key > version }
        guard !later.isEmpty else { return nil }
        return (later.values.reduce(0, +), later.keys.max().flatMap { $0 == 0 ? nil : $0 })
    }
}

extension AdoptionFacts {
    /// What rules may know of what anybody can make up.
    package var claims: AdoptionClaims {
        var claims = AdoptionClaims(sightings: self.total.sightings)
        for holding in self.holdings where holding.count.sightings > 0 {
            if case .ahead(let version) = holding.held { claims.ahead[version, default: 0] += holding.count.sightings }
        }
        return claims
    }
}
