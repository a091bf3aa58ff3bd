package import PinWire
package import Pinning
import Synchronization

/// A node's knowledge of the chains that endpoints present: the records of all nodes, as far as they have been read.
///
/// One lock guards one value; nothing waits while holding it. If the process dies, the next one reads them again.
package final class ObservationSummary: Sendable {
    fileprivate struct ChainKey: Hashable {
        var vantage: String
        var address: String
        var digest: [UInt8]
    }

    /// The facts of one observed chain.
    fileprivate struct Seen {
        var chain: Pinning.ObservedChain
        /// When it was last seen by a probe that saw all chains of its address; nil where none did.
        var lastComplete: Timestamp?
    }

    fileprivate struct Page {
        var chains: [ChainKey: Seen] = [:]
        var attempts: [String: ObservationStore.Attempt] = [:]
        var facts = EndpointFacts()
    }

    private let pages = Mutex<[Endpoint: Page]>([:])
    private let changes = Atomic<Int>(0)

    /// A number that changes whenever something new is known.
    package var revision: Int { self.changes.load(ordering: .acquiring) }

    /// The most chains of one endpoint. One that is evidence of its own stays in any case, up to the second limit.
    static let chainLimit = 100
    static let evidenceLimit = 256

    package init() {}

    /// The chains of an endpoint; nil where there are none.
    package func facts(of endpoint: Endpoint) -> EndpointFacts? {
        self.pages.withLock { $0[endpoint]?.facts }
    }

    /// What is known of these endpoints, in numbers. Its cost is linear in them.
    func overview(of endpoints: some Sequence<Endpoint>, at now: Timestamp) -> ProbeOverview {
        self.pages.withLock { pages in
            endpoints.reduce(into: ProbeOverview()) { overview, endpoint in
                let page = pages[endpoint]
                overview.add(page?.facts, (page?.attempts ?? [:]).values, at: now)
            }
        }
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

    /// How often in a row a place has failed to reach an endpoint, and when it last tried; nil where it never did.
    func history(of endpoint: Endpoint, from vantage: String) -> (failures: Int, last: Timestamp)? {
        self.pages.withLock { $0[endpoint]?.attempts[vantage].map { ($0.failures, $0.lastAttempt) } }
    }

    /// Takes in records. Records older than the present ones change nothing.
    func take(_ rows: [ObservationStore.Row], _ attempts: [ObservationStore.Attempt]) {
        let isNews = self.pages.withLock { pages in
            var touched: Set<Endpoint> = []
            for row in rows {
                let key = ChainKey(vantage: row.chain.vantage, address: row.chain.address, digest: row.digest)
                var seen = Seen(chain: row.chain, lastComplete: row.lastComplete)
                if let known = pages[row.endpoint]?.chains[key] {
                    guard known.chain.lastSeen < row.chain.lastSeen else { continue }
                    seen.lastComplete = [known.lastComplete, row.lastComplete].compactMap(\.self).max()
                }
                pages[row.endpoint, default: Page()].chains[key] = seen
                touched.insert(row.endpoint)
            }
            for attempt in attempts {
                let known = pages[attempt.endpoint]?.attempts[attempt.vantage]
                guard known.map({ $0.lastAttempt < attempt.lastAttempt }) ?? true else { continue }
                pages[attempt.endpoint, default: Page()].attempts[attempt.vantage] = attempt
                touched.insert(attempt.endpoint)
            }
            for endpoint in touched { pages[endpoint]?.sumUp() }
            return !touched.isEmpty
        }
        if isNews { self.changes.add(1, ordering: .acquiringAndReleasing) }
    }

    /// Takes in this node's own result.
    func take(_ observation: Observation, failures: Int) {
        let rows = observation.chains.map { chain in
            let first = self.firstSeen(chain, observation)
            return ObservationStore.Row(
                endpoint: observation.endpoint, digest: chain.chainDigest,
                chain: Pinning.ObservedChain(
                    pins: chain.certificates.map(\.key.pin), certificates: chain.certificates, address: chain.address,
                    vantage: observation.vantage, firstSeen: first, lastSeen: observation.at, isCurrent: true
                ),
                lastComplete: chain.isComplete ? observation.at : nil
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

    private func firstSeen(_ chain: Observation.ObservedChain, _ observation: Observation) -> Timestamp {
        let key = ChainKey(vantage: observation.vantage, address: chain.address, digest: chain.chainDigest)
        return self.pages.withLock { $0[observation.endpoint]?.chains[key]?.chain.firstSeen } ?? observation.at
    }
}

extension ObservationSummary.Page {
    /// Finds which chains each address showed last, and forgets those beyond the limits.
    fileprivate mutating func sumUp() {
        self.findCurrent()
        self.trim()
        self.facts = EndpointFacts(
            chains: self.chains.values.map(\.chain)
                .sorted { ($0.lastSeen, $0.address) > ($1.lastSeen, $1.address) },
            lastSuccess: self.attempts.values.compactMap(\.lastSuccess).max(),
            lastAttempt: self.attempts.values.map(\.lastAttempt).max()
        )
    }

    /// An address as seen from one place, with its chains for one kind of key.
    private struct Corner: Hashable {
        var vantage: String
        var address: String
        var isRSA: Bool?

        init(_ chain: ObservedChain, ofItsKind: Bool) {
            self.vantage = chain.vantage
            self.address = chain.address
            self.isRSA = ofItsKind ? chain.certificates.first?.key.algorithm.hasPrefix("rsa") : nil
        }
    }

    /// A chain is superseded by another one for the same kind of key, and by a probe that saw all chains of its address
    /// without it.
    private mutating func findCurrent() {
        var newest: [Corner: Timestamp] = [:]
        var complete: [Corner: Timestamp] = [:]
        for seen in self.chains.values {
            let corner = Corner(seen.chain, ofItsKind: true)
            newest[corner] = max(newest[corner] ?? seen.chain.lastSeen, seen.chain.lastSeen)
            guard let last = seen.lastComplete else { continue }
            let address = Corner(seen.chain, ofItsKind: false)
            complete[address] = max(complete[address] ?? last, last)
        }
        for (key, seen) in self.chains {
            let last = seen.chain.lastSeen
            self.chains[key]?.chain.isCurrent =
                newest[Corner(seen.chain, ofItsKind: true)] == last
                && complete[Corner(seen.chain, ofItsKind: false)].map { $0 <= last } != false
        }
    }

    /// Forgets the least informative chains: first those superseded or older than a week, then a chain's further
    /// addresses. The rest is each chain that a place sees now, of which the places in turn keep their newest.
    ///
    /// Superseded chains are dropped first also because they would count as current again if their successor were gone.
    private mutating func trim() {
        guard self.chains.count > ObservationSummary.chainLimit else { return }
        let newest = self.chains.values.map(\.chain.lastSeen).max()
        var evidence: [(rank: Int, key: ObservationSummary.ChainKey)] = []
        var repetitions: [ObservationSummary.ChainKey] = []
        var past: [ObservationSummary.ChainKey] = []
        var known: Set<[String]> = []
        var ranks: [String: Int] = [:]
        let chains = self.chains.sorted {
            ($0.value.chain.lastSeen, $0.key.address) > ($1.value.chain.lastSeen, $1.key.address)
        }
        for (key, seen) in chains {
            let end = seen.chain.lastSeen.adding(seconds: EndpointFacts.recentSeconds)
            if !seen.chain.isCurrent || newest.map({ end <= $0 }) == true {
                past.append(key)
            } else if known.insert([key.vantage, Hex.encode(key.digest)]).inserted {
                evidence.append((ranks[key.vantage, default: 0], key))
                ranks[key.vantage, default: 0] += 1
            } else {
                repetitions.append(key)
            }
        }
        let kept = min(max(evidence.count, ObservationSummary.chainLimit), ObservationSummary.evidenceLimit)
        // Sorting keeps equal elements in their order.
        evidence.sort { $0.rank < $1.rank }
        for key in (evidence.map(\.key) + repetitions + past).dropFirst(kept) { self.chains[key] = nil }
    }
}
