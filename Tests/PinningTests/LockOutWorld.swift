import PinWire
import Pinning
import SeededRandom

/// The part of the lock-out model that no ledger decides: servers and their keys, name resolution, probes, clients.
struct LockOutWorld {
    /// A machine behind a name. It presents one key at a time.
    struct Address {
        /// How a machine came by its key.
        enum Arrival { case built, switched, delivered, wentBack }

        let name: String
        var key: Pin
        var since: Timestamp
        var arrival = Arrival.built
        /// What a deployment that fails goes back to; nil where it cannot.
        var previous: Pin?
        /// When it presented its key before it was changed, of one that went back to it.
        var earlier: Range<Timestamp>?
        /// Until then no name leads to it, and nobody changes its key.
        var goneUntil: Timestamp?
        fileprivate var previousSince = noon

        init(name: String, key: Pin) {
            (self.name, self.key, self.since) = (name, key, noon)
        }

        /// Becomes like another.
        mutating func copy(_ model: Address) {
            (self.key, self.since, self.arrival) = (model.key, model.since, model.arrival)
            (self.previous, self.earlier, self.goneUntil) = (nil, model.earlier, nil)
        }

        /// Whether it presented its key at a time.
        func presented(at time: Timestamp) -> Bool { self.since <= time || self.earlier?.contains(time) == true }
    }

    /// What is behind one endpoint, and what probes have seen of it.
    struct Service {
        let host: HostPattern
        let endpoint: Endpoint
        var addresses: [Address]
        var chains: [ObservedChain] = []
        /// Whether the ledger names it. What it does not name is switched off.
        var isNamed: Bool
        /// Until then no scheduled probe is answered.
        var outageUntil = noon

        /// The places of the addresses to which its name leads.
        var reachable: [Int] { self.addresses.indices.filter { self.addresses[$0].goneUntil == nil } }

        /// Whether a probe saw the address present its key since it took it up, and after `time`.
        func hasSeen(_ address: Address, after time: Timestamp) -> Bool {
            self.chains.contains { chain in
                chain.address == address.name && chain.pins == [address.key] && chain.isCurrent
                    && address.since <= chain.lastSeen && time < chain.lastSeen
            }
        }

        /// Records what every address presents now, as the probes' tables do.
        mutating func probe(from vantage: String, at now: Timestamp) {
            for place in self.reachable {
                let address = self.addresses[place]
                var isNew = true
                for chain in self.chains.indices
                where self.chains[chain].address == address.name && self.chains[chain].vantage == vantage {
                    self.chains[chain].isCurrent = self.chains[chain].pins == [address.key]
                    guard self.chains[chain].isCurrent else { continue }
                    self.chains[chain].lastSeen = now
                    isNew = false
                }
                guard isNew else { continue }
                self.chains.append(
                    ObservedChain(
                        pins: [address.key], address: address.name, vantage: vantage, firstSeen: now, lastSeen: now,
                        isCurrent: true))
            }
            self.chains.removeAll { $0.lastSeen.adding(seconds: 30 * day) < now }
        }
    }

    /// A device: the document that it holds, and until when it takes it for fresh.
    struct Client {
        var version: Int64
        var freshUntil: Timestamp
        /// How rarely it asks before it has to.
        let laziness: Int
    }

    static let documentLifetime = day
    static let documentMaxAge: Int64 = 3600
    static let vantages = ["inside", "outside"]

    var generator: SeededGenerator
    var now = noon
    var services: [Service] = []
    var clients: [Client] = []
    /// Since when which document is the newest, in order.
    var published: [(since: Timestamp, version: Int64)] = []
    /// What has happened, by name.
    var counts: [String: Int] = [:]

    mutating func count(_ what: String) { self.counts[what, default: 0] += 1 }

    /// What decisions may know of all this. How many clients have what is known three times out of four.
    mutating func facts() -> ExternalFacts {
        var seen: [Endpoint: EndpointFacts] = [:]
        for service in self.services where !service.chains.isEmpty {
            let last = service.chains.map(\.lastSeen).max()
            seen[service.endpoint] = EndpointFacts(chains: service.chains, lastSuccess: last, lastAttempt: last)
        }
        let versions = self.generator.once(in: 4) ? nil : self.clients.map(\.version)
        let doubt = self.generator.pick([0, 0, 50, 400])
        return ExternalFacts(
            documentLifetime: Self.documentLifetime, documentMaxAge: Self.documentMaxAge,
            endpoint: { [seen] in seen[$0] },
            adoption: { _, version in
                versions.map { versions in
                    let share = versions.count { $0 >= version } * 10_000 / versions.count
                    return AdoptionShare(
                        basis: .installs, low: max(0, share - doubt), high: min(10_000, share + doubt),
                        sample: Int64(versions.count))
                }
            },
            claims: { _ in versions.map { AdoptionClaims(sightings: Int64($0.count)) } }
        )
    }

    // MARK: Time

