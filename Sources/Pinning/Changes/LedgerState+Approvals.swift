package import PinWire

// Who approves, applies and reviews proposed changes.

extension LedgerState {
    /// Refuses a change under rules where one of those who wrote it could be anyone: the approver could be the author.
    func checkKnown(_ contributors: [Actor], _ plan: ChangePlan) throws(Refusal) {
        guard !self.access.needs(of: plan.uses).isEmpty else { return }
        try self.checkKnown(contributors)
    }

    private func checkKnown(_ contributors: [Actor]) throws(Refusal) {
        guard contributors.allSatisfy({ $0.principalID != nil || $0.kind != .token }) else {
            throw .proposerNotPrincipal
        }
    }

    /// A person's id; an approval of a program, or of a token that anyone may hold, is none.
    private func person(_ actor: Actor) throws(Refusal) -> String {
        guard let person = actor.principalID, self.access.principals[person]?.kind == .person else {
            throw .approverNotPerson
        }
        return person
    }

    /// Refuses unless the commander may approve wherever a change is about something.
    func requireJudge(of change: ProposedChange, in context: DecisionContext) throws(Refusal) {
        for command in change.content.commands where !context.rights.allows(.approveChanges, at: command.reach) {
            throw .permissionMissing(.approveChanges, command.reach)
        }
    }

    func approve(
        _ id: String, _ digest: [UInt8], _ signature: ApprovalSignature?, by actor: Actor, in context: DecisionContext
    ) throws(Refusal) -> Decision {
        let change = try self.open(id, in: context)
        guard change.recordedStatus != .draft else { throw .changeIsDraft(id) }
        let person = try self.person(actor)
        guard !change.isContributor(actor) else { throw .approvalOfOwnChange(id) }
        guard digest == change.contentDigest else { throw .changeContentStale(id) }
        let keys = self.access.principals[person]?.approvalKeys ?? [:]
        // One that does not count any more is given again.
        if let given = change.approvals.first(where: { $0.approver.isSameParty(as: actor) }),
            given.signature.map({ keys[$0.kid] != nil }) ?? keys.isEmpty,
            signature == nil || given.signature?.kid == signature?.kid
        {
            return self.decision([], at: context.now)
        }
        let plan = try self.plan(of: change, in: context)
        try self.checkKnown(change.contributors, plan)
        let needs = self.access.needs(of: plan.uses)
        if let signature {
            guard keys[signature.kid] != nil else { throw .approvalKeyUnknown(signature.kid) }
        } else if !keys.isEmpty {
            throw .approvalUnsigned(id)
        }
        if needs.isEmpty {
            try self.requireJudge(of: change, in: context)
        } else {
            let counting = needs.filter { self.access.mayApprove(person, $0, at: context.now) }
            try self.requireApprover(of: counting, among: needs, in: context)
            if signature == nil, counting.allSatisfy(\.rule.isSigned) { throw .approvalUnsigned(id) }
        }
        guard change.approvals.count < ProposedChange.peopleLimit else {
            throw .tooManyContributors(limit: ProposedChange.peopleLimit)
        }
        return self.decision(
            [.approved(id: id, approver: actor, contentDigest: digest, signature: signature)], findings: plan.findings,
            at: context.now)
    }

    /// Refuses a person whose approval would count for no rule, and a token that is limited to less than all for which it would
    /// count.
    private func requireApprover(
        of counting: [ApprovalNeed], among needs: [ApprovalNeed], in context: DecisionContext
    ) throws(Refusal) {
        guard !counting.isEmpty else {
            throw .permissionMissing(.approveChanges, needs.first?.reaches.first ?? .everywhere)
        }
        for reach in counting.flatMap(\.reaches) where !context.rights.allows(.approveChanges, at: reach) {
            throw .permissionMissing(.approveChanges, reach)
        }
    }

    // MARK: Applying

    func apply(
        _ id: String, bypassesApprovals: Bool, by actor: Actor, in context: DecisionContext
    ) throws(Refusal) -> Decision {
        let change = try self.open(id, in: context)
        guard change.recordedStatus != .draft else { throw .changeIsDraft(id) }
        let isContributor = change.isContributor(actor)
        if isContributor {
            try self.requireCommands(of: change, in: context)
        } else {
            try self.requireJudge(of: change, in: context)
        }
        let plan = try self.plan(of: change, within: isContributor ? context.rights : nil, in: context)
        if bypassesApprovals {
            try self.checkMayBypass(plan, change.contributors + [actor], in: context)
        } else {
            try self.checkMayApply(change, plan, at: context.now)
        }
        return self.decision(
            [], plan, of: change.asApplied, by: actor,
            bypassesApprovals: bypassesApprovals && self.isHeldBack(plan, change, at: context.now), at: context.now)
    }

