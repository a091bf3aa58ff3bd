import PinWire

/// The rails that compare published pins with the chains that servers present: G02, G07, G08, G09, G24, G42.
///
/// Three of them divide one question, so that each can be tested alone: G07 asks whether a service still presents a pin
/// that goes, or is about to by a rotation, G08 whether a retired or revoked pin was the last that matched, and G09
/// whether the published pins match nothing for any other reason. A service that was seen once and has not been for a
/// day holds up the removal of a pin (G07) and the beginning of enforcement (G09).
///
/// `LockOutTests` plays 10,000 random changes against them, G10 and G11, and again without each of them.
enum LiveRails {
    static func findings(of change: AppChange) -> [Finding] {
        var findings: [Finding] = []
        var arms: [HostPattern: [AppChange.Arm]] = [:]
        for arm in change.arms where arm.now.mode != .off && arm.isChanged {
            arms[arm.pattern, default: []].append(arm)
        }
        for pattern in change.hosts {
            guard let arms = arms[pattern] else { continue }
            let observed = change.observed(of: pattern)
            for arm in arms {
                findings += Self.served(arm, observed, change)
                findings += Self.announced(arm, observed, change)
                findings += Self.unmatched(arm, observed, change)
                findings += Self.absent(arm, observed, change)
                findings += Self.reserve(arm, observed)
            }
            findings += Self.sightings(pattern, arms, observed, change)
        }
        return findings + Self.unnamed(change)
    }

    /// G07.
    private static func served(
        _ arm: AppChange.Arm, _ observed: AppChange.ObservedHost, _ change: AppChange
    ) -> [Finding] {
        // No client used the pins of a policy that was off.
        guard let was = arm.was, was.mode != .off else { return [] }
        return arm.removed.compactMap { pin in
            // An address that has been seen with another key since no longer presents this one. One that has not been
            // seen since may come back with it, and counts for a week.
            let seen = observed.recent.filter { $0.chain.isCurrent && $0.chain.pins.contains(pin) }
            guard let last = seen.max(by: { $0.chain.lastSeen < $1.chain.lastSeen }) else { return nil }
            let now = change.now < last.chain.lastSeen.adding(seconds: EndpointFacts.freshSeconds)
            return Finding(
                .stillServed, arm.now.mode == .enforce ? .override : .warn, host: arm.pattern, policy: arm.slot,
                pin: pin,
                "\(last.endpoint) \(now ? "presents" : "presented") a key with this pin, last at \(last.chain.lastSeen) from \(last.chain.address): clients that connect there would have one matching pin less.",
                remedy:
                    "Replace the server's key first, and wait until no address has presented the old one for a week."
            )
        }
    }

    /// G07 in advance: a rotation has asked the operator to present its next key, and it is not known yet whether that
    /// happened.
    private static func announced(
        _ arm: AppChange.Arm, _ observed: AppChange.ObservedHost, _ change: AppChange
    ) -> [Finding] {
        let before = change.before?.openRotation(of: arm.pattern)
        let rotation =
            change.after.openRotation(of: arm.pattern) ?? before ?? Self.brokenOff(arm.pattern, observed, change)
        guard let rotation, rotation.isSwitching, !arm.activePins.contains(rotation.next) else { return [] }
        let had = arm.was?.pins[rotation.next]?.state == .active
        let wasWithout = arm.was?.mode == .enforce && !had && before.map(\.isSwitching) == true
        guard had || (arm.now.mode == .enforce && !wasWithout),
            // What probes saw is reported already.
            !had || !observed.recent.contains(where: { $0.chain.isCurrent && $0.chain.pins.contains(rotation.next) })
        else { return [] }
        return [
            Finding(
                .stillServed, arm.now.mode == .enforce ? .override : .warn, host: arm.pattern, policy: arm.slot,
                pin: rotation.next,
                "The rotation \(rotation.id) \(rotation.abortedIn.map { "was aborted in its phase \($0.rawValue)" } ?? "is in its phase \(rotation.phase.rawValue)"), so servers of \(arm.pattern) may already present this key: clients without its pin would refuse them.",
                remedy: "Keep the pin until the rotation is over, or make sure that no server presents the key."
            )
        ]
    }

