import PinWire

// The decisions on proposed changes. They see the whole state: a change is decided as its commands would be, at every step.

extension LedgerState {
    /// Decides on a command about a proposed change.
    ///
    /// - Parameter context: With its commander's rights.
    func decide(_ command: ChangeCommand, in context: DecisionContext) throws(Refusal) -> Decision {
        guard let actor = context.commander else { throw .commandNotProposable }
        switch command {
        case .create(let id, let draft, let isDraft):
            let (content, plan, end) = try self.content(of: draft, in: context)
            guard self.changes[id] == nil else { throw .changeExists(id) }
            try self.checkRoom(for: actor, at: context.now)
            if !isDraft { try self.checkKnown([actor], plan) }
            return self.decision(
                [
                    .created(
                        id: id, author: actor, content, expiresAt: end, status: isDraft ? .draft : .proposed)
                ], plan, isTimed: !isDraft && content.notBefore != nil, at: context.now)
        case .bypass(let id, let draft):
            let (content, plan, end) = try self.content(of: draft, in: context)
            // It is never open, so that it needs no room among those that are.
            guard self.changes[id] == nil else { throw .changeExists(id) }
            try self.checkMayBypass(plan, [actor], in: context)
            return self.decision(
                [.created(id: id, author: actor, content, expiresAt: end, status: .proposed)], plan,
                of: AppliedChange(id: id, isForced: content.isForced, reason: content.reason), by: actor,
                bypassesApprovals: self.isHeldBack(plan, at: context.now), at: context.now)
        case .edit(let id, let base, let draft):
            let change = try self.open(id, in: context)
            // An edit voids approvals, and who edits can withdraw: others need what it takes to reject.
            if !change.isContributor(actor) { try self.requireEditor(of: change, in: context) }
            guard base == change.contentDigest else { throw .changeContentStale(id) }
            let (content, plan, end) = try self.content(of: draft, known: change.content.notBefore, in: context)
            guard content.digest(of: id) != change.contentDigest || end != change.expiresAt else {
                return self.decision([], at: context.now)
            }
            guard change.isContributor(actor) || change.contributors.count < ProposedChange.peopleLimit else {
                throw .tooManyContributors(limit: ProposedChange.peopleLimit)
            }
            if change.recordedStatus != .draft { try self.checkKnown(change.contributors + [actor], plan) }
            return self.decision(
                [.edited(id: id, author: actor, content, expiresAt: end)], plan,
                isTimed: change.recordedStatus != .draft && content.notBefore != nil, at: context.now)
        case .propose(let id):
            let change = try self.own(id, in: context)
            guard change.recordedStatus != .proposed else { return self.decision([], at: context.now) }
            let plan = try self.plan(of: change, in: context)
            try self.checkKnown(change.contributors, plan)
            return self.decision([.proposed(id: id)], plan, isTimed: change.content.notBefore != nil, at: context.now)
        case .approve(let id, let digest, let signature):
            return try self.approve(id, digest, signature, by: actor, in: context)
        case .reject(let id):
            let change = try self.open(id, in: context)
            try self.requireJudge(of: change, in: context)
            return self.decision([.rejected(id: id, by: actor)], at: context.now)
        case .withdraw(let id):
            _ = try self.own(id, in: context)
            return self.decision([.withdrawn(id: id, by: actor)], at: context.now)
        case .apply(let id, let bypasses):
            return try self.apply(id, bypassesApprovals: bypasses, by: actor, in: context)
        case .applyDue(let id): return try self.applyDue(id, in: context)
        case .suspend(let id, let obstacle):
            do throws(Refusal) { _ = try self.applyDue(id, in: context) } catch {
                switch error {
                case .approvalsMissing, .frozen, .changeUnknown: throw error
                default: return self.decision([.suspended(id: id, obstacle: obstacle)], at: context.now)
                }
            }
            // What prevented it is gone.
            return self.decision([], at: context.now)
        case .review(let id): return try self.review(id, by: actor, in: context)
        }
    }

    // MARK: Which change

    /// Whether a change exists for whom these rights are: they may read all that it is about, or approve whatever there is.
    package func isVisible(_ change: ProposedChange, to rights: Rights) -> Bool {
        change.content.commands.allSatisfy { self.isVisible($0, to: rights) }
    }

    private func isVisible(_ command: Command, to rights: Rights) -> Bool {
        switch command.reach {
        case .app(let app): return rights.allows(.readChanges, on: app) && rights.sees(app)
        case .apps(let patterns) where rights.allows(.readChanges, on: patterns): return true
        case .apps, .anyApp, .everywhere:
            return rights.allowsEverywhere(.readChanges)
                && (rights.allowsEverywhere(command.stream.permission) || rights.allowsEverywhere(.approveChanges))
        }
    }

    private func visible(_ id: String, in context: DecisionContext) throws(Refusal) -> ProposedChange {
        guard let change = self.changes[id], self.isVisible(change, to: context.rights) else {
            throw .changeUnknown(id)
        }
        return change
    }