    /// Refuses to apply a change before its time, in a freeze, or without the approvals that it needs.
    package func checkMayApply(
        _ change: ProposedChange, _ plan: ChangePlan, at now: Timestamp
    ) throws(Refusal) {
        let needs = self.access.needs(of: change, plan, at: now)
        if !needs.isEmpty { try self.checkKnown(change.contributors) }
        let missing = needs.filter { !$0.isMet }
        guard missing.isEmpty else { throw .approvalsMissing(change.id, missing) }
        if let time = change.content.notBefore, now < time { throw .changeNotDue(change.id, time) }
        if let freeze = self.access.freeze(against: plan.uses, at: now) {
            throw .frozen(freeze.id, until: freeze.until)
        }
    }

    /// Refuses to go without approvals where the commander may not, gives no reason, or could be anyone: another person is to
    /// review it.
    func checkMayBypass(
        _ plan: ChangePlan, _ contributors: [Actor], in context: DecisionContext
    ) throws(Refusal) {
        guard context.rights.allowsSomewhere(.bypassApprovals) else {
            throw .permissionMissing(.bypassApprovals, .anyApp)
        }
        for use in plan.uses where ApprovalRule.approvable.contains(use.permission) {
            guard context.rights.allows(.bypassApprovals, at: use.reach) else {
                throw .permissionMissing(.bypassApprovals, use.reach)
            }
        }
        try self.checkKnown(contributors)
        try context.requireReason("it is made without the approvals that it needs")
    }

    /// Whether rules or a freeze would keep a plan back: otherwise there is nothing to bypass, and nothing to review.
    func isHeldBack(_ plan: ChangePlan, _ change: ProposedChange? = nil, at now: Timestamp) -> Bool {
        let needs = change.map { self.access.needs(of: $0, plan, at: now) } ?? self.access.needs(of: plan.uses)
        return needs.contains { !$0.isMet } || self.access.freeze(against: plan.uses, at: now) != nil
    }

    /// The changes that the server is to apply by itself: their time has come.
    package func dueChanges(at now: Timestamp) -> [String] {
        self.changes.changes.values.filter { $0.isDue(at: now) }.map(\.id).sorted()
    }

    /// Applies a change whose time has come.
    func applyDue(_ id: String, in context: DecisionContext) throws(Refusal) -> Decision {
        guard context.commander?.kind == .system, let change = self.changes[id], change.isDue(at: context.now) else {
            throw .changeUnknown(id)
        }
        try self.checkAuthorsToken(of: change)
        let plan = try self.plan(of: change, in: context)
        try self.checkMayApply(change, plan, at: context.now)
        return self.decision(
            [], plan, of: change.asApplied, by: .system, bypassesApprovals: false, at: context.now)
    }

    /// Refuses what was written with a token that was revoked since: a person looks at it first.
    package func checkAuthorsToken(of change: ProposedChange) throws(Refusal) {
        guard change.author.kind == .token else { return }
        if self.access.tokens[change.author.id]?.revokedAt != nil { throw .tokenRevoked(change.author.id) }
    }

    // MARK: Reviewing

    func review(_ id: String, by actor: Actor, in context: DecisionContext) throws(Refusal) -> Decision {
        guard let change = self.changes[id], self.isVisible(change, to: context.rights) else {
            throw .changeUnknown(id)
        }
        guard change.awaitsReview else { throw .changeNeedsNoReview(id) }
        _ = try self.person(actor)
        guard !change.isContributor(actor), change.closedBy.map({ !$0.isSameParty(as: actor) }) ?? true else {
            throw .approvalOfOwnChange(id)
        }
        try self.requireJudge(of: change, in: context)
        try context.requireReason("a change was made without the approvals that it needed")
        return self.decision([.reviewed(id: id, by: actor)], at: context.now)
    }
}

extension ProposedChange {
    /// Whether the server is to apply it by itself now.
    fileprivate func isDue(at now: Timestamp) -> Bool {
        self.recordedStatus == .proposed && self.isOpen(at: now) && self.content.notBefore.map { $0 <= now } ?? false
    }

    fileprivate var asApplied: AppliedChange {
        AppliedChange(id: self.id, isForced: self.content.isForced, reason: self.content.reason)
    }
}
