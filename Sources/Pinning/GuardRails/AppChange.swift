import PinWire

/// One change of an app as the input of the guard rails: the state before and after, and the external facts.
final class AppChange: Sendable {
    let before: App?
    let after: App
    let events: [AppEvent]
    let context: DecisionContext
    /// The hosts that the change concerns, in order.
    let hosts: [HostPattern]
    /// The arms of every host that the change concerns and that still exists. Devices of a removed candidate get the
    /// baseline.
    let arms: [Arm]
    /// Whether the change takes something from clients that they relied on: such changes are rare, looked at twice and
    /// counted.
    let isRisky: Bool
    /// What it takes from protection.
    let weakening: Weakening
    /// The rotations of which the change begins another phase, as they were before.
    let advancedRotations: [Rotation]
    private let observedHosts: [HostPattern: ObservedHost]

    /// - Parameter context: With the fleet.
    init(before: App?, after: App, events: [AppEvent], context: DecisionContext) {
        self.before = before
        self.after = after
        self.events = events
        self.context = context
        var hosts: Set<HostPattern> = []
        for event in events { hosts.formUnion(event.hosts(in: before)) }
        self.hosts = hosts.sorted()
        self.weakening = Weakening(from: before, to: after, by: events, of: self.hosts)
        self.arms = self.hosts.flatMap { Self.arms(of: $0, before, after) }
        var observedHosts: [HostPattern: ObservedHost] = [:]
        for pattern in self.hosts { observedHosts[pattern] = Self.observed(of: pattern, before, after, context) }
        self.observedHosts = observedHosts
        self.isRisky = Self.isRisky(before, after, self.hosts, self.arms)
        self.advancedRotations = events.compactMap { event in
            guard case .rotationAdvanced(let id, _) = event else { return nil }
            return before?.rotation(id)
        }
    }

    var id: AppID { self.after.id }
    var now: Timestamp { self.context.now }
    var facts: ExternalFacts { self.context.facts }
    /// The fleet's part of the document's version.
    var versionOffset: Int64 { self.context.versionOffset }

    /// The events that record the findings: several where one would be too large for an entry of the log.
    static func record(of findings: [OverriddenFinding]) -> [AppEvent] {
        var events: [[OverriddenFinding]] = []
        var room = 0
        for finding in findings {
            let size = finding.detail.utf8.count + (finding.host?.text.utf8.count ?? 0) + 120
            if room < size {
                events.append([])
                room = Self.eventBytes
            }
            events[events.count - 1].append(finding)
            room -= size
        }
        return events.map { .guardRailsOverridden($0) }
    }

    /// The approximate limit of one event of overridden findings; an entry has at most 65535 bytes.
    private static let eventBytes = 32_768

    // MARK: What checks ask

    /// The policies of one kind of a host's devices before and after the change.
    struct Arm {
        var pattern: HostPattern
        var slot: PolicySlot
        /// Nil where these devices had no policy from here.
        var was: Policy?
        var now: Policy

        /// Published pins that are no longer published.
        var removed: [Pin] { self.was?.lost(to: self.now) ?? [] }

        var activePins: Set<Pin> { Set(self.now.activePins.map(\.pin)) }
        /// Whether another mode or other pins are published. Roles, which no client uses, do not count.
        var isChanged: Bool {
            guard let was else { return true }
            return was.mode != self.now.mode || was.activePins.map(\.pin) != self.now.activePins.map(\.pin)
        }
    }

    private static func arms(of pattern: HostPattern, _ before: App?, _ after: App) -> [Arm] {
        guard let host = after.hosts[pattern] else { return [] }
        let was = before?.hosts[pattern]
        var arms: [Arm] = []
        if let now = host[.baseline] {
            arms.append(Arm(pattern: pattern, slot: .baseline, was: was?[.baseline], now: now))
        }
        if let now = host.candidate ?? (was?.candidate == nil ? nil : host[.baseline]) {
            arms.append(Arm(pattern: pattern, slot: .candidate, was: was?.candidate ?? was?[.baseline], now: now))
        }
        return arms
    }

    /// The facts about the services of a host.
    struct ObservedHost {
        /// Endpoints that were never seen, or not within a day.
        var unseen: [Endpoint] = []
        /// Those of them that were seen once: they may present another chain since.
        var outdated: [Endpoint] = []
        /// All records.
        var seen: [Endpoint: [ObservedChain]] = [:]
        var live: [(endpoint: Endpoint, chain: ObservedChain)] = []
        var recent: [(endpoint: Endpoint, chain: ObservedChain)] = []

