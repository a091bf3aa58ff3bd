package import PinWire

extension App {
    /// What the reports of the app's clients come to now: the same on every node that knows the same. None where nothing
    /// is known of them, or the app wants no reaction.
    package func verdicts(in context: DecisionContext) -> [ReactionVerdict] {
        guard self.monitoring.isEnabled, self.monitoring.reaction != .off,
            let telemetry = context.facts.telemetry(self.id)
        else { return [] }
        return Reaction.verdicts(
            on: telemetry, of: self, fleetVersion: context.fleetVersion, facts: context.facts, deeds: self.deeds,
            at: context.now)
    }

    /// What the server does because of reports: one thing at a time, since each changes what is reported next. Nothing in
    /// the shadow.
    func react(in context: DecisionContext) -> [AppEvent] {
        guard self.monitoring.reaction == .act else { return [] }
        for verdict in self.verdicts(in: context) {
            let effects = self.effects(of: verdict, at: context.now)
            if !effects.isEmpty { return [.telemetryReacted(Reacted(verdict))] + effects }
        }
        return []
    }

    /// What a verdict changes; nothing where it is so already, or somebody is only to be called.
    private func effects(of verdict: ReactionVerdict, at now: Timestamp) -> [AppEvent] {
        let pattern = verdict.evidence.host
        guard let host = self.hosts[pattern] else { return [] }
        let slot = verdict.evidence.arm ?? .baseline
        switch verdict.step {
        case .none, .page: return []
        case .hold:
            return [pattern, nil].compactMap { place in
                guard let plan = self.plan(of: place), plan.isUnderWay, plan.pause == nil else { return nil }
                return .rolloutPaused(place, .reports, detail: verdict.sentence)
            }
        case .rollBack:
            guard host.candidate != nil, host.rolledBackAt == nil else { return [] }
            return [.rolloutRolledBack(pattern, .reports, detail: verdict.sentence)]
        case .reportOnly:
            return host[slot]?.mode == .enforce ? [.modeSet(pattern, slot, .reportOnly)] : []
        case .killSwitch:
            guard host.killSwitch?.isInForce(at: now) != true else { return [] }
            return [.killSwitchEngaged(pattern, expiresAt: now.adding(seconds: Reaction.killSeconds))]
        }
    }

    /// Deeds of which the app remembers.
    private static let deedLimit = 32

    mutating func note(_ reacted: Reacted, at time: Timestamp) {
        self.deeds.append(Reaction.Deed(host: reacted.host, arm: reacted.arm, step: reacted.step, at: time))
        if self.deeds.count > Self.deedLimit { self.deeds.removeFirst(self.deeds.count - Self.deedLimit) }
    }

    /// What reports say that somebody has to look at.
    func reportAttention(in context: DecisionContext) -> [AttentionItem] {
        var items: [AttentionItem] = []
        var said: Set<String> = []
        // Of each policy what counts most: signed before unsigned, the greater step, the newer version.
        let ranked = self.verdicts(in: context).filter { $0.step != .none }.sorted { left, right in
            if left.evidence.isAuthenticated != right.evidence.isAuthenticated { return left.evidence.isAuthenticated }
            if left.step != right.step { return left.step > right.step }
            return left.evidence.version > right.evidence.version
        }
        for verdict in ranked {
            let evidence = verdict.evidence
            guard said.insert("\(evidence.host) \(evidence.arm?.rawValue ?? "")").inserted else { continue }
            var item = AttentionItem(
                evidence.isAuthenticated ? .urgent : .soon, .failingReports, app: self.id,
                verdict.sentence + " " + verdict.consequence(for: self.monitoring.reaction),
                remedy: verdict.remedy(of: self.id)
            )
            item.host = evidence.host
            item.policy = evidence.arm
            item.rail = .telemetryWeakens
            items.append(item)
        }
        return items
    }
}

extension LedgerState {
    /// Whether the server has something to do because of what an app's clients report.
    package func isReactionDue(of id: AppID, in context: DecisionContext) -> Bool {
        guard let app = self.apps[id] else { return false }
        return !app.react(in: context.knowing(fleet: self.fleet)).isEmpty
    }

    /// What the reports of an app's clients come to now.
    package func verdicts(of id: AppID, in context: DecisionContext) -> [ReactionVerdict] {
        self.apps[id]?.verdicts(in: context.knowing(fleet: self.fleet)) ?? []
    }
}

extension ReactionVerdict {
    /// What clients report, as a sentence.
    package var sentence: String {
        let evidence = self.evidence
        let policy = evidence.arm?.rawValue ?? "pins"
        let source = evidence.isAuthenticated ? "" : " (reports that nobody signed)"
        return
            "\(evidence.sample.failing) of \(evidence.sample.installs) installs report that the \(policy) of \(evidence.host) in version \(evidence.version) did not match\(source): \(self.reasons.map(\.rawValue).joined(separator: ", "))."
    }

    fileprivate func consequence(for reaction: Monitoring.Reaction) -> String {
        switch (self.step, reaction) {
        case (.none, _), (.page, _): "Nothing is done about it by itself."
        case (let step, .act): "What is done about it by itself: \(step.rawValue)."
        case (let step, _): "If reactions were not in the shadow, what would be done: \(step.rawValue)."
        }
    }

    fileprivate func remedy(of app: AppID) -> String {
        switch self.truth {
        case .pinned:
            "The key that servers present is pinned: look for whoever intercepts connections, or a fault of the client (`pinledger telemetry show \(app)`)."
        case .unpinned:
            "The key that servers present is not pinned: publish its pin, or put the pinned key back (`pinledger probe \(self.evidence.host)`)."
        case .split:
            "Not all servers present a pinned key: find those that do not (`pinledger probe \(self.evidence.host)`)."
        case .unknown:
            "Find out what servers present (`pinledger probe \(self.evidence.host)`), and who reports it (`pinledger telemetry show \(app)`)."
        }
    }
}
