import PinWire

/// The results that a document has for one name, and the rules by which a device gets one of them.
struct SampledName {
    /// True where every device gets ``off``: by a kill switch for all of them, or since the pins are past their time.
    var isOff = false
    /// The app versions for which a kill switch turns pinning off.
    var switches: Set<VersionGate> = []
    var baseline: Simulation.Lot
    /// Nil where no device gets a candidate.
    var candidate: (lot: Simulation.Lot, reach: CandidateReach)?

    static let off = Simulation.Lot(outcome: .off, arm: nil, pins: [])

    /// - Parameter index: That of the document's hosts.
    init(_ name: String, _ document: Document, _ index: HostIndex, at now: Timestamp) {
        let canonical = HostIndex.canonical(name)
        let host = canonical.flatMap(index.place(of:)).map { document.hosts[$0] }
        let wildcard = canonical.flatMap { name in name.firstIndex(of: ".").map { "*\(name[$0...])" } }
        var patterns: Set<String> = []
        if let host {
            patterns = [host.pattern.text]
            self.baseline = Simulation.Lot(host.baseline, .baseline)
            if let candidate = host.candidate {
                let reach = CandidateReach(gate: document.versionGate, rollouts: [document.rollout, host.rollout])
                if !reach.isEmpty { self.candidate = (Simulation.Lot(candidate, .candidate), reach) }
            }
        } else {
            patterns = Set([canonical, wildcard].compactMap(\.self))
            let isBuiltin =
                document.fallback.usesBuiltinPins && document.fallback.hosts.contains { patterns.contains($0.text) }
            self.baseline = isBuiltin ? Simulation.Lot(outcome: .builtin, arm: nil, pins: []) : Self.off
            if !isBuiltin { return }
        }
        for one in document.killSwitches where one.engagedAt <= now && now < one.expiresAt {
            switch one.scope {
            case "everything", "app": self.isOff = true
            case "host": if one.host.map({ patterns.contains($0.text) }) == true { self.isOff = true }
            case "app_versions": if let versions = one.versions, !versions.isOpen { self.switches.insert(versions) }
            default: break
            }
        }
        if let end = document.pinsValidUntil, end <= now { self.isOff = true }
    }

    /// True where some device gets the baseline: all get the candidate only where no rule keeps one out.
    private var hasBaseline: Bool {
        guard let reach = self.candidate?.reach else { return true }
        return reach.gate?.isOpen == false || reach.rollouts.contains { $0 != nil }
    }

    /// The results that devices may get that no switch turns off.
    private var lots: [Simulation.Lot] {
        (self.hasBaseline ? [self.baseline] : []) + (self.candidate.map { [$0.lot] } ?? [])
    }

    /// A result before a change and one after it that the same device may get, with the rules that say which devices do.
    private struct Transition {
        var from: Simulation.Lot
        var to: Simulation.Lot
        var gates: [VersionGate]
        var rollouts: [Rollout] = []
    }

    /// Every transition that some device may make, and none that the rules exclude.
    private func transitions(to after: SampledName) -> [Transition] {
        var transitions: [Transition] = []
        let switches = Array(self.switches.union(after.switches))
        func add(_ from: [Simulation.Lot], _ to: [Simulation.Lot], gates: [VersionGate], rollouts: [Rollout] = []) {
            for first in from {
                for second in to {
                    transitions.append(Transition(from: first, to: second, gates: gates, rollouts: rollouts))
                }
            }
        }
        if self.isOff || !self.switches.isSubset(of: after.switches), !after.isOff {
            add([Self.off], after.lots, gates: switches)
        }
        if after.isOff || !after.switches.isSubset(of: self.switches), !self.isOff {
            add(self.lots, [Self.off], gates: switches)
        }
        guard !self.isOff, !after.isOff else { return transitions }
        let reaches = [self.candidate?.reach, after.candidate?.reach].compactMap(\.self)
        let (gates, rollouts) = (reaches.compactMap(\.gate), reaches.flatMap { $0.rollouts.compactMap(\.self) })
        let was = self.candidate.map { [$0.lot] } ?? []
        let now = after.candidate.map { [$0.lot] } ?? []
        let (before, later) = (self.hasBaseline ? [self.baseline] : [], after.hasBaseline ? [after.baseline] : [])
        add(before, later, gates: gates, rollouts: rollouts)
        add(was, now, gates: gates, rollouts: rollouts)
        if let reach = self.candidate?.reach, after.candidate.map({ !reach.isWithin($0.reach) }) ?? true {
            add(was, later, gates: gates, rollouts: rollouts)
        }
        if let reach = after.candidate?.reach, self.candidate.map({ !reach.isWithin($0.reach) }) ?? true {
            add(before, now, gates: gates, rollouts: rollouts)
        }
        return transitions
    }

    /// The devices that may judge connections differently after the change, and of which no sampled device tells.
    ///
    /// - Parameters:
    ///   - moves: What the sampled devices get before and after.
    ///   - blindSpots: The attributes that no sampled device has.
    func unsampled(
        to after: SampledName, _ moves: [Simulation.Move], blindSpots: [Population.Trait]
    ) -> Set<Simulation.Unsampled> {
        let sampled = Set(moves.map { Simulation.Move(from: $0.from, to: $0.to, devices: 0) })
        var unsampled: Set<Simulation.Unsampled> = []
        for transition in self.transitions(to: after) {
            let move = Simulation.Move(from: transition.from, to: transition.to, devices: 0)
            guard !sampled.contains(move), !move.judgementChanges.isEmpty else { continue }
            var kinds: Set<Simulation.Unsampled> = []
            for gate in transition.gates {
                let isOfVersion = gate.minimum != nil || gate.maximum != nil || !gate.excluded.isEmpty
                if isOfVersion, blindSpots.contains(.appVersion) { kinds.insert(.appVersion) }
                if gate.minimumBuild != nil, blindSpots.contains(.build) { kinds.insert(.build) }
            }
            for rollout in transition.rollouts {
                if rollout.method == .geography, blindSpots.contains(.country) { kinds.insert(.country) }
                if !rollout.whitelist.isEmpty || !rollout.exclusions.isEmpty { kinds.insert(.listedID) }
            }
            unsampled.formUnion(kinds.isEmpty ? [.rare] : kinds)
        }
        return unsampled
    }
}

extension Simulation {
    /// Devices of which a sample has none.
    package enum Unsampled: String, Sendable, CaseIterable {
        /// Devices whose app version is known.
        case appVersion = "app_version"
        /// Devices whose build is known.
        case build
        /// Devices whose country is known.
        case country
        /// Devices with an id on a whitelist or exclusion list.
        case listedID = "listed_id"
        /// Devices of another kind that the population lacks, or that is too rare for the sample.
        case rare
    }
}

extension HostIndex {
    init(_ document: Document) {
        self.init(document.hosts.map { (pattern: $0.pattern, includesSubdomains: $0.includesSubdomains) })
    }
}

extension Simulation.Lot {
    /// The result that a policy is for a device; nil for the built-in pins.
    fileprivate init(_ policy: Document.Policy?, _ arm: PolicyArm) {
        let outcome: DeviceDecision.Outcome =
            switch policy?.mode {
            case .enforce: .enforce
            case .reportOnly: .reportOnly
            case .off: .off
            case nil: .builtin
            }
        self.init(outcome: outcome, arm: arm, pins: outcome == .off ? [] : (policy?.pins ?? []).map(\.pin).sorted())
    }
}