    /// Some time passes: up to four hours, in which names, probes and clients do what they do.
    mutating func pass() {
        self.now = self.now.adding(seconds: Int64.random(in: 60...14_400, using: &self.generator))
        for place in self.services.indices where self.services[place].isNamed {
            self.resolve(place)
            self.observe(place)
        }
        self.fetch()
    }

    /// Machines drop out of a name and come back within a week, with the key that they had.
    private mutating func resolve(_ place: Int) {
        let reachable = self.services[place].reachable
        if reachable.count > 1, self.generator.once(in: 60) {
            let days = Int64.random(in: 1...6, using: &self.generator)
            self.services[place].addresses[self.generator.pick(reachable)].goneUntil = self.now.adding(
                seconds: days * day)
            self.count("gone")
        }
        guard self.services[place].outageUntil <= self.now else { return }
        for index in self.services[place].addresses.indices {
            guard let until = self.services[place].addresses[index].goneUntil, until <= self.now else { continue }
            var address = self.services[place].addresses[index]
            let isKnown = self.services[place].hasSeen(address, after: self.now.adding(seconds: -7 * day))
            if !isKnown {
                // A machine that was out of sight for a week is not let in again but rebuilt.
                address.copy(self.services[place].addresses[reachable[0]])
            }
            address.goneUntil = nil
            self.services[place].addresses[index] = address
            self.services[place].probe(from: Self.vantages[0], at: self.now)
            self.count(isKnown ? "came back" : "built anew")
        }
    }

    private mutating func observe(_ place: Int) {
        if self.generator.once(in: 150) {
            let days = Int64.random(in: 1...14, using: &self.generator)
            self.services[place].outageUntil = self.now.adding(seconds: days * day)
            self.count("outage")
        }
        guard self.services[place].outageUntil <= self.now else { return }
        for vantage in Self.vantages where !self.generator.once(in: 3) {
            self.services[place].probe(from: vantage, at: self.now)
        }
    }

    private mutating func fetch() {
        while self.published.count > 1,
            self.published[1].since <= self.now.adding(seconds: -Self.documentMaxAge)
        {
            self.published.removeFirst()
        }
        for index in self.clients.indices {
            // Once it is stale, a client asks before it connects; and some are silent for a while.
            let isStale = self.clients[index].freshUntil <= self.now
            guard self.generator.once(in: isStale ? 2 : self.clients[index].laziness) else { continue }
            // A cache in between may hold what was the newest a while ago.
            let asOf = self.now.adding(seconds: -Int64.random(in: 0...Self.documentMaxAge, using: &self.generator))
            let answer = self.published.last { $0.since <= asOf }?.version ?? self.published[0].version
            self.clients[index].version = max(self.clients[index].version, answer)
            self.clients[index].freshUntil = self.now.adding(seconds: Self.documentLifetime)
        }
    }

    /// An operator probes a host by hand.
    mutating func look(at host: HostPattern) {
        for place in self.services.indices where self.services[place].host == host && self.services[place].isNamed {
            self.services[place].probe(from: Self.vantages[0], at: self.now)
        }
    }

    // MARK: Keys

    /// A machine takes up another key.
    mutating func change(_ place: Int, _ index: Int, to key: Pin, _ arrival: Address.Arrival, canGoBack: Bool) {
        var address = self.services[place].addresses[index]
        // What was not seen yet is looked at before it goes; and so is what is tried a second time, so that it is known
        // when the second try began.
        let isTriedAgain = self.services[place].chains.contains { $0.address == address.name && $0.pins == [key] }
        if isTriedAgain || !self.services[place].hasSeen(address, after: noon.adding(seconds: -1)) {
            self.services[place].probe(from: Self.vantages[0], at: self.now)
        }
        address.earlier = arrival == .wentBack ? address.previousSince..<address.since : nil
        (address.previous, address.previousSince) = (canGoBack ? address.key : nil, address.since)
        (address.key, address.since, address.arrival) = (key, self.now, arrival)
        self.services[place].addresses[index] = address
        // A rotation knows what is about to be served; of any other change it takes a look to know.
        if arrival != .switched {
            // A moment later, so that what was seen before and after is seen in this order.
            self.now = self.now.adding(seconds: 1)
            self.services[place].probe(from: Self.vantages[0], at: self.now)
        }
        self.count("\(arrival)")
    }

    /// Switches services on and off as the ledger names them. A new one is a copy of one that was there.
    mutating func name(_ host: HostPattern, _ named: [Endpoint]) {
        let model = self.services.first { $0.host == host && $0.isNamed }.map { $0.addresses[$0.reachable[0]] }
        for place in self.services.indices where self.services[place].host == host {
            let isNamed = named.contains(self.services[place].endpoint)
            guard isNamed != self.services[place].isNamed else { continue }
            self.services[place].isNamed = isNamed
            guard isNamed, let model else { continue }
            for index in self.services[place].addresses.indices {
                self.services[place].addresses[index].copy(model)
            }
            for vantage in Self.vantages { self.services[place].probe(from: vantage, at: self.now) }
            self.count("named")
        }
    }
}
