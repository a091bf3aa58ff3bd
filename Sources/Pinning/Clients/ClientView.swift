package import PinWire

/// The view of a client that knows nothing of rollouts: for each host, the policy of a device of which only the
/// request's attributes are known. Every format of deployed clients is rendered from it.
///
/// Pure: a view of the same document, keys, sightings and instant is the same on every node.
package struct ClientView: Sendable {
    /// The native document: everything that holds for the app's clients at one position of the ledger.
    package let document: Document
    package let app: AppID
    package let displayName: String
    /// The instant for which kill switches and `pins_valid_until` are judged.
    package let now: Timestamp
    /// In the document's order.
    package let hosts: [Host]
    /// The keys that probes saw servers use as their own, by host.
    package let served: [HostPattern: Set<Pin>]
    /// The chains that probes saw servers present, by host, as far as more than the server's key is known.
    package let chains: [HostPattern: [ObservedChain]]
    /// What installs have built in, by kind and host, as far as it is known.
    let builtIn: [ClientKind: SortedMap<HostPattern, [BuiltInPins]>]
    /// The rotations that are under way, by host.
    let rotations: [HostPattern: Rotation]
    /// The facts about the app's keys.
    private let keys: SortedMap<Pin, KeyKnowledge>
    private let evaluator: Evaluator

    /// The policies of one host pattern.
    package struct Host: Sendable {
        package var pattern: HostPattern
        /// Whether the pattern also covers names any number of labels below its own.
        package var includesSubdomains: Bool
        package var outcome: DeviceDecision.Outcome
        /// The rule that decided the outcome.
        package var reason: DeviceDecision.Reason
        /// The pins of the policy that the device would get if neither a kill switch nor `pins_valid_until` had turned
        /// pinning off; none where that is the app's built-in ones. The served key first, then by role, then in byte
        /// order.
        package var pins: [ClientPin]
        /// The mode of that policy; nil where it is the app's built-in pins.
        package var mode: PinMode?
        /// The policy of devices inside the host's rollout, and the rule that chooses them; nil where there is none.
        package var candidate: [ClientPin]?
        package var rollout: Rollout?
    }

    /// The kill switches that are engaged at ``now`` and have not expired, in the document's order.
    package var killSwitchesInForce: [Document.KillSwitch] {
        self.document.killSwitches.filter { $0.engagedAt <= self.now && self.now < $0.expiresAt }
    }

    /// The digests of all keys and certificates that a rendering may have in it.
    package var digests: Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        for host in self.hosts {
            for pin in host.pins {
                digests.insert(pin.pin.bytes)
                digests.formUnion(pin.certificates.map(\.sha256))
            }
        }
        return digests
    }

    /// Whether all pinning of the app is off for every device: a kill switch for everything or for the app is in force,
    /// `pins_valid_until` has passed, or the app is archived.
    package var isEverythingOff: Bool {
        self.document.archivedAt != nil || self.isPastPins
            || self.killSwitchesInForce.contains { $0.scope == "everything" || $0.scope == "app" }
    }

    /// Whether the document's pins are past their time.
    package var isPastPins: Bool { self.document.pinsValidUntil.map { $0 <= self.now } ?? false }

    /// When time alone changes the view next; nil where it does not.
    package var changesAt: Timestamp? {
        var times: [Timestamp] = self.document.pinsValidUntil.map { [$0] } ?? []
        for killSwitch in self.document.killSwitches { times += [killSwitch.engagedAt, killSwitch.expiresAt] }
        return times.filter { self.now < $0 }.min()
    }

    /// - Parameters:
    ///   - document: The document of `app` at one position.
    ///   - app: The state at the same position, for facts that documents do not hold.
    ///   - served: The keys that probes saw servers use as their own, by host.
    ///   - chains: Whole chains that they saw; the keys of their first certificates count as served.
    ///   - device: The client's attributes in the request.
    package init(
        _ document: Document, of app: App, served: [HostPattern: Set<Pin>] = [:],
        chains: [HostPattern: [ObservedChain]] = [:], device: Device = Device(), at now: Timestamp
    ) {
        let served = served.merging(Self.ownKeys(of: chains)) { $0.union($1) }
        self.document = document
        self.app = app.id
        self.displayName = app.displayName
        self.now = now
        self.served = served
        self.chains = chains
        self.builtIn = app.clients.mapValues(\.builtIn)
        var rotations: [HostPattern: Rotation] = [:]
        for rotation in app.rotations where !rotation.phase.isOver {
            for pattern in rotation.hosts { rotations[pattern] = rotation }
        }
        self.rotations = rotations
        self.keys = app.keys
        // The policy if nothing were switched off.
        var unswitched = document
        unswitched.killSwitches = []
        unswitched.pinsValidUntil = nil
        let policies = Evaluator(unswitched).decideAll(for: device, at: now)
        self.evaluator = Evaluator(document)
        let decisions = self.evaluator.decideAll(for: device, at: now)
        self.hosts = zip(document.hosts, zip(decisions, policies)).map { host, decided in
            let ((pattern, decision), (_, unswitched)) = decided
            let policy = unswitched.arm == .candidate ? host.candidate ?? host.baseline : host.baseline
            let seen = served[pattern] ?? []
            func pins(_ policy: Document.Policy) -> [ClientPin] {
                let all = policy.pins.map {
                    ClientPin(
                        pin: $0.pin, role: $0.role, knowledge: app.keys[$0.pin], isServed: seen.contains($0.pin))
                }
                return all.filter(\.isServed) + all.filter { !$0.isServed }
            }
            return Host(
                pattern: pattern, includesSubdomains: host.includesSubdomains, outcome: decision.outcome,
                reason: decision.reason, pins: policy.map(pins) ?? [], mode: policy?.mode,
                candidate: host.candidate.map(pins), rollout: host.rollout)
        }
    }

    /// Whether a pin is known to be of an authority's key, by uploads or by what a host's servers present.
    func isAuthority(_ pin: Pin, at pattern: HostPattern) -> Bool {
        let known = ClientPin(pin: pin, role: .backup, knowledge: self.keys[pin], isServed: false)
        return known.isAuthority(at: pattern)
            || self.chains[pattern]?.contains { $0.pins.dropFirst().contains(pin) } == true
    }

    /// The servers' own keys of chains, by host.
    package static func ownKeys(of chains: [HostPattern: [ObservedChain]]) -> [HostPattern: Set<Pin>] {
        chains.mapValues { Set($0.compactMap(\.pins.first)) }
    }

    /// The host that covers a name: an exact pattern, else a wildcard one label above it, else the nearest pattern
    /// above it that includes subdomains; nil where none does.
    package func host(for name: String) -> Host? {
        guard let pattern = self.evaluator.decide(name, for: Device(), at: self.now).pattern else {
            return nil
        }
        return self.hosts.first { $0.pattern == pattern }
    }
}
