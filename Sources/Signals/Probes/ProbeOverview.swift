package import PinWire
import Pinning

/// What is known of all endpoints, in numbers.
package struct ProbeOverview: Hashable, Sendable {
    /// What the newest probe of an endpoint saw, from whichever place.
    package enum State: String, CaseIterable, Sendable {
        /// Nothing yet: no probe has ended.
        case unprobed
        case reached
        case failing
    }

    package var endpoints: [State: Int] = [:]
    /// When the first of the certificates ends that servers presented within a day; nil where none did.
    package var firstCertificateEnd: Timestamp?

    mutating func add(_ facts: EndpointFacts?, at now: Timestamp) {
        guard let facts, let attempt = facts.lastAttempt else { return self.endpoints[.unprobed, default: 0] += 1 }
        self.endpoints[facts.lastSuccess == attempt ? .reached : .failing, default: 0] += 1
        for chain in facts.live(at: now) {
            guard let end = chain.certificates.first?.notAfter else { continue }
            self.firstCertificateEnd = min(self.firstCertificateEnd ?? end, end)
        }
    }
}
