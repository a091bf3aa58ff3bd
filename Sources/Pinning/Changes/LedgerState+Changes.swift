package import PinWire

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
            try self.checkRoom(for: id, of: actor, at: context.now)
            if !isDraft { try self.checkProposer([actor], plan) }
            return self.decision(
                [
                    .created(
                        id: id, author: actor, content, expiresAt: end, status: isDraft ? .draft : .proposed)
                ], findings: plan.findings, at: context.now)
        case .bypass(let id, let draft):
            let (content, plan, end) = try self.content(of: draft, in: context)
            try self.checkRoom(for: id, of: actor, at: context.now)
            try context.requireBypass(of: plan)
            return self.decision(
                [.created(id: id, author: actor, content, expiresAt: end, status: .proposed)], plan,
                of: AppliedChange(id: id, isForced: content.isForced, reason: content.reason), by: actor,
                bypassesApprovals: true, at: context.now)
        case .edit(let id, let base, let draft):
            let change = try self.open(id, in: context)
            guard base == change.contentDigest else { throw .changeContentStale(id) }
            let (content, plan, end) = try self.content(of: draft, in: context)
            guard content.digest(of: id) != change.contentDigest || end != change.expiresAt else {
                return self.decision([], at: context.now)
            }
            guard change.isContributor(actor) || change.contributors.count < ProposedChange.peopleLimit else {
                throw .tooManyContributors(limit: ProposedChange.peopleLimit)
            }
            if change.recordedStatus != .draft { try self.checkProposer(change.contributors + [actor], plan) }
            return self.decision(
                [.edited(id: id, author: actor, content, expiresAt: end)], findings: plan.findings, at: context.now)
        case .propose(let id):
            let change = try self.own(id, in: context)
            guard change.recordedStatus != .proposed else { return self.decision([], at: context.now) }
            let plan = try self.plan(of: change, in: context)
            try self.checkProposer(change.contributors, plan)
            return self.decision([.proposed(id: id)], findings: plan.findings, at: context.now)
        case .approve(let id, let digest):
            return try self.approve(id, digest, by: actor, in: context)
        case .reject(let id):
            let change = try self.open(id, in: context)
            guard self.mayJudge(change, in: context) else { throw .permissionMissing(.approveChanges, .anyApp) }
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
        case .review(let id):
            let change = try self.visible(id, in: context)
            guard change.awaitsReview else { throw .changeNeedsNoReview(id) }
            guard let person = actor.principalID, self.access.principals[person]?.kind == .person else {
                throw .approverNotPerson
            }
            guard !change.isContributor(actor), change.closedBy.map({ !$0.isSameParty(as: actor) }) ?? true else {
                throw .approvalOfOwnChange(id)
            }
            guard self.mayJudge(change, in: context) else { throw .permissionMissing(.approveChanges, .anyApp) }
            try context.requireReason("a change was made without the approvals that it needed")
            return self.decision([.reviewed(id: id, by: actor)], at: context.now)
        }
    }

    // MARK: Which change

    /// Whether a change exists for whom these rights are: they may read all that it is about, or approve whatever there is.
    package func isVisible(_ change: ProposedChange, to rights: Rights) -> Bool {
        change.content.commands.allSatisfy { command in
            if let app = command.stream.app { return rights.allows(.readChanges, on: app) && rights.sees(app) }
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

    private func open(_ id: String, in context: DecisionContext) throws(Refusal) -> ProposedChange {
        let change = try self.visible(id, in: context)
        guard change.isOpen(at: context.now) else { throw .changeClosed(id, change.status(at: context.now)) }
        return change
    }

    /// An open change to which the commander contributed.
    private func own(_ id: String, in context: DecisionContext) throws(Refusal) -> ProposedChange {
        let change = try self.open(id, in: context)
        guard let actor = context.commander, change.isContributor(actor) else { throw .changeOfOthers(id) }
        return change
    }

    private func checkRoom(for id: String, of actor: Actor, at now: Timestamp) throws(Refusal) {
        guard self.changes[id] == nil else { throw .changeExists(id) }
        let open = self.changes.changes.values.filter { $0.isOpen(at: now) }
        guard open.count < ProposedChange.openLimit else { throw .tooManyChanges(limit: ProposedChange.openLimit) }
        guard open.count(where: { $0.author.isSameParty(as: actor) }) < ProposedChange.openLimitEach else {
            throw .tooManyChanges(limit: ProposedChange.openLimitEach)
        }
    }

    // MARK: Content

    /// The content of a draft, with the rights of who writes it.
    private func content(
        of draft: ChangeDraft, in context: DecisionContext
    ) throws(Refusal) -> (content: ChangeContent, plan: ChangePlan, expiresAt: Timestamp) {
        guard let reason = context.reason else { throw .reasonRequired("others decide on it") }
        guard (1...ChangeContent.commandLimit).contains(draft.commands.count) else {
            throw .tooManyCommands(limit: ChangeContent.commandLimit)
        }
        let now = context.now
        let end = draft.expiresAt ?? max(now, draft.notBefore ?? now).adding(seconds: ProposedChange.defaultSeconds)
        guard now < end else { throw .expiryNotAhead(end) }
        let limit = now.adding(seconds: ProposedChange.longestSeconds)
        guard end <= limit else { throw .expiryTooFar(end, limit: limit) }
        if let notBefore = draft.notBefore, end <= notBefore { throw .expiryNotAhead(end) }
        var inner = context
        inner.isForced = draft.isForced
        let plan = try self.plan(draft.commands, in: inner)
        guard !plan.effects.isEmpty else { throw .changeWithoutEffect }
        return (
            ChangeContent(
                commands: draft.commands, isForced: draft.isForced, notBefore: draft.notBefore, reason: reason,
                plan: plan.digest), plan, end
        )
    }

    /// What a change does now, with the rights that its author has now.
    ///
    /// - Throws: The refusal of a command; ``Refusal/changeConflict(_:)`` where something else would happen than was
    ///   written down.
    package func plan(of change: ProposedChange, in context: DecisionContext) throws(Refusal) -> ChangePlan {
        var inner = context
        inner.commander = change.author
        inner.actor = change.author.kind
        inner.isForced = change.content.isForced
        inner.reason = change.content.reason
        // Not the token's: it may have been made for this change alone, and ended since.
        let rights = change.author.principalID.map { self.access.rights(ofPrincipal: $0, at: context.now) }
        let plan = try self.plan(change.content.commands, as: rights, in: inner)
        guard plan.digest == change.content.plan else { throw .changeConflict(change.id) }
        return plan
    }

    // MARK: Judgement

    /// Refuses to open a change for approvals that nobody could tell from the approver's own.
    private func checkProposer(_ contributors: [Actor], _ plan: ChangePlan) throws(Refusal) {
        guard !self.access.needs(of: plan.uses).isEmpty else { return }
        guard contributors.allSatisfy({ $0.principalID != nil || $0.kind != .token }) else {
            throw .proposerNotPrincipal
        }
    }

    /// Whether the commander may approve something somewhere that a change is about.
    private func mayJudge(_ change: ProposedChange, in context: DecisionContext) -> Bool {
        change.content.commands.allSatisfy { command in
            if let app = command.stream.app { return context.rights.allows(.approveChanges, on: app) }
            return context.rights.allowsEverywhere(.approveChanges)
        }
    }

    private func approve(
        _ id: String, _ digest: [UInt8], by actor: Actor, in context: DecisionContext
    ) throws(Refusal) -> Decision {
        let change = try self.open(id, in: context)
        guard change.recordedStatus != .draft else { throw .changeIsDraft(id) }
        guard let person = actor.principalID, self.access.principals[person]?.kind == .person else {
            throw .approverNotPerson
        }
        guard !change.isContributor(actor) else { throw .approvalOfOwnChange(id) }
        guard digest == change.contentDigest else { throw .changeContentStale(id) }
        guard !change.approvals.contains(where: { $0.approver.isSameParty(as: actor) }) else {
            return self.decision([], at: context.now)
        }
        let plan = try self.plan(of: change, in: context)
        let needs = self.access.needs(of: plan.uses)
        let counts = needs.contains { self.access.mayApprove(person, $0, at: context.now) }
        guard needs.isEmpty ? self.mayJudge(change, in: context) : counts else {
            throw .permissionMissing(.approveChanges, needs.first?.reaches.first ?? .anyApp)
        }
        // The token's own limits hold too, not only its owner's rights.
        guard
            needs.isEmpty
                || needs.contains(where: { need in
                    need.reaches.allSatisfy { context.rights.allows(.approveChanges, at: $0) }
                })
        else { throw .permissionMissing(.approveChanges, .anyApp) }
        guard change.approvals.count < ProposedChange.peopleLimit else {
            throw .tooManyContributors(limit: ProposedChange.peopleLimit)
        }
        return self.decision(
            [.approved(id: id, approver: actor, contentDigest: digest)], findings: plan.findings, at: context.now)
    }

    // MARK: Applying

    private func apply(
        _ id: String, bypassesApprovals: Bool, by actor: Actor, in context: DecisionContext
    ) throws(Refusal) -> Decision {
        let change = try self.open(id, in: context)
        guard change.recordedStatus != .draft else { throw .changeIsDraft(id) }
        guard change.isContributor(actor) || self.mayJudge(change, in: context) else {
            throw .permissionMissing(.approveChanges, .anyApp)
        }
        let plan = try self.plan(of: change, in: context)
        if bypassesApprovals {
            try context.requireBypass(of: plan)
            try context.requireReason("approvals are bypassed")
        } else {
            try self.checkMayApply(change, plan, at: context.now)
        }
        return self.decision(
            [], plan, of: change.applied, by: actor, bypassesApprovals: bypassesApprovals, at: context.now)
    }

    /// Refuses to apply a change before its time, in a freeze, or without the approvals that it needs.
    package func checkMayApply(
        _ change: ProposedChange, _ plan: ChangePlan, at now: Timestamp
    ) throws(Refusal) {
        let missing = self.access.needs(of: change, plan, at: now).filter { !$0.isMet }
        guard missing.isEmpty else { throw .approvalsMissing(change.id, missing) }
        if let time = change.content.notBefore, now < time { throw .changeNotDue(change.id, time) }
        if let freeze = self.access.freeze(against: plan.uses, at: now) {
            throw .frozen(freeze.id, until: freeze.until)
        }
    }

    /// The changes that the server is to apply by itself: their time has come.
    package func dueChanges(at now: Timestamp) -> [String] {
        self.changes.changes.values.filter { change in
            change.recordedStatus == .proposed && change.isOpen(at: now)
                && change.content.notBefore.map { $0 <= now } ?? false
        }.map(\.id).sorted()
    }

    /// Applies a change whose time has come.
    private func applyDue(_ id: String, in context: DecisionContext) throws(Refusal) -> Decision {
        guard context.commander?.kind == .system else { throw .changeUnknown(id) }
        guard let change = self.changes[id], self.dueChanges(at: context.now).contains(id) else {
            throw .changeUnknown(id)
        }
        let plan = try self.plan(of: change, in: context)
        try self.checkMayApply(change, plan, at: context.now)
        return self.decision(
            [], plan, of: change.applied, by: .system, bypassesApprovals: false, at: context.now)
    }

    // MARK: Decisions

    /// The decision with events of the stream `changes` alone.
    private func decision(
        _ events: [ChangeEvent], findings: [Finding] = [], at now: Timestamp
    ) -> Decision {
        Decision(
            events.map { .changes($0) }, findings: findings, after: .changes(self.changes.after(events, at: now)))
    }

    /// The decision that carries out a plan. What it did stands directly before the event that says so.
    private func decision(
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
        return decision
    }
}

extension ProposedChange {
    fileprivate var applied: AppliedChange {
        AppliedChange(id: self.id, isForced: self.content.isForced, reason: self.content.reason)
    }
}

extension DecisionContext {
    /// Refuses to go without approvals where the commander may not, or gives no reason.
    fileprivate func requireBypass(of plan: ChangePlan) throws(Refusal) {
        for use in plan.uses where ApprovalRule.approvable.contains(use.permission) {
            guard self.rights.allows(.bypassApprovals, at: use.reach) else {
                throw .permissionMissing(.bypassApprovals, use.reach)
            }
        }
    }
}
