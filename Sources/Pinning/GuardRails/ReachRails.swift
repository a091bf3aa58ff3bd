import PinWire

/// G09 where an unchanged policy starts to be enforced, by more devices or for more names: a kill switch ends,
/// `pins_valid_until` had passed and is moved on, a rollout or a version gate lets more devices in, subdomains are
/// included. ``LiveRails`` judges policies that the change itself edits.
enum ReachRails {
    /// Why an unchanged policy starts to be enforced.
    private enum Cause {
        case killSwitch
        case pinsValidUntil
        case rollout
        case subdomains

        /// The event, as a clause with devices as its subject.
        var consequence: String {
            switch self {
            case .killSwitch: "without the kill switch its devices would refuse the server"
            case .pinsValidUntil:
                "its devices, which do not enforce since `pins_valid_until`, would refuse the server again"
            case .rollout: "the devices that move to it would refuse the server"
            case .subdomains: "devices would refuse the server, because the host now covers its name"
            }
        }
    }

    /// Policies of one host whose reach grows.
    private struct Growth {
        var pattern: HostPattern
        var slots: [PolicySlot]
        var cause: Cause
        /// The remedy where the pin cannot be published: another kill switch, or nothing.
        var canBeHeld = false
        /// Whether it begins only later, so that there is time to repair it.
        var isAhead = false
        /// Whether the change calls a rollout off, which nothing may hold up.
        var isRetreat = false
    }

    static func findings(of change: AppChange) -> [Finding] {
        // Where clients have stopped enforcing on their own, nothing reaches them.
        if let end = change.after.pinsValidUntil, end <= change.now { return [] }
        return Self.unmatched(change) + change.hosts.flatMap { Self.wider($0, change) }
    }

    private static func unmatched(_ change: AppChange) -> [Finding] {
        let changed = Set(
            change.arms.filter { $0.isChanged && $0.now.mode != .off }.map { [$0.pattern.text, $0.slot.rawValue] })
        var findings: [Finding] = []
        var unseen: [HostPattern] = []
        for growth in Self.growth(of: change) {
            let pattern = growth.pattern
            guard let host = change.after.hosts[pattern], host.enforces, !Self.isHeldBack(pattern, change) else {
                continue
            }
            let observed = change.observed(of: pattern)
            if growth.cause != .subdomains, !observed.isComplete { unseen.append(pattern) }
            for slot in growth.slots {
                guard let policy = host[slot], policy.mode == .enforce,
                    !changed.contains([pattern.text, slot.rawValue])
                else { continue }
                let pins = Set(policy.activePins.map(\.pin))
                let live = observed.live.filter { growth.cause != .subdomains || $0.endpoint.isBelow(pattern) }
                guard let miss = live.first(where: { pins.isDisjoint(with: $0.chain.pins) }) else { continue }
                // Devices that come from a policy that locks them out as well are not worse off.
                let isNoWorse = growth.cause == .rollout && Self.locksOut(host[slot.other], observed)
                findings.append(
                    Finding(
                        .liveChainUnmatched,
                        isNoWorse || growth.isRetreat ? .warn : growth.isAhead ? .override : .block, host: pattern,
                        policy: slot,
                        "\(LiveRails.place(of: miss)), and the \(slot.rawValue) of \(pattern) has no pin that matches it: \(growth.cause.consequence).",
                        remedy: growth.canBeHeld
                            ? "Redeploy the right certificate at \(miss.endpoint) first, one whose key is pinned, or engage a kill switch for \(pattern) alone before you end this one."
                            : WrongKey.remedy(miss.endpoint, miss.chain, of: pattern, in: change.id)
                    )
                )
            }
        }
        guard let first = unseen.first else { return findings }
        let others = unseen.count > 1 ? " and of \(unseen.count - 1) more hosts" : ""
        findings.append(
            .unknown(
                .liveChainUnmatched, host: first,
                "Whether the key that is served is pinned is not known of \(first)\(others): \(change.observed(of: first).gap(of: first)).",
                remedy: change.observed(of: first).remedy(for: first)
            )
        )
        return findings
    }

    /// Whether devices with this policy refuse a service of the host already.
    private static func locksOut(_ policy: Policy?, _ observed: AppChange.ObservedHost) -> Bool {
        guard let policy, policy.mode == .enforce else { return false }
        let pins = Set(policy.activePins.map(\.pin))
        return observed.live.contains { pins.isDisjoint(with: $0.chain.pins) }
    }

