import PinWire

// What a change takes from protection: what uses `protection.weaken`.

extension AppChange {
    /// The hosts for which clients accept certificates afterwards, or will as a rollout goes on, that they refused before.
    ///
    /// A mode is weaker, pins that are built in are replaced by a weaker mode, the host or its subdomains are protected no longer, a
    /// more specific host is added with a weaker mode, or a candidate with a weaker mode goes to more devices. To drop a candidate, or
    /// to roll it back, takes devices to what holds for the others, and is none of it.
    var weakenedHosts: [HostPattern] {
        guard let before = self.before else { return [] }
        var weakened = Set(self.hosts.filter { self.isWeakened($0, since: before) })
        for event in self.events { weakened.formUnion(self.spread(by: event)) }
        return weakened.sorted()
    }

    /// Whether clients stop enforcing pins of all hosts sooner, or fall back to fewer built-in ones.
    var weakensApp: Bool {
        guard let before = self.before else { return false }
        let isSooner = self.after.pinsValidUntil.map { end in before.pinsValidUntil.map { end < $0 } ?? true } ?? false
        let (was, now) = (before.fallback, self.after.fallback)
        let isNarrower =
            was.usesBuiltinPins && (!now.usesBuiltinPins || !Set(was.hosts).isSubset(of: now.hosts))
        return isSooner || isNarrower
    }

    private func isWeakened(_ pattern: HostPattern, since before: App) -> Bool {
        guard let now = self.after.hosts[pattern] else {
            return before.hosts[pattern].map { $0.baselineStrength > 0 || ($0.candidateStrength ?? 0) > 0 } ?? false
        }
        guard let was = before.hosts[pattern] ?? before.host(covering: pattern) else { return false }
        if before.hosts[pattern] != nil, was.includesSubdomains, !now.includesSubdomains { return true }
        if now.baselineStrength < was.baselineStrength { return true }
        guard let candidate = now.candidateStrength else { return false }
        return candidate < was.candidateStrength ?? was.baselineStrength
    }

    /// The hosts whose candidate is weaker than their baseline, and goes to more devices by an event, or will.
    private func spread(by event: AppEvent) -> [HostPattern] {
        let host: HostPattern?
        switch event {
        case .hostRolloutSet(let pattern, _): host = pattern
        case .rolloutPlanSet(let pattern, _), .rolloutStepTaken(let pattern, _, _),
            .rolloutStepApproved(let pattern, _), .rolloutResumed(let pattern):
            host = pattern
        case .appRolloutSet: host = nil
        default: return []
        }
        return self.after.hosts.filter { pattern, one in
            (host == nil || host == pattern) && one.candidateStrength.map { $0 < one.baselineStrength } ?? false
        }.map(\.key)
    }
}

extension Host {
    /// How much the baseline refuses; pins that are built into the app are enforced.
    fileprivate var baselineStrength: Int {
        switch self.baseline {
        case .builtin: PinMode.enforce.strength
        case .policy(let policy): policy.mode.strength
        }
    }

    fileprivate var candidateStrength: Int? { self.candidate?.mode.strength }
}

extension App {
    /// The host that holds for the names of a pattern; nil for none.
    fileprivate func host(covering pattern: HostPattern) -> Host? {
        let hosts = Array(self.hosts)
        let index = HostIndex(hosts.map { ($0.key, $0.value.includesSubdomains) })
        // A wildcard stands for each name below; one is as good as another.
        let name = pattern.isWildcard ? "any.\(pattern.name)" : pattern.name
        return index.place(of: name).map { hosts[$0].value }
    }
}