    func open(_ id: String, in context: DecisionContext) throws(Refusal) -> ProposedChange {
        let change = try self.visible(id, in: context)
        guard change.isOpen(at: context.now) else { throw .changeClosed(id, change.status(at: context.now)) }
        return change
    }

    /// An open change to which the commander contributed, with a token that may give its commands.
    private func own(_ id: String, in context: DecisionContext) throws(Refusal) -> ProposedChange {
        let change = try self.open(id, in: context)
        guard let actor = context.commander, change.isContributor(actor) else { throw .changeOfOthers(id) }
        try self.requireCommands(of: change, in: context)
        return change
    }

    /// Refuses to edit a change of others without the right to reject it.
    private func requireEditor(of change: ProposedChange, in context: DecisionContext) throws(Refusal) {
        for command in change.content.commands where !context.rights.allows(.approveChanges, at: command.reach) {
            throw .changeOfOthers(change.id)
        }
    }

    /// Refuses a token that is limited to less than its owner: by a change it could do what it may not do.
    func requireCommands(of change: ProposedChange, in context: DecisionContext) throws(Refusal) {
        var context = context
        context.isForced = change.content.isForced
        for command in change.content.commands {
            try context.authorize(command, on: self.apps)
            // What these need depends on their effects, which the plan knows: here it is enough that the token manages anything.
            guard case .access(let command) = command else { continue }
            switch command {
            case .issueToken, .revokeToken: break
            case .setApprovalRule, .removeApprovalRule, .setFreeze, .removeFreeze:
                try context.requireSomewhere(.manageApprovals)
            case .defineRole, .removeRole, .addPrincipal, .renamePrincipal, .suspendPrincipal, .reinstatePrincipal,
                .grantRole, .revokeGrant, .identity, .addApprovalKey, .removeApprovalKey:
                try context.requireSomewhere(.manageAccess)
            }
        }
    }

    private func checkRoom(for actor: Actor, at now: Timestamp) throws(Refusal) {
        let open = self.changes.changes.values.filter { $0.isOpen(at: now) }
        guard open.count < ProposedChange.openLimit else { throw .tooManyChanges(limit: ProposedChange.openLimit) }
        guard
            open.count(where: { $0.contributors.first?.isSameParty(as: actor) == true }) < ProposedChange.openLimitEach
        else { throw .tooManyChanges(limit: ProposedChange.openLimitEach) }
    }

    // MARK: Content

    /// The content of a draft, with the rights of who writes it.
    ///
    /// - Parameter known: The time that the change has already; it may have passed.
    private func content(
        of draft: ChangeDraft, known: Timestamp? = nil, in context: DecisionContext
    ) throws(Refusal) -> (content: ChangeContent, plan: ChangePlan, expiresAt: Timestamp) {
        guard let reason = context.reason else { throw .reasonRequired("others decide on it, or review it") }
        let size = draft.commands.reduce(0) { $0 + $1.size }
        guard !draft.commands.isEmpty, size <= ChangeContent.commandLimit else {
            throw .tooManyCommands(limit: ChangeContent.commandLimit)
        }
        let now = context.now
        if let time = draft.notBefore, time != known, time <= now { throw .expiryNotAhead(time) }
        let limit = now.adding(seconds: ProposedChange.longestSeconds)
        let usual = max(now, draft.notBefore ?? now).adding(seconds: ProposedChange.defaultSeconds)
        let end = draft.expiresAt ?? min(usual, limit)
        guard now < end else { throw .expiryNotAhead(end) }
        guard end <= limit else { throw .expiryTooFar(end, limit: limit) }
        if let time = draft.notBefore, end <= time { throw .expiryTooFar(time, limit: end) }
        // Who could not see the result could neither go on with it nor withdraw it.
        for command in draft.commands where !self.isVisible(command, to: context.rights) {
            if let app = command.stream.app, !context.rights.sees(app) { continue }
            throw .permissionMissing(.readChanges, command.reach)
        }
        var inner = context
        inner.isForced = draft.isForced
        inner.isImport = draft.isImport
        let plan = try self.plan(draft.commands, in: inner)
        guard !plan.effects.isEmpty else { throw .changeWithoutEffect }
        return (
            ChangeContent(
                commands: draft.commands, isForced: draft.isForced, isImport: draft.isImport,
                notBefore: draft.notBefore, reason: reason, plan: plan.digest), plan, end
        )
    }

    /// What a change does now, with the rights that its author has now, within the limits of the token that it was written with.
    ///
    /// - Parameter limit: What a contributor who applies it may do: no more is done. Nil for anyone else, who judges what others
    ///   may do.
    /// - Throws: The refusal of a command; ``Refusal/changeConflict(_:)`` where something else would happen than was
    ///   written down.
    package func plan(
        of change: ProposedChange, within limit: Rights? = nil, in context: DecisionContext
    ) throws(Refusal) -> ChangePlan {
        var inner = context
        inner.commander = change.author
        inner.actor = change.author.kind
        inner.isForced = change.content.isForced
        inner.isImport = change.content.isImport
        inner.reason = change.content.reason
        var rights = self.access.rights(ofAuthor: change, at: context.now)
        if let limit { rights = rights.limited(to: limit) }
        let plan = try self.plan(change.content.commands, as: rights, in: inner)
        guard plan.digest == change.content.plan, !self.hasRolledBack(after: change) else {
            throw .changeConflict(change.id)
        }
        return plan
    }