    /// The policies whose reach the change extends; each host and cause once, in order.
    private static func growth(of change: AppChange) -> [Growth] {
        let all = PolicySlot.allCases
        var growths: [Growth] = []
        func everywhere(_ cause: Cause, canBeHeld: Bool = false, isAhead: Bool = false) {
            growths += change.after.hosts.keys.map {
                Growth(pattern: $0, slots: all, cause: cause, canBeHeld: canBeHeld, isAhead: isAhead)
            }
        }
        // Rollouts and gates divide the devices between candidate and baseline: a device that leaves one gets the
        // other.
        func parted<Limit: Reach>(
            _ limit: Limit?, from was: Limit?, _ patterns: some Sequence<HostPattern>, isAhead: Bool = false,
            isRetreat: Bool = false
        ) {
            let isMore = was?.isExceeded(by: limit) ?? false
            let isLess = limit?.isExceeded(by: was) ?? false
            let slots: [PolicySlot] = (isLess ? [.baseline] : []) + (isMore ? [.candidate] : [])
            for pattern in patterns where !slots.isEmpty && change.after.hosts[pattern]?.candidate != nil {
                growths.append(
                    Growth(
                        pattern: pattern, slots: slots, cause: .rollout, isAhead: isAhead, isRetreat: isRetreat))
            }
        }
        /// The hosts of a place: one, or all of the app.
        func hosts(of pattern: HostPattern?) -> [HostPattern] {
            pattern.map { [$0] } ?? Array(change.after.hosts.keys)
        }
        for event in change.events {
            switch event {
            case .killSwitchReleased(let pattern), .killSwitchEngaged(let pattern, _):
                guard Self.isEnded(event, change) else { continue }
                let isAhead = if case .killSwitchEngaged = event { true } else { false }
                if let pattern {
                    growths.append(Growth(pattern: pattern, slots: all, cause: .killSwitch, isAhead: isAhead))
                } else {
                    everywhere(.killSwitch, canBeHeld: true, isAhead: isAhead)
                }
            case .versionKillSwitchReleased(let versions), .versionKillSwitchEngaged(let versions, _):
                guard Self.isEnded(event, change), !Self.isHeldBack(versions, change) else { continue }
                let isAhead = if case .versionKillSwitchEngaged = event { true } else { false }
                everywhere(.killSwitch, canBeHeld: true, isAhead: isAhead)
            case .pinsValidUntilSet:
                if let was = change.before?.pinsValidUntil, was <= change.now { everywhere(.pinsValidUntil) }
            case .appRolloutSet(let rollout):
                parted(rollout, from: change.before?.rollout, change.after.hosts.keys)
            case .versionGateSet(let gate):
                parted(gate, from: change.before?.versionGate, change.after.hosts.keys)
            case .hostRolloutSet(let pattern, let rollout):
                parted(rollout, from: change.before?.hosts[pattern]?.rollout, [pattern])
            case .rolloutStepTaken(let pattern, _, _):
                parted(change.after.rollout(of: pattern), from: change.before?.rollout(of: pattern), hosts(of: pattern))
            case .rolloutRolledBack(let pattern, _, _):
                parted(
                    change.after.rollout(of: pattern), from: change.before?.rollout(of: pattern), hosts(of: pattern),
                    isRetreat: change.context.actor != .system)
            case .rolloutPlanSet(let pattern, let terms) where terms.startsAt != nil:
                // A later beginning is judged by the present facts, while there is time to repair it.
                var first = change.after.rollout(of: pattern)
                first?.basisPoints = terms.steps.first?.basisPoints ?? 0
                parted(first, from: change.after.rollout(of: pattern), hosts(of: pattern), isAhead: true)
            case .hostSubdomainsSet(let pattern, includesSubdomains: true):
                growths.append(Growth(pattern: pattern, slots: all, cause: .subdomains))
            default: continue
            }
        }
        var named: Set<HostPattern> = []
        return growths.filter { $0.cause == .subdomains || $0.cause == .rollout || named.insert($0.pattern).inserted }
    }

    /// Whether the event ends a kill switch that was in force, now or before its time: engaged again for a shorter
    /// time, it is as good as released.
    private static func isEnded(_ event: AppEvent, _ change: AppChange) -> Bool {
        func inForce(_ was: KillSwitch?) -> KillSwitch? {
            // A switch that has expired holds nothing back any more.
            was.flatMap { $0.isInForce(at: change.now) ? $0 : nil }
        }
        func was(_ pattern: HostPattern?) -> KillSwitch? {
            inForce(pattern.map { change.before?.hosts[$0]?.killSwitch } ?? change.before?.killSwitch)
        }
        func was(_ versions: VersionRange) -> KillSwitch? { inForce(change.before?.killSwitch(for: versions)) }
        switch event {
        case .killSwitchReleased(let pattern): return was(pattern) != nil
        case .killSwitchEngaged(let pattern, let end): return was(pattern).map { end < $0.expiresAt } ?? false
        case .versionKillSwitchReleased(let versions): return was(versions) != nil
        case .versionKillSwitchEngaged(let versions, let end):
            return was(versions).map { end < $0.expiresAt } ?? false
        default: return false
        }
    }

