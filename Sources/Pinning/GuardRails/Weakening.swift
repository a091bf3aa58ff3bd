import PinWire

/// What a change of an app takes from protection: what uses `protection.weaken`.
struct Weakening: Hashable, Sendable {
    /// The hosts for which clients accept certificates afterwards, or will as a rollout goes on, that they refused before.
    ///
    /// A mode is weaker, pins that are built in are replaced by a weaker mode, the host or its subdomains are protected no longer, a
    /// more specific host is added with a weaker mode, or a candidate with a weaker mode goes to more devices. To drop a candidate, or
    /// to roll it back, takes devices to what holds for the others, and is none of it.
    private(set) var hosts: [HostPattern] = []
    /// Whether clients stop enforcing pins of all hosts sooner, or fall back to fewer built-in ones.
    private(set) var isOfApp = false

    /// Linear in the size of the change and of the app.
    ///
    /// - Parameter touched: The hosts that the events name.
    init(from before: App?, to after: App, by events: [AppEvent], of touched: [HostPattern]) {
        guard let before else { return }
        var weakened: Set<HostPattern> = []
        var covering: Covering?
        for pattern in touched {
            guard let now = after.hosts[pattern] else {
                if before.hosts[pattern].map({ $0.strength > 0 || ($0.candidateStrength ?? 0) > 0 }) ?? false {
                    weakened.insert(pattern)
                }
                continue
            }
            let known = before.hosts[pattern]
            if known == nil, covering == nil { covering = Covering(before) }
            guard let was = known ?? covering?.host(of: pattern) else { continue }
            let isNarrower = known != nil && was.includesSubdomains && !now.includesSubdomains
            let candidate = now.candidateStrength ?? .max
            if isNarrower || now.strength < was.strength || candidate < was.candidateStrength ?? was.strength {
                weakened.insert(pattern)
            }
        }
        for spread in events.compactMap(\.spread) {
            for (pattern, host) in after.hosts where spread.concerns(pattern) {
                if let candidate = host.candidateStrength, candidate < host.strength { weakened.insert(pattern) }
            }
        }
        self.hosts = weakened.sorted()
        let isSooner = after.pinsValidUntil.map { end in before.pinsValidUntil.map { end < $0 } ?? true } ?? false
        let (was, now) = (before.fallback, after.fallback)
        let isNarrower =
            was != now && was.usesBuiltinPins && (!now.usesBuiltinPins || !Set(was.hosts).isSubset(of: now.hosts))
        self.isOfApp = isSooner || isNarrower
    }

    /// The hosts of an app by the names that they hold for.
    private struct Covering {
        private let hosts: [Host]
        private let index: HostIndex

        init(_ app: App) {
            self.hosts = app.hosts.map(\.value)
            self.index = HostIndex(app.hosts.map { ($0.key, $0.value.includesSubdomains) })
        }

        /// The host that holds for the names of a pattern; nil for none.
        func host(of pattern: HostPattern) -> Host? {
            // A wildcard stands for each name below; one is as good as another.
            let name = pattern.isWildcard ? "any.\(pattern.name)" : pattern.name
            return self.index.place(of: name).map { self.hosts[$0] }
        }
    }
}

extension Host {
    /// How much the baseline refuses; pins that are built into the app are enforced.
    fileprivate var strength: Int {
        switch self.baseline {
        case .builtin: PinMode.enforce.strength
        case .policy(let policy): policy.mode.strength
        }
    }

    fileprivate var candidateStrength: Int? { self.candidate?.mode.strength }
}

extension AppEvent {
    /// The rollouts whose candidates go to more devices by it, or may; nil for an event of another kind.
    fileprivate var spread: Spread? {
        switch self {
        case .appRolloutSet: .ofAllHosts
        case .hostRolloutSet(let host, _): .ofHost(host)
        case .rolloutPlanSet(let host, _), .rolloutStepTaken(let host, _, _), .rolloutStepApproved(let host, _),
            .rolloutResumed(let host):
            host.map { .ofHost($0) } ?? .ofAllHosts
        case .appCreated, .appRenamed, .versionGateSet, .fallbackSet, .monitoringSet, .pinsValidUntilSet, .appArchived,
            .appUnarchived, .hostAdded, .hostSubdomainsSet, .hostRemoved, .modeSet, .endpointsSet, .candidateStarted,
            .candidatePromoted, .candidateDropped, .pinStaged, .pinActivated, .pinRoleSet, .pinRetired, .pinRevoked,
            .keyDescribed, .killSwitchEngaged, .killSwitchReleased, .versionKillSwitchEngaged,
            .versionKillSwitchReleased, .guardRailSet, .guardRailsOverridden, .changeReverted, .rotationStarted,
            .rotationAdvanced, .rotationAborted, .rolloutPlanCleared, .rolloutSampleReached, .rolloutStepExtended,
            .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused, .rolloutRolledBack, .telemetryReacted,
            .clientSet, .clientRemoved, .clientKeySet:
            nil
        }
    }

    fileprivate enum Spread {
        case ofHost(HostPattern)
        case ofAllHosts

        func concerns(_ pattern: HostPattern) -> Bool {
            switch self {
            case .ofHost(let host): host == pattern
            case .ofAllHosts: true
            }
        }
    }
}