    /// Whether a rollout that a change would set was rolled back since the change was written down. It would be the same event,
    /// and start again what failed.
    private func hasRolledBack(after change: ProposedChange) -> Bool {
        change.content.commands.contains { command in
            guard case .app(let id, let commands) = command, let app = self.apps[id] else { return false }
            return commands.contains { command in
                guard let place = command.startedRollout else { return false }
                return app.rolledBackAt(of: place.host).map { $0 > change.createdAt } ?? false
            }
        }
    }

    // MARK: Decisions

    /// The decision with events of the stream `changes` alone.
    func decision(_ events: [ChangeEvent], findings: [Finding] = [], at now: Timestamp) -> Decision {
        Decision(
            events.map { .changes($0) }, findings: findings, after: .changes(self.changes.after(events, at: now)))
    }

    /// The decision with events about a change that others can apply from now on.
    ///
    /// - Parameter isTimed: Whether the server applies it by itself once its time has come. What it does then can be more than
    ///   it would be now: the same event releases a kill switch, or changes nothing.
    private func decision(
        _ events: [ChangeEvent], _ plan: ChangePlan, isTimed: Bool, at now: Timestamp
    ) -> Decision {
        var decision = self.decision(events, findings: plan.findings, at: now)
        decision.needsRecentProof = isTimed
        return decision
    }

    /// The decision that carries out a plan. What it did stands directly before the event that says so.
    func decision(
        _ events: [ChangeEvent], _ plan: ChangePlan, of change: AppliedChange, by actor: Actor,
        bypassesApprovals: Bool, at now: Timestamp
    ) -> Decision {
        let applied = ChangeEvent.applied(
            id: change.id, by: actor, effects: Int64(plan.events.count), bypassesApprovals: bypassesApprovals)
        var decision = Decision(
            [.changes(applied)], findings: plan.findings,
            after: .changes(self.changes.after(events + [applied], at: now)))
        if !events.isEmpty {
            decision.effects.append(
                ChangeEffect(
                    stream: .changes, events: events.map { .changes($0) },
                    after: .changes(self.changes.after(events, at: now))))
        }
        decision.effects += plan.effects
        decision.applied = change
        decision.needsRecentProof = plan.needsRecentProof
        return decision
    }
}

extension Command {
    /// What it is about, as far as its own terms say it.
    var reach: PermissionReach {
        if let app = self.stream.app { return .app(app) }
        guard case .access(let command) = self else { return .everywhere }
        switch command {
        case .grantRole(_, _, let grant): return .apps(grant.apps)
        case .issueToken(let token):
            return token.terms?.grants.map { .apps($0.flatMap(\.apps)) } ?? .everywhere
        case .setApprovalRule(let rule): return .apps(rule.apps)
        case .setFreeze(let freeze): return .apps(freeze.apps)
        case .revokeToken, .defineRole, .removeRole, .addPrincipal, .renamePrincipal, .suspendPrincipal,
            .reinstatePrincipal, .revokeGrant, .removeApprovalRule, .removeFreeze, .identity, .addApprovalKey,
            .removeApprovalKey:
            return .everywhere
        }
    }

    /// How many single commands it is.
    fileprivate var size: Int {
        if case .app(_, let commands) = self { max(1, commands.count) } else { 1 }
    }
}

extension AppCommand {
    /// The place of the rollout that it sets going, also after a rollback; nil for other commands.
    fileprivate var startedRollout: RolloutPlace? {
        switch self {
        case .setRollout(let rollout): rollout.map { _ in RolloutPlace() }
        case .setHostRollout(let host, let rollout): rollout.map { _ in RolloutPlace(host: host) }
        case .rollout(let host, let command): command.canStartAgain ? RolloutPlace(host: host) : nil
        case .create, .rename, .setVersionGate, .setFallback, .setMonitoring, .setPinsValidUntil, .archive, .unarchive,
            .addHost, .setSubdomains, .removeHost, .setMode, .startCandidate, .promoteCandidate, .dropCandidate,
            .addPin,
            .activatePin, .setPinRole, .retirePin, .revokePin, .engageKillSwitch, .releaseKillSwitch,
            .engageVersionKillSwitch, .releaseVersionKillSwitch, .setEndpoints, .describeKeys, .setGuardRail,
            .startRotation, .advanceRotation, .abortRotation, .setClient, .removeClient, .setClientKey, .noteBuiltIn,
            .react,
            .revert:
            nil
        }
    }
}

extension RolloutCommand {
    /// Whether a rollout that stands rolled back goes on by it.
    fileprivate var canStartAgain: Bool {
        switch self {
        case .setPlan, .jump: true
        case .clearPlan, .pause, .resume, .advance, .rollBack, .drive: false
        }
    }
}