    /// Whether a kill switch that the change does not end keeps a host's devices from enforcing.
    private static func isHeldBack(_ pattern: HostPattern, _ change: AppChange) -> Bool {
        func isEnded(_ ended: HostPattern?) -> Bool {
            change.events.contains { event in
                switch event {
                case .killSwitchReleased(ended), .killSwitchEngaged(ended, _): Self.isEnded(event, change)
                default: false
                }
            }
        }
        if change.after.killSwitch?.isInForce(at: change.now) == true, !isEnded(nil) { return true }
        return change.after.hosts[pattern]?.killSwitch?.isInForce(at: change.now) == true && !isEnded(pattern)
    }

    /// Whether another kill switch for versions than those that the change ends covers all of these.
    private static func isHeldBack(_ versions: VersionRange, _ change: AppChange) -> Bool {
        change.after.versionKillSwitches.contains { other in
            other.versions != versions && other.killSwitch.isInForce(at: change.now)
                && !other.versions.gate.isExceeded(by: versions.gate)
                && !change.events.contains { event in
                    switch event {
                    case .versionKillSwitchReleased(other.versions), .versionKillSwitchEngaged(other.versions, _):
                        Self.isEnded(event, change)
                    default: false
                    }
                }
        }
    }

    /// The names below a host, which are not probed unless they are listed.
    private static func wider(_ pattern: HostPattern, _ change: AppChange) -> [Finding] {
        guard let host = change.after.hosts[pattern], host.includesSubdomains, host.enforces,
            change.before?.hosts[pattern].map({ $0.includesSubdomains && $0.enforces }) != true,
            !host.probed(of: pattern).contains(where: { $0.isBelow(pattern) })
        else { return [] }
        return [
            .unknown(
                .liveChainUnmatched, host: pattern,
                "Whether the names below \(pattern) present a pinned key is not known: none of them is probed.",
                remedy: "Name them in the host's `endpoints`, or give names with keys of their own a host of their own."
            )
        ]
    }
}

extension Endpoint {
    /// Whether its name lies below the host's.
    fileprivate func isBelow(_ pattern: HostPattern) -> Bool { self.host.name.hasSuffix(".\(pattern.name)") }
}

extension PolicySlot {
    /// The policy of the devices that do not get this one.
    fileprivate var other: PolicySlot { self == .baseline ? .candidate : .baseline }
}

/// The rules that decide which devices a candidate reaches.
private protocol Reach {
    /// Whether another one, or none, may let in a device that this one does not.
    func isExceeded(by other: Self?) -> Bool
}

extension Rollout: Reach {
    fileprivate func isExceeded(by other: Rollout?) -> Bool {
        guard let other else { return true }
        if other.basisPoints == 0, other.whitelist.isEmpty { return false }
        // Every change of one that is not sticky draws again.
        guard self.isSticky else { return true }
        var same = other
        same.basisPoints = self.basisPoints
        same.exclusions = self.exclusions
        same.whitelist = self.whitelist
        same.countries = self.countries
        return same != self || self.basisPoints < other.basisPoints
            || !Set(self.exclusions).isSubset(of: other.exclusions)
            || !Set(other.whitelist).isSubset(of: self.whitelist)
            || !Set(other.countries).isSubset(of: self.countries)
    }
}

extension VersionGate: Reach {
    fileprivate func isExceeded(by other: VersionGate?) -> Bool {
        guard let other else { return !self.isOpen }
        func isLoosened<T: Comparable>(_ bound: T?, _ now: T?, _ isTighter: (T, T) -> Bool) -> Bool {
            guard let bound else { return false }
            return now.map { !isTighter($0, bound) } ?? true
        }
        return isLoosened(self.minimum, other.minimum, >=) || isLoosened(self.maximum, other.maximum, <=)
            || isLoosened(self.minimumBuild, other.minimumBuild, >=)
            || self.excluded.contains { version in
                !other.excluded.contains(version) && other.minimum.map { $0 <= version } ?? true
                    && other.maximum.map { version <= $0 } ?? true
            }
    }
}
