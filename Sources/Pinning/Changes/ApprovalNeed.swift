package import PinWire

/// A rule that a change falls under, and the people whose approvals count for it.
package struct ApprovalNeed: Hashable, Sendable {
    package var rule: ApprovalRule
    /// Where the change uses what the rule binds.
    var reaches: Set<PermissionReach>
    /// By their ids.
    package var approvers: [String]

    package var isMet: Bool { self.approvers.count >= self.rule.approvals }

    package var json: JSON {
        [
            "rule": .string(self.rule.name.text), "approvals": .integer(Int64(self.rule.approvals)),
            "approvers": .array(self.approvers.map { .string($0) }), "met": .bool(self.isMet),
            "signed": .bool(self.rule.isSigned),
        ]
    }
}

extension Access {
    /// The rules that some uses fall under, by their names; none of them is met yet.
    func needs(of uses: Set<PermissionUse>) -> [ApprovalNeed] {
        self.approvalRules.values.sorted { $0.name < $1.name }.compactMap { rule in
            let bound = uses.filter(rule.binds)
            return bound.isEmpty
                ? nil : ApprovalNeed(rule: rule, reaches: Set(bound.map(\.reach)), approvers: [])
        }
    }

    /// The rules that a change falls under, with the approvals that count as things are now: those of people who still may
    /// approve it, and had no part in its content.
    package func needs(of change: ProposedChange, _ plan: ChangePlan, at now: Timestamp) -> [ApprovalNeed] {
        self.needs(of: plan.uses).map { need in
            var need = need
            need.approvers = change.approvals.compactMap { approval in
                guard !change.isContributor(approval.approver), let id = approval.approver.principalID,
                    self.mayApprove(id, need, at: now), self.isSigned(approval, by: id, asFor: need.rule)
                else { return nil }
                return id
            }
            return need
        }
    }

    /// Whether an approval is signed, where its giver or the rule asks for it, with a key that its giver still has.
    private func isSigned(_ approval: ProposedChange.Approval, by id: String, asFor rule: ApprovalRule) -> Bool {
        let keys = self.principals[id]?.approvalKeys ?? [:]
        guard let signature = approval.signature else { return keys.isEmpty && !rule.isSigned }
        return keys[signature.kid] != nil
    }

    /// Whether a person may approve what a rule binds, with all of its grants.
    func mayApprove(_ id: String, _ need: ApprovalNeed, at now: Timestamp) -> Bool {
        guard let principal = self.principals[id], principal.kind == .person, principal.suspendedAt == nil else {
            return false
        }
        let (rights, grants) = (self.rights(ofPrincipal: id, at: now), self.grants(of: principal, at: now))
        return need.reaches.allSatisfy { reach in
            rights.allows(.approveChanges, at: reach)
                && (need.rule.roles.isEmpty || grants.holds(need.rule.roles, at: reach, now))
        }
    }

    /// What a principal may do with all of its grants; nothing where it is unknown or suspended.
    package func rights(ofPrincipal id: String, at now: Timestamp) -> Rights {
        guard let principal = self.principals[id], principal.suspendedAt == nil else { return .nothing }
        return Rights(limits: [self.parts(of: self.grants(of: principal, at: now), at: now)])
    }

    /// What the author of a change may do: the principal's rights now, within the grants of the token with which it was written. The
    /// token's own end plays no part, since it may have been made for this change alone.
    func rights(ofAuthor change: ProposedChange, at now: Timestamp) -> Rights {
        guard let id = change.author.principalID else { return self.rights(of: change.author, at: now) }
        let rights = self.rights(ofPrincipal: id, at: now)
        guard change.author.kind == .token else { return rights }
        guard let terms = self.tokens[change.author.id]?.terms else { return .nothing }
        guard let grants = terms.grants else { return rights }
        return rights.limited(to: Rights(limits: [self.parts(of: grants, at: change.createdAt)]))
    }

    /// The freeze that stands against some uses, the one that ends last; nil for none.
    func freeze(against uses: Set<PermissionUse>, at now: Timestamp) -> Freeze? {
        self.freezes.values.filter { freeze in uses.contains { freeze.binds($0, at: now) } }
            .max { ($0.until, $0.id) < ($1.until, $1.id) }
    }
}

extension [Grant] {
    /// Whether one of them gives one of some roles there.
    fileprivate func holds(_ roles: [RoleName], at reach: PermissionReach, _ now: Timestamp) -> Bool {
        self.contains { grant in
            guard roles.contains(grant.role), !grant.hasEnded(at: now) else { return false }
            return switch reach {
            case .app(let app): grant.apps.contains { $0.contains(app) }
            case .apps(let patterns): patterns.allSatisfy { one in grant.apps.contains { $0.covers(one) } }
            case .anyApp: true
            case .everywhere: grant.apps.contains(.all)
            }
        }
    }
}
