package import PinWire

extension App {
    /// The present verdicts on the reports of the app's clients: the same on every node with the same facts. None where
    /// no reports are known, or the app wants no reaction.
    ///
    /// - Parameter pattern: The host of the reports; nil for all.
    package func verdicts(in context: DecisionContext, on pattern: HostPattern? = nil) -> [ReactionVerdict] {
        guard self.monitoring.isEnabled, self.monitoring.reaction != .off,
            var telemetry = context.facts.telemetry(self.id)
        else { return [] }
        if let pattern { telemetry.cells = telemetry.cells.filter { $0.host == pattern } }
        return Reaction.verdicts(
            on: telemetry, of: self, fleet: context.fleet, facts: context.facts, reactionsTaken: self.reactionsTaken,
            at: context.now)
    }

    /// The due reactions of the server to reports, each once, in an order that every node has. None in the shadow.
    func dueReactions(in context: DecisionContext) -> [Reaction.Due] {
        guard self.monitoring.reaction == .act else { return [] }
        var due: [Reaction.Due] = []
        var found: Set<Reaction.Due> = []
        for verdict in self.verdicts(in: context) where !self.effects(of: verdict, at: context.now).isEmpty {
            let one = Reaction.Due(verdict)
            if found.insert(one).inserted { due.append(one) }
        }
        return due
    }

    /// The next reaction of the server to reports: one at a time, since each changes the later reports; none where it
    /// is no longer due.
    func react(_ due: Reaction.Due, in context: DecisionContext) -> [AppEvent] {
        guard self.monitoring.reaction == .act else { return [] }
        for verdict in self.verdicts(in: context, on: due.host) where Reaction.Due(verdict) == due {
            let effects = self.effects(of: verdict, at: context.now)
            if !effects.isEmpty { return [.telemetryReacted(Reacted(verdict))] + effects }
        }
        return []
    }

    /// The effect of a verdict; none where the state already has it, or it only raises an alert.
    private func effects(of verdict: ReactionVerdict, at now: Timestamp) -> [AppEvent] {
        let pattern = verdict.evidence.host
        guard let host = self.hosts[pattern] else { return [] }
        let slot = verdict.evidence.arm ?? .baseline
        switch verdict.step {
        case .none, .page: return []
        case .hold:
            return [pattern, nil].compactMap { place in
                guard let plan = self.plan(of: place), plan.isUnderWay, plan.pause == nil else { return nil }
                return .rolloutPaused(place, .reports, detail: verdict.holdSentence(of: self.id, place))
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

    /// The number of past reactions that an app remembers.
    private static let reactionLimit = 32

    mutating func note(_ reacted: Reacted, at time: Timestamp) {
        self.reactionsTaken.append(Reaction.Taken(host: reacted.host, arm: reacted.arm, step: reacted.step, at: time))
        if self.reactionsTaken.count > Self.reactionLimit {
            self.reactionsTaken.removeFirst(self.reactionsTaken.count - Self.reactionLimit)
        }
    }
}

extension LedgerState {
    /// The due reactions of the server to the reports of an app's clients, each once.
    package func dueReactions(of id: AppID, in context: DecisionContext) -> [Reaction.Due] {
        self.apps[id]?.dueReactions(in: context.knowing(fleet: self.fleet)) ?? []
    }

    /// The present verdicts on the reports of an app's clients.
    package func verdicts(of id: AppID, in context: DecisionContext) -> [ReactionVerdict] {
        self.apps[id]?.verdicts(in: context.knowing(fleet: self.fleet)) ?? []
    }
}