        /// Whether there are any facts to judge by.
        var isKnown: Bool { !self.live.isEmpty }
        /// Whether every service was seen.
        var isComplete: Bool { self.isKnown && self.unseen.isEmpty }

        /// Why not every service was seen, as a clause.
        func gap(of pattern: HostPattern) -> String {
            let names = self.unseen.map(\.description).joined(separator: ", ")
            return names.isEmpty ? "no endpoint of \(pattern) is set" : "no probe has seen \(names) within a day"
        }

        /// How to close the gap, as a sentence.
        func remedy(for pattern: HostPattern) -> String {
            guard let endpoint = self.unseen.first else {
                return
                    "Set the services of \(pattern) as the host's `endpoints`, so that they are probed."
            }
            return "Run `pinledger probe \(endpoint)`, and have a node probe regularly (--vantage)."
        }

        /// Since when an address has presented a key without another one in between, as far as probes looked. With a new
        /// certificate it is the same key.
        ///
        /// A new address that never presented another key counts like the service's others: those of a load balancer
        /// come and go.
        func steadySince(_ pin: Pin, _ endpoint: Endpoint, _ chain: ObservedChain) -> Timestamp {
            let others = self.earlier(endpoint, chain).filter { !$0.pins.contains(pin) }.map(\.lastSeen)
            let record =
                others.isEmpty
                ? (self.seen[endpoint] ?? []).filter { $0.vantage == chain.vantage } : self.onRecord(endpoint, chain)
            let first = record.filter { $0.pins.contains(pin) }.map(\.firstSeen).min()
            return others.reduce(first ?? chain.firstSeen, max)
        }

        /// The chain that the same place saw the same address present before the present one.
        func earlier(_ endpoint: Endpoint, _ chain: ObservedChain) -> [ObservedChain] {
            self.onRecord(endpoint, chain).filter { !$0.isCurrent }
        }

        private func onRecord(_ endpoint: Endpoint, _ chain: ObservedChain) -> [ObservedChain] {
            (self.seen[endpoint] ?? []).filter { $0.address == chain.address && $0.vantage == chain.vantage }
        }
    }

    /// A rotation as it was before the change; one that begins with it, as it is afterwards.
    func rotation(_ id: String) -> Rotation? { self.before?.rotation(id) ?? self.after.rotation(id) }

    func observed(of pattern: HostPattern) -> ObservedHost {
        self.observedHosts[pattern] ?? Self.observed(of: pattern, self.before, self.after, self.context)
    }

    /// The facts about a host, after a change and before it.
    static func observed(
        of pattern: HostPattern, _ before: App?, _ after: App, _ context: DecisionContext
    ) -> ObservedHost {
        var observed = ObservedHost()
        // The chain of a service that this same change leaves out is still known.
        var endpoints = after.hosts[pattern]?.probed(of: pattern) ?? []
        endpoints += (before?.hosts[pattern]?.probed(of: pattern) ?? []).filter { !endpoints.contains($0) }
        for endpoint in endpoints {
            guard let facts = context.facts.endpoint(endpoint) else {
                observed.unseen.append(endpoint)
                continue
            }
            let live = facts.live(at: context.now)
            if live.isEmpty {
                observed.unseen.append(endpoint)
                if !facts.chains.isEmpty { observed.outdated.append(endpoint) }
            }
            observed.seen[endpoint] = facts.chains
            observed.live += live.map { (endpoint, $0) }
            observed.recent += facts.recent(at: context.now).map { (endpoint, $0) }
        }
        return observed
    }

    /// The facts about a key: the uploaded ones, and the certificates in which probes of the host saw it within a week.
    /// Nil where only the pin is known.
    func knowledge(of pin: Pin, at pattern: HostPattern) -> KeyKnowledge? {
        var knowledge = self.after.keys[pin]
        for (_, chain) in self.observed(of: pattern).recent {
            for certificate in chain.certificates where certificate.key.pin == pin {
                if knowledge == nil {
                    knowledge = KeyKnowledge(.certificate(certificate))
                } else {
                    knowledge?.take(.certificate(certificate))
                }
            }
        }
        return knowledge
    }

    private static func isRisky(_ before: App?, _ after: App, _ hosts: [HostPattern], _ arms: [Arm]) -> Bool {
        let isNarrower = hosts.contains { pattern in
            guard let was = before?.hosts[pattern] else { return false }
            guard let now = after.hosts[pattern] else { return true }
            return was.includesSubdomains && !now.includesSubdomains
        }
        return isNarrower
            || arms.contains { arm in
                !arm.removed.isEmpty || (arm.was.map { arm.now.mode.strength < $0.mode.strength } ?? false)
            }
    }
}