    /// A rotation of the host that was aborted when servers might present its next key already, while not every service
    /// was seen since; for a week.
    private static func brokenOff(
        _ pattern: HostPattern, _ observed: AppChange.ObservedHost, _ change: AppChange
    ) -> Rotation? {
        change.before?.rotations.last { rotation in
            guard rotation.isSwitching, rotation.abortedIn != nil, rotation.hosts.contains(pattern),
                change.now < rotation.phaseSince.adding(seconds: EndpointFacts.recentSeconds)
            else { return false }
            return !observed.isComplete || observed.live.contains { $0.chain.lastSeen <= rotation.phaseSince }
        }
    }

    /// G07 for a service that is no longer probed: pins that only it presents could be removed unnoticed.
    private static func unnamed(_ change: AppChange) -> [Finding] {
        change.events.flatMap { event -> [Finding] in
            guard case .endpointsSet(let pattern, _) = event, let was = change.before?.hosts[pattern],
                let now = change.after.hosts[pattern], was.enforces || now.enforces
            else { return [] }
            let kept = Set(now.probed(of: pattern))
            return was.probed(of: pattern).filter { !kept.contains($0) }.compactMap { endpoint in
                guard let seen = change.facts.endpoint(endpoint)?.live(at: change.now).map(\.lastSeen).max() else {
                    return nil
                }
                return Finding(
                    .stillServed, .override, host: pattern,
                    "\(endpoint) answered at \(seen) and would no longer be probed: a key that only it presents could lose its pin unnoticed, and clients would refuse that endpoint.",
                    remedy: "Keep the endpoint while clients use it; remove it a day after it has stopped answering."
                )
            }
        }
    }

    /// G08, G09, and G42 where a candidate is concerned: of each at most the most severe, for the first service
    /// concerned.
    private static func unmatched(
        _ arm: AppChange.Arm, _ observed: AppChange.ObservedHost, _ change: AppChange
    ) -> [Finding] {
        let pins = arm.activePins
        let before = Set(arm.was?.activePins.map(\.pin) ?? [])
        let withdrawn = change.withdrawn(from: arm)
        var gravest: [GuardRail: Finding] = [:]
        for miss in observed.live where pins.isDisjoint(with: miss.chain.pins) {
            let finding = Self.finding(of: miss, arm, before, withdrawn, change)
            if let other = gravest[finding.rail], finding.severity <= other.severity { continue }
            gravest[finding.rail] = finding
        }
        return gravest.values.sorted { $0.rail < $1.rail }
    }

    /// The finding about a service that presents none of an arm's pins.
    private static func finding(
        of miss: (endpoint: Endpoint, chain: ObservedChain), _ arm: AppChange.Arm, _ before: Set<Pin>,
        _ withdrawn: Set<Pin>,
        _ change: AppChange
    ) -> Finding {
        let matched = arm.was.map { $0.mode != .off } == true && !before.isDisjoint(with: miss.chain.pins)
        let place = Self.place(of: miss)
        if matched, !withdrawn.isDisjoint(with: miss.chain.pins) {
            return Finding(
                .lastLivePin, arm.now.mode == .enforce ? .block : .warn, host: arm.pattern, policy: arm.slot,
                "\(place), and this removes the last pin that matches it: \(arm.now.mode == .enforce ? "clients would refuse the server" : "clients would report every connection").",
                remedy:
                    "Keep that pin active while \(miss.endpoint) presents its key; check with `pinledger probe \(miss.endpoint)`."
            )
        }
        // An existing lock-out is not made worse, and the change may be about to end it.
        let wasLockedOut = arm.was?.mode == .enforce && !matched
        let isCandidate = arm.slot == .candidate && change.after.hosts[arm.pattern]?.candidate != nil
        return Finding(
            isCandidate ? .armWithoutServedKey : .liveChainUnmatched,
            arm.now.mode == .enforce && !wasLockedOut ? .block : .warn, host: arm.pattern, policy: arm.slot,
            "\(place), but the \(arm.slot.rawValue) has no matching pin: \(arm.now.mode == .enforce ? "its devices would refuse the server" : "its devices would report every connection").",
            remedy: WrongKey.remedy(miss.endpoint, miss.chain, of: arm.pattern, in: change.id)
        )
    }

    static func place(of miss: (endpoint: Endpoint, chain: ObservedChain)) -> String {
        let key = miss.chain.pins.first.map { "\($0)" } ?? "no key"
        return "\(miss.endpoint) presents \(key) (\(miss.chain.address), \(miss.chain.lastSeen))"
    }

