package import PinWire
package import Pinning
import Synchronization

/// What a node knows of what endpoints present: everything that was recorded by any node, as far as it has been read.
///
/// One lock around one value; nothing waits while holding it. What the process loses when it dies is read again.
package final class ObservationBook: Sendable {
    fileprivate struct Sight: Hashable {
        var vantage: String
        var address: String
        var digest: [UInt8]
    }

    fileprivate struct Page {
        var sights: [Sight: Pinning.ServedChain] = [:]
        var attempts: [String: ObservationStore.Attempt] = [:]
        var facts = EndpointFacts()
    }

    private let pages = Mutex<[Endpoint: Page]>([:])

    /// Chains that are kept of one endpoint: those seen last.
    fileprivate static let sightLimit = 100

    package init() {}

    /// What is known of an endpoint; nil where nothing is.
    package func facts(of endpoint: Endpoint) -> EndpointFacts? {
        self.pages.withLock { $0[endpoint]?.facts }
    }

    /// The newest probes of an endpoint, one from each place, as they were recorded: in order of the places' names.
    package func outcomes(of endpoint: Endpoint) -> [JSON] {
        self.pages.withLock { pages in
            (pages[endpoint]?.attempts ?? [:]).sorted { $0.key < $1.key }.map { _, attempt in
                guard case .object(var members) = attempt.outcome else { return attempt.outcome }
                members["failures"] = .integer(Int64(attempt.failures))
                members["last_success"] = attempt.lastSuccess.map { .string($0.rfc3339) }
                return .object(members)
            }
        }
    }

    /// How often in a row a place has tried an endpoint in vain, and when it last did try; nil where it never did.
    func history(of endpoint: Endpoint, from vantage: String) -> (failures: Int, last: Timestamp)? {
        self.pages.withLock { $0[endpoint]?.attempts[vantage].map { ($0.failures, $0.lastAttempt) } }
    }

    /// Takes in what was read. Older news than is there already changes nothing.
    func take(_ rows: [ObservationStore.Row], _ attempts: [ObservationStore.Attempt]) {
        self.pages.withLock { pages in
            var touched: Set<Endpoint> = []
            for row in rows {
                let sight = Sight(vantage: row.chain.vantage, address: row.chain.address, digest: row.digest)
                let known = pages[row.endpoint, default: Page()].sights[sight]
                guard known.map({ $0.lastSeen < row.chain.lastSeen }) ?? true else { continue }
                pages[row.endpoint, default: Page()].sights[sight] = row.chain
                touched.insert(row.endpoint)
            }
            for attempt in attempts {
                let known = pages[attempt.endpoint]?.attempts[attempt.vantage]
                guard known.map({ $0.lastAttempt < attempt.lastAttempt }) ?? true else { continue }
                pages[attempt.endpoint, default: Page()].attempts[attempt.vantage] = attempt
                touched.insert(attempt.endpoint)
            }
            for endpoint in touched { pages[endpoint]?.sumUp() }
        }
    }

    /// Takes in what this node has just found.
    func take(_ observation: Observation, failures: Int) {
        let rows = observation.sights.map { sight in
            let first = self.firstSeen(sight, observation)
            return ObservationStore.Row(
                endpoint: observation.endpoint, digest: sight.chainDigest,
                chain: Pinning.ServedChain(
                    pins: sight.certificates.map(\.key.pin), certificates: sight.certificates, address: sight.address,
                    vantage: observation.vantage, firstSeen: first, lastSeen: observation.at, isCurrent: true
                )
            )
        }
        var success: Timestamp? = observation.at
        if rows.isEmpty {
            success = self.pages.withLock { $0[observation.endpoint]?.attempts[observation.vantage]?.lastSuccess }
        }
        let attempt = ObservationStore.Attempt(
            endpoint: observation.endpoint, vantage: observation.vantage, lastAttempt: observation.at,
            lastSuccess: success, failures: failures, outcome: observation.outcome
        )
        self.take(rows, [attempt])
    }

    private func firstSeen(_ sight: Observation.Sight, _ observation: Observation) -> Timestamp {
        let key = Sight(vantage: observation.vantage, address: sight.address, digest: sight.chainDigest)
        return self.pages.withLock { $0[observation.endpoint]?.sights[key]?.firstSeen } ?? observation.at
    }
}

extension ObservationBook.Page {
    /// Finds which chain each address showed last, and forgets the oldest.
    fileprivate mutating func sumUp() {
        let surplus = self.sights.sorted { $0.value.lastSeen > $1.value.lastSeen }.dropFirst(ObservationBook.sightLimit)
        for (sight, _) in surplus { self.sights[sight] = nil }
        var newest: [[String]: Timestamp] = [:]
        for (sight, chain) in self.sights {
            let place = [sight.vantage, sight.address]
            newest[place] = max(newest[place] ?? chain.lastSeen, chain.lastSeen)
        }
        for (sight, chain) in self.sights {
            self.sights[sight]?.isCurrent = newest[[sight.vantage, sight.address]] == chain.lastSeen
        }
        self.facts = EndpointFacts(
            chains: self.sights.values.sorted { ($0.lastSeen, $0.address) > ($1.lastSeen, $1.address) },
            lastSuccess: self.attempts.values.compactMap(\.lastSuccess).max(),
            lastAttempt: self.attempts.values.map(\.lastAttempt).max()
        )
    }
}
