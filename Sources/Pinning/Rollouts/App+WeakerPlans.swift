import PinWire

// Plans that give devices a weaker candidate. A person lets each go on, who needs `protection.weaken`; no plan becomes one by itself.

/// The place of a rollout: a host's candidate, or with nil the whole app.
struct RolloutPlace: Hashable {
    var host: HostPattern?
}

extension Host {
    /// Whether devices that get the candidate instead of the baseline get less.
    var hasWeakerCandidate: Bool {
        guard let candidate else { return false }
        return candidate.mode.strength < self[.baseline]?.mode.strength ?? PinMode.enforce.strength
    }
}

extension App {
    /// True where a plan under way gives devices a candidate that is weaker than the baseline.
    var isGivingWeakerCandidates: Bool {
        self.hosts.contains { _, host in
            host.hasWeakerCandidate && [self.plan, host.plan].contains { $0?.isUnderWay == true }
        }
    }

    /// The pauses of plans under way whose candidate has become weaker than the baseline, in this state after `events`.
    ///
    /// When such a plan was set, its steps gave devices no less than they had: nobody has decided that they shall.
    func pauses(ofPlansSince before: App?, _ events: [AppEvent]) -> [AppEvent] {
        guard let before else { return [] }
        let decided = Set(events.compactMap(\.continuedPlan))
        var stopped: Set<RolloutPlace> = []
        var pauses: [AppEvent] = []
        for pattern in Set(events.flatMap { $0.hosts(in: before) }).sorted() {
            guard let now = self.hosts[pattern], now.hasWeakerCandidate, let was = before.hosts[pattern],
                was.candidate != nil, !was.hasWeakerCandidate
            else { continue }
            for place in [RolloutPlace(host: nil), RolloutPlace(host: pattern)] where !decided.contains(place) {
                guard let plan = self.plan(of: place.host), plan.isUnderWay, plan.pause == nil,
                    stopped.insert(place).inserted
                else { continue }
                pauses.append(
                    .rolloutPaused(
                        place.host, .blocked,
                        detail:
                            "The baseline of \(pattern) is stronger than its candidate now, which it was not when the plan was set: each further step would weaken the protection of devices. Resume the plan if that is intended, or drop the candidate."
                    ))
            }
        }
        return pauses
    }
}

extension AppEvent {
    /// The place of the plan that begins or goes on by the event; nil for an event of another kind.
    var continuedPlan: RolloutPlace? {
        switch self {
        case .rolloutPlanSet(let host, _), .rolloutStepTaken(let host, _, _), .rolloutStepApproved(let host, _),
            .rolloutResumed(let host):
            RolloutPlace(host: host)
        case .appRolloutSet, .hostRolloutSet, .appCreated, .appRenamed, .versionGateSet, .fallbackSet, .monitoringSet,
            .pinsValidUntilSet, .appArchived, .appUnarchived, .hostAdded, .hostSubdomainsSet, .hostRemoved, .modeSet,
            .endpointsSet, .candidateStarted, .candidatePromoted, .candidateDropped, .pinStaged, .pinActivated,
            .pinRoleSet, .pinRetired, .pinRevoked, .keyDescribed, .killSwitchEngaged, .killSwitchReleased,
            .versionKillSwitchEngaged, .versionKillSwitchReleased, .guardRailSet, .guardRailsOverridden,
            .changeReverted, .rotationStarted, .rotationAdvanced, .rotationAborted, .rolloutPlanCleared,
            .rolloutSampleReached, .rolloutStepExtended, .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused,
            .rolloutRolledBack, .telemetryReacted, .clientSet, .clientRemoved, .clientKeySet, .builtInPinsNoted:
            nil
        }
    }
}