    /// G09 where enforcing begins: an address that did not answer today may still come back with the key that it had.
    private static func absent(
        _ arm: AppChange.Arm, _ observed: AppChange.ObservedHost, _ change: AppChange
    ) -> [Finding] {
        guard arm.now.mode == .enforce, arm.was?.mode != .enforce else { return [] }
        let pins = arm.activePins
        var named: Set<[Pin]> = []
        return observed.recent.compactMap { endpoint, chain in
            guard chain.isCurrent, chain.lastSeen.adding(seconds: EndpointFacts.freshSeconds) <= change.now,
                pins.isDisjoint(with: chain.pins), named.insert(chain.pins).inserted
            else { return nil }
            return Finding(
                .liveChainUnmatched, .override, host: arm.pattern, policy: arm.slot, pin: chain.pins.first,
                "\(endpoint) at \(chain.address) presented \(chain.pins.first.map { "\($0)" } ?? "no key") when it was last seen, at \(chain.lastSeen), and the \(arm.slot.rawValue) has no matching pin: if that address returns, devices would refuse it.",
                remedy:
                    "Make sure that the address does not return with that key: after a week it no longer counts. Only if the key is yours and is to stay, publish its pin too."
            )
        }
    }

    /// G02 as far as probes show.
    private static func reserve(_ arm: AppChange.Arm, _ observed: AppChange.ObservedHost)
        -> [Finding]
    {
        guard arm.now.mode == .enforce, observed.isKnown, !arm.activePins.isEmpty else { return [] }
        let presented = Set(observed.live.flatMap(\.chain.pins))
        guard arm.activePins.isSubset(of: presented) else { return [] }
        return [
            Finding(
                .backupNotServed, host: arm.pattern, policy: arm.slot,
                "Every pin of the \(arm.slot.rawValue) of \(arm.pattern) is in a chain that is served now: no pin is in reserve.",
                remedy: "Add the pin of an unused key that another certificate can be issued for."
            )
        ]
    }

    /// G24, and the gaps of G02 and G07 to G09.
    private static func sightings(
        _ pattern: HostPattern, _ arms: [AppChange.Arm], _ observed: AppChange.ObservedHost,
        _ change: AppChange
    ) -> [Finding] {
        var findings: [Finding] = []
        let withdraws = arms.contains { !$0.removed.isEmpty && $0.was?.mode != .off }
        let begins = arms.contains { $0.now.mode == .enforce && $0.was?.mode != .enforce }
        if withdraws || begins, !observed.outdated.isEmpty {
            // Where probes used to look, the end of probing is no evidence that all is well.
            let names = observed.outdated.map(\.description).joined(separator: ", ")
            findings.append(
                .unknown(
                    withdraws ? .stillServed : .liveChainUnmatched, .override, host: pattern,
                    "Which key \(names) presents is unknown: probes have seen it before, but not within a day.",
                    remedy:
                        "Run `pinledger probe \(observed.outdated[0])`, or force the change if you have checked it yourself."
                )
            )
        } else if !observed.isComplete, withdraws || arms.contains(where: { $0.now.mode == .enforce }) {
            let asked =
                withdraws
                ? "Whether a removed key is still presented (G07), and whether the remaining pins match (G02, G08, G09),"
                : "Whether the pins match what is presented, and one is in reserve (G02, G09),"
            findings.append(
                .unknown(
                    withdraws ? .stillServed : .liveChainUnmatched, host: pattern,
                    "\(asked) is unknown for \(pattern): \(observed.gap(of: pattern)).",
                    remedy: observed.remedy(for: pattern)
                )
            )
        }
        let places = Set(observed.live.map(\.chain.vantage)).subtracting(["unnamed"])
        guard change.isRisky, observed.isKnown, places.count < 2 else { return findings }
        findings.append(
            Finding(
                .vantagePoints, host: pattern,
                "Only the vantage point \(places.first ?? "of one node") has probed \(pattern); other networks may see another key.",
                remedy: "Have a second node probe from another network (--vantage)."
            )
        )
        return findings
    }
}

extension AppChange {
    /// The pins that the change retires or revokes in an arm.
    fileprivate func withdrawn(from arm: Arm) -> Set<Pin> {
        Set(
            self.events.compactMap { event in
                switch event {
                case .pinRetired(arm.pattern, arm.slot, let pin), .pinRevoked(arm.pattern, arm.slot, let pin): pin
                default: nil
                }
            }
        )
    }
}
