package import PinWire
import Pinning

/// What is known of all endpoints, in numbers.
package struct ProbeOverview: Hashable, Sendable {
    /// What probes of an endpoint saw within a day, the newest from each place.
    package enum State: String, CaseIterable, Sendable {
        /// Nothing: none was made, or the networks of all places were at fault.
        case unprobed
        /// An answer, at one place at least.
        case reached
        /// No answer, at any of the places that have a name and could have got one.
        case failing
    }

    package var endpoints: [State: Int] = [:]
    /// When the first of the certificates ends that servers presented within a day; nil where none did.
    package var firstCertificateEnd: Timestamp?

    /// - Parameter attempts: The newest probe from each place.
    mutating func add(_ facts: EndpointFacts?, _ attempts: some Collection<ObservationStore.Attempt>, at now: Timestamp)
    {
        let fresh = attempts.filter { now < $0.lastAttempt.adding(seconds: EndpointFacts.freshSeconds) }
        let isReached = fresh.contains { $0.lastSuccess == $0.lastAttempt }
        // Failures count only probes that say something about the endpoint. One by hand from an unnamed place is not repeated, and
        // would stand for a day.
        let isFailing = fresh.contains { $0.failures > 0 && $0.vantage != ProbeScheduler.unnamed }
        self.endpoints[isReached ? .reached : isFailing ? .failing : .unprobed, default: 0] += 1
        for chain in facts?.live(at: now) ?? [] {
            guard let end = chain.certificates.first?.notAfter else { continue }
            self.firstCertificateEnd = min(self.firstCertificateEnd ?? end, end)
        }
    }
}
