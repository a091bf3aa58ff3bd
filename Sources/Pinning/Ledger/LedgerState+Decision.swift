import PinWire

extension LedgerState {
    /// The decision on `command` in this state: its events, the guard rails' findings about them, and the state after them.
    ///
    /// - Throws: ``Refusal``; nothing changes then.
    package func decide(_ command: Command, in context: DecisionContext) throws(Refusal) -> Decision {
        var decision = try self.decision(on: command, in: context)
        if command.needsRecentProof(using: decision.uses) { decision.needsRecentProof = true }
        if context.commander?.kind == .token, !context.isPlanned {
            try self.checkNeedsNoApproval(decision, at: context.now)
            try self.access.checkProofIsRecent(for: decision, in: context)
        }
        let level = self.fleet.featureLevel
        guard level < context.knownLevel else { return decision }
        for kind in (decision.effects.flatMap(\.events) + decision.events).map(\.kind) where kind.level > level {
            throw .featureLevelTooLow(type: kind.type, needed: kind.level, present: level)
        }
        return decision
    }

    /// Refuses a command that its sender may not give, whatever it would do: before anything else is said about it.
    ///
    /// - Throws: ``Refusal/permissionMissing(_:_:)``, or ``Refusal/appUnknown(_:)`` where its sender does not see the app.
    package func authorize(_ command: Command, in context: DecisionContext) throws(Refusal) {
        try context.knowing(fleet: self.fleet).knowing(self.access).authorize(command, on: self.apps)
    }

    private func decision(on command: Command, in context: DecisionContext) throws(Refusal) -> Decision {
        let context = context.knowing(fleet: self.fleet).knowing(self.access)
        try context.authorize(command, on: self.apps)
        let now = context.now
        switch command {
        case .app(let id, let commands):
            let change = try self.change(of: id, by: commands, in: context)
            try context.authorize(change)
            let verdict = try GuardRailEvaluation(.app(change), in: context).verdict()
            var decision = try self.decision(on: change, verdict)
            decision.uses = context.uses(of: commands, change, isOverriding: !verdict.overridden.isEmpty)
            return decision
        case .watch(let id): return try self.decision(on: id, try self.warnings(of: id, in: context), at: now)
        case .telemetryKey(let id, let command):
            guard let app = self.apps[id] else { throw .appUnknown(id) }
            return try self.decision(on: id, try app.watch.decide(command), at: now)
        case .publication(let id, let publication):
            return try self.decision(on: id, try self.record(publication, of: id), at: now)
        case .fleet(let command):
            let events = try self.fleet.decide(command, in: context)
            let after = self.fleet.after(events, at: now)
            let change = FleetChange(
                before: self.fleet, after: after, events: events, apps: self.apps, context: context)
            let verdict = try GuardRailEvaluation(.fleet(change), in: context).verdict()
            let record: [FleetEvent] = verdict.overridden.isEmpty ? [] : [.railsOverridden(verdict.overridden)]
            var decision = Decision(
                (events + record).map { .fleet($0) }, findings: verdict.findings,
                after: .fleet(after.after(record, at: now)))
            decision.uses = context.uses(of: command, isOverriding: !verdict.overridden.isEmpty)
            return decision
        case .keys(let command):
            let events = try self.keys.decide(command, at: now)
            let change = KeyChange(before: self.keys, events: events, context: context)
            let verdict = try GuardRailEvaluation(.keys(change), in: context).verdict()
            let record: [KeyEvent] = verdict.overridden.isEmpty ? [] : [.railsOverridden(verdict.overridden)]
            var decision = Decision(
                (events + record).map { .keys($0) }, findings: verdict.findings,
                after: .keys(self.keys.after(events + record, at: now)))
            decision.uses = context.uses(of: command, isOverriding: !verdict.overridden.isEmpty)
            return decision
        case .access(let command):
            let events = try self.access.decide(command, in: context)
            var decision = Decision(events.map { .access($0) }, after: .access(self.access.after(events, at: now)))
            decision.uses = context.uses(of: command, in: self.access)
            return decision
        case .webhooks(let command):
            let events = try self.webhooks.decide(command, in: context)
            var decision = Decision(
                events.map { .webhooks($0) }, after: .webhooks(self.webhooks.after(events, at: now)))
            decision.uses = context.uses(of: command)
            return decision
        case .log(let command):
            let events = try self.log.decide(command, in: context)
            var decision = Decision(events.map { .log($0) }, after: .log(self.log.after(events, at: now)))
            decision.uses = context.uses(of: command)
            return decision
        case .change(let command): return try self.decide(command, in: context)
        case .audit(let command):
            let events = try self.audit.decide(command)
            return Decision(events.map { .audit($0) }, after: .audit(self.audit.after(events, at: now)))
        }
    }

    /// Refuses what a token must propose instead, and what a freeze stands against.
    private func checkNeedsNoApproval(_ decision: Decision, at now: Timestamp) throws(Refusal) {
        guard !decision.uses.isEmpty, !decision.events.isEmpty else { return }
        let needs = self.access.needs(of: decision.uses)
        guard needs.isEmpty else { throw .approvalRequired(needs.map(\.rule)) }
        if let freeze = self.access.freeze(against: decision.uses, at: now) {
            throw .frozen(freeze.id, until: freeze.until)
        }
    }

    /// The change of an app by commands, before it is judged.
    func change(of id: AppID, by commands: [AppCommand], in context: DecisionContext) throws(Refusal) -> AppChange {
        let change = try App.change(by: commands, self.apps[id], id: id, in: context)
        try self.checkFirebaseTarget(from: change.before, to: change.after)
        return change
    }

    /// The decision on a judged change of an app, with the record of overridden findings.
    ///
    /// - Throws: ``Refusal/documentTooLarge(bytes:limit:)``.
    func decision(on change: AppChange, _ verdict: GuardRailEvaluation.Verdict) throws(Refusal) -> Decision {
        let record = AppChange.record(of: verdict.overridden)
        let (events, after) = (change.events + record, change.after.after(record, at: change.now))
        try self.checkSize(of: after, events, at: change.now)
        return Decision(events.map { .app($0) }, findings: verdict.findings, after: .app(after))
    }

    private func decision(on id: AppID, _ events: [WatchEvent], at time: Timestamp) throws(Refusal) -> Decision {
        guard let watch = self.apps[id]?.watch else { throw .appUnknown(id) }
        return Decision(events.map { .watch($0) }, after: .watch(id, watch.after(events, at: time)))
    }

    private func checkSize(of after: App, _ events: [AppEvent], at time: Timestamp) throws(Refusal) {
        // No event is larger than 64 KiB, so that a few hosts cannot make the document too large. Rendering
        // many takes its time.
        let before = self.apps[after.id]
        guard events.contains(where: \.addsToDocument), (before?.hosts.count ?? 0) + events.count > 12 else { return }
        func byteCount(_ app: App) -> Int {
            app.document(in: self.fleet).payload(issuedAt: time, expiresAt: time).count
        }
        let size = byteCount(after)
        // A document that was too large before may shrink, or stay as it is.
        guard size > App.documentLimit, size > before.map(byteCount) ?? 0 else { return }
        throw .documentTooLarge(bytes: size, limit: App.documentLimit)
    }
}
