import Addresses
import PinWire

extension Access {
    /// Decides on a command: nobody gives a right on that they do not hold themselves, for as long; and no token is accepted from
    /// networks from which its maker is not.
    package func decide(_ command: AccessCommand, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        switch command {
        case .issueToken(let token):
            try self.check(token, in: context)
            if let replaced = token.replaced { try self.check(replaced, in: context) }
            var token = token
            if let maker = self.token(of: context.commander)?.terms, let origin = maker.origin,
                token.terms?.principal == maker.principal
            {
                // What a session makes for its principal ends with it and with its identity, and so does what that makes.
                token.terms?.origin = SessionOrigin(
                    identity: origin.identity, rules: [], session: origin.session ?? context.commander?.id)
            }
            return [.tokenIssued(token)]
        case .revokeToken(let id): return try self.revoke(id, in: context)
        case .defineRole(let name, let permissions):
            try context.requireEverywhere(.manageAccess)
            guard !BuiltInRole.names.contains(name.text) else { throw .roleFixed(name) }
            guard self.roles[name] != permissions else { return [] }
            guard self.roles.count < Self.roleLimit || self.roles[name] != nil else {
                throw .tooManyRoles(limit: Self.roleLimit)
            }
            let grant = Grant(role: name, apps: [.all])
            guard context.rights.cover(grant, permissions) else { throw .grantTooWide(grant) }
            return [.roleDefined(name, permissions)]
        case .removeRole(let name):
            try context.requireEverywhere(.manageAccess)
            guard !BuiltInRole.names.contains(name.text) else { throw .roleFixed(name) }
            guard self.roles[name] != nil else { throw .roleUnknown(name) }
            guard !self.isInUse(name, at: context.now) else { throw .roleInUse(name) }
            return [.roleRemoved(name)]
        case .addPrincipal(let id, let kind, let name):
            try context.requireEverywhere(.manageAccess)
            guard self.principals[id] == nil else { throw .principalExists(id) }
            guard self.principals.count < Self.principalLimit else {
                throw .tooManyPrincipals(limit: Self.principalLimit)
            }
            return [.principalAdded(id: id, kind, name: name)]
        case .renamePrincipal(let id, let name):
            let principal = try self.managed(id, in: context)
            return principal.name == name ? [] : [.principalRenamed(id: id, name: name)]
        case .suspendPrincipal(let id):
            let principal = try self.managed(id, in: context)
            return principal.suspendedAt == nil ? [.principalSuspended(id: id)] : []
        case .reinstatePrincipal(let id):
            let principal = try self.managed(id, in: context)
            guard principal.suspendedAt != nil else { return [] }
            // Its sessions give again what their rules say.
            let rules = self.tokens.values.flatMap { token in
                token.terms?.principal == id && token.isValid(at: context.now) ? token.terms?.origin?.rules ?? [] : []
            }
            let given = Array(principal.grants.values) + self.grants(of: (principal.lastSignIn?.rules ?? []) + rules)
            for grant in Set(given) where !grant.hasEnded(at: context.now) {
                try self.checkMayGive(grant, in: context)
            }
            return [.principalReinstated(id: id)]
        case .grantRole(let id, let principal, let grant):
            try context.requireSomewhere(.manageAccess)
            guard let known = self.principals[principal] else { throw .principalUnknown(principal) }
            guard self.principalByGrant[id] == nil else { throw .grantExists(id) }
            let present = known.grants.values.filter { !$0.hasEnded(at: context.now) }
            guard present.count < Principal.grantLimit else { throw .tooManyGrants(limit: Principal.grantLimit) }
            let patterns = present.reduce(grant.patternCount) { $0 + $1.patternCount }
            guard patterns <= Principal.patternLimit else { throw .tooManyPatterns(limit: Principal.patternLimit) }
            try self.check(grant, in: context)
            return [.roleGranted(id: id, principal: principal, grant)]
        case .revokeGrant(let id):
            try context.requireSomewhere(.manageAccess)
            guard let owner = self.principalByGrant[id], let grant = self.principals[owner]?.grants[id],
                context.rights.allows(.readAccess, on: grant.apps)
            else { throw .grantUnknown(id) }
            guard context.rights.allows(.manageAccess, on: grant.apps) else {
                throw .permissionMissing(
                    .manageAccess, .apps(context.rights.lacking(.manageAccess, on: grant.apps)))
            }
            return [.grantRevoked(id: id, principal: owner)]
        case .addApprovalKey(let key, let id):
            let principal = try self.managed(id, in: context)
            guard principal.kind == .person else { throw .approverNotPerson }
            guard principal.approvalKeys[key.kid] == nil else { return [] }
            guard !self.principals.values.contains(where: { $0.approvalKeys[key.kid] != nil }) else {
                throw .approvalKeyTaken(key.kid)
            }
            guard principal.approvalKeys.count < ApprovalKey.limit else {
                throw .tooManyApprovalKeys(limit: ApprovalKey.limit)
            }
            return [.approvalKeyAdded(key, principal: id)]
        case .removeApprovalKey(let kid, let id):
            let principal = try self.managed(id, in: context)
            guard principal.approvalKeys[kid] != nil else { throw .approvalKeyUnknown(kid) }
            return [.approvalKeyRemoved(kid: kid, principal: id)]
        case .setApprovalRule(let rule):
            try context.requireSomewhere(.manageApprovals)
            try self.checkMayManage(rule.apps, areGiven: true, in: context)
            let known = self.approvalRules[rule.name]
            for role in rule.roles where !self.has(role) { throw .roleUnknown(role) }
            guard known != rule else { return [] }
            try self.checkCanBeMet(rule, in: context)
            try self.checkName(of: rule, in: context)
            guard known != nil || self.approvalRules.count < Self.approvalRuleLimit else {
                throw .tooManyApprovalRules(limit: Self.approvalRuleLimit)
            }
            return [.approvalRuleSet(rule)]
        case .removeApprovalRule(let name):
            try context.requireSomewhere(.manageApprovals)
            guard let rule = self.approvalRules[name], context.rights.mayOverlap(.readChanges, rule.apps) else {
                throw .approvalRuleUnknown(name)
            }
            try self.checkMayManage(rule.apps, areGiven: false, in: context)
            return [.approvalRuleRemoved(name)]
        case .setFreeze(let freeze):
            try context.requireSomewhere(.manageApprovals)
            try self.checkMayManage(freeze.apps, areGiven: true, in: context)
            guard context.now < freeze.until else { throw .expiryNotAhead(freeze.until) }
            guard self.freezes[freeze.id] == nil else { throw .freezeExists(freeze.id) }
            guard self.freezes.values.count(where: { context.now < $0.until }) < Freeze.limit else {
                throw .tooManyFreezes(limit: Freeze.limit)
            }
            return [.freezeSet(freeze)]
        case .removeFreeze(let id):
            try context.requireSomewhere(.manageApprovals)
            guard let freeze = self.freezes[id], context.rights.mayOverlap(.readChanges, freeze.apps) else {
                throw .freezeUnknown(id)
            }
            try self.checkMayManage(freeze.apps, areGiven: false, in: context)
            return [.freezeRemoved(id: id)]
        case .identity(let command): return try self.decide(command, in: context)
        }
    }

    /// Refuses a rule that would lock out who sets it: too few others could approve, or the commander could not propose to undo it.
    private func checkCanBeMet(_ rule: ApprovalRule, in context: DecisionContext) throws(Refusal) {
        guard let commander = context.commander, commander.kind == .token else { return }
        if !rule.permissions.isDisjoint(with: [.manageAccess, .manageApprovals]), commander.principalID == nil {
            throw .proposerNotPrincipal
        }
        let need = ApprovalNeed(rule: rule, reaches: [.apps(rule.apps)], approvers: [])
        let others = self.principals.keys.count {
            $0 != commander.principalID && self.mayApprove($0, need, at: context.now)
                && (!rule.isSigned || self.principals[$0]?.approvalKeys.isEmpty == false)
        }
        guard others >= rule.approvals else { throw .tooFewApprovers(needed: rule.approvals, present: others) }
    }

    /// Refuses unless the commander may manage approvals on all of some apps.
    ///
    /// - Parameter areGiven: True where the commander named the apps, and false where something that is there has them.
    private func checkMayManage(
        _ apps: [AppPattern], areGiven: Bool, in context: DecisionContext
    ) throws(Refusal) {
        let missing = context.rights.lacking(.manageApprovals, on: apps)
        guard !missing.isEmpty else { return }
        // Patterns that the commander gave tell them nothing.
        let named = areGiven ? missing : missing.filter { context.rights.mayOverlap(.readChanges, [$0]) }
        throw .permissionMissing(.manageApprovals, named.isEmpty ? .everywhere : .apps(named))
    }

    /// A principal that exists, for a manager of all of them.
    private func managed(_ id: String, in context: DecisionContext) throws(Refusal) -> Principal {
        try context.requireEverywhere(.manageAccess)
        guard let principal = self.principals[id] else { throw .principalUnknown(id) }
        return principal
    }

    /// Whether a grant that has not ended, or a valid token, has a role.
    func isInUse(_ role: RoleName, at now: Timestamp) -> Bool {
        func has(_ grants: some Sequence<Grant>) -> Bool {
            grants.contains { $0.role == role && !$0.hasEnded(at: now) }
        }
        return self.approvalRules.values.contains { $0.roles.contains(role) }
            || self.signInRules.values.contains { has($0.grants) }
            || self.principals.values.contains { has($0.grants.values) }
            || self.tokens.values.contains { $0.isValid(at: now) && has($0.terms?.grants ?? []) }
    }

    // MARK: Grants

    /// Refuses a grant of an unknown role, one that has ended, and one that gives more than who gives it has.
    func check(_ grant: Grant, in context: DecisionContext) throws(Refusal) {
        guard self.has(grant.role) else { throw .roleUnknown(grant.role) }
        if let end = grant.expiresAt, end <= context.now { throw .expiryNotAhead(end) }
        try self.checkMayGive(grant, in: context)
    }

    func checkMayGive(_ grant: Grant, in context: DecisionContext) throws(Refusal) {
        guard context.rights.cover(grant, self.permissions(of: grant.role).union([.manageAccess])) else {
            throw .grantTooWide(grant)
        }
    }

    // MARK: Tokens

    private func check(_ token: NewToken, in context: DecisionContext) throws(Refusal) {
        // Without terms, or with terms that say nothing, it could be taken for one that may do everything.
        guard let terms = token.terms, terms.grants != nil || terms.principal != nil, terms.grants?.isEmpty != true,
            terms.kind != .session, terms.origin == nil, terms.kind != .code || terms.principal != nil
        else {
            throw .grantTooWide(.everywhere(.admin))
        }
        let patterns = (terms.grants ?? []).reduce(0) { $0 + $1.patternCount }
        guard patterns <= AccessToken.Terms.patternLimit else {
            throw .tooManyPatterns(limit: AccessToken.Terms.patternLimit)
        }
        if terms.kind == .calendar {
            try self.checkFeed(terms, until: token.expiresAt, in: context)
        } else {
            try self.checkTerms(terms, until: token.expiresAt, in: context)
        }
        let networks = self.token(of: context.commander)?.terms?.networks ?? []
        guard
            networks.isEmpty
                || (!terms.networks.isEmpty
                    && terms.networks.allSatisfy { network in networks.contains { $0.contains(network) } })
        else { throw .networksTooWide }
        guard self.tokens[token.id] == nil, self.idByDigest[token.digest] == nil else { throw .tokenExists(token.id) }
        try self.checkCount(of: token, terms, at: context.now)
        guard context.now < token.expiresAt else { throw .expiryNotAhead(token.expiresAt) }
        let limit = context.now.adding(seconds: Self.longestSeconds)
        guard token.expiresAt <= limit else { throw .expiryTooFar(token.expiresAt, limit: limit) }
    }

    /// Refuses a token beyond those that a principal, an app or the installation may have.
    private func checkCount(of token: NewToken, _ terms: AccessToken.Terms, at now: Timestamp) throws(Refusal) {
        let valid = self.tokens.values.lazy.filter { $0.isValid(at: now) }
        let (limit, count) =
            if let principal = terms.principal {
                (Principal.tokenLimit, valid.count { $0.terms?.principal == principal && $0.kind != .session })
            } else if terms.kind == .calendar {
                (Self.feedLimit, valid.count { $0.kind == .calendar && self.apps(of: $0) == terms.grants?.first?.apps })
            } else {
                (Self.tokenLimit, valid.count { $0.kind != .calendar && $0.terms?.principal == nil })
            }
        guard count < limit else { throw .tooManyTokens(limit: limit) }
    }

    /// The token with which an actor acts.
    private func token(of actor: Actor?) -> AccessToken? {
        actor.flatMap { $0.kind == .token ? self.tokens[$0.id] : nil }
    }

    private func checkFeed(
        _ terms: AccessToken.Terms, until end: Timestamp, in context: DecisionContext
    ) throws(Refusal) {
        for grant in terms.grants ?? [] {
            try self.checkMayGive(grant, until: end, [.manageCalendarFeeds, .readApps], in: context)
        }
    }

    /// Refuses terms that give more than who gives them has, now or later.
    private func checkTerms(
        _ terms: AccessToken.Terms, until end: Timestamp, in context: DecisionContext
    ) throws(Refusal) {
        let maker = self.token(of: context.commander)?.terms
        let isOwn = terms.principal != nil && terms.principal == maker?.principal
        if !isOwn {
            // A token of another principal acts in that one's name.
            if terms.principal == nil {
                try context.requireSomewhere(.manageAccess)
            } else {
                try context.requireEverywhere(.manageAccess)
            }
        }
        if let id = terms.principal {
            guard let principal = self.principals[id] else { throw .principalUnknown(id) }
            guard principal.suspendedAt == nil else { throw .principalSuspended(id) }
        }
        guard let grants = terms.grants else {
            // It may do what its principal may, and will be allowed to: nobody else but an administrator gives that.
            guard isOwn ? maker?.grants == nil : context.rights.cover(.everywhere(.admin), Set(Permission.allCases))
            else { throw .grantTooWide(.everywhere(.admin)) }
            return try self.checkEnd(end, isOwn: isOwn, owned: false, in: context)
        }
        for grant in grants {
            guard self.has(grant.role) else { throw .roleUnknown(grant.role) }
            if let last = grant.expiresAt, grant.hasEnded(at: context.now) { throw .expiryNotAhead(last) }
            var permissions = self.permissions(of: grant.role)
            if !isOwn { permissions.insert(.manageAccess) }
            try self.checkMayGive(grant, until: end, permissions, in: context)
            var bounded = grant
            bounded.expiresAt = min(grant.expiresAt ?? end, end)
            let own = maker?.principal.flatMap { self.principals[$0] }.map { Array($0.grants.values) } ?? []
            let owned = Rights(limits: [self.parts(of: own, at: context.now)]).cover(bounded, permissions)
            try self.checkEnd(end, isOwn: isOwn, owned: owned, in: context)
        }
    }

    /// Refuses a token that outlasts the session by which it is made: one for the same principal, or one that gives more than the
    /// principal was granted itself. Otherwise a session, which lasts for hours, could be made into one that lasts for a year.
    private func checkEnd(
        _ end: Timestamp, isOwn: Bool, owned: Bool, in context: DecisionContext
    ) throws(Refusal) {
        guard let session = self.token(of: context.commander), session.terms?.origin != nil, isOwn || !owned else {
            return
        }
        guard end <= session.expiresAt else { throw .expiryTooFar(end, limit: session.expiresAt) }
    }

    /// Refuses a token's grant that gives permissions which who gives them does not have on its apps, for as long.
    private func checkMayGive(
        _ grant: Grant, until end: Timestamp, _ permissions: Set<Permission>, in context: DecisionContext
    ) throws(Refusal) {
        var bounded = grant
        bounded.expiresAt = min(grant.expiresAt ?? end, end)
        guard context.rights.cover(bounded, permissions) else { throw .grantTooWide(grant) }
    }

    /// A token may revoke itself, and the others of its principal; further ones where it may manage all that they open.
    private func revoke(_ id: String, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        let isOwn = self.isOwn(id, of: context.commander)
        let managing: Permission = self.tokens[id]?.kind == .calendar ? .manageCalendarFeeds : .manageAccess
        if !isOwn { try context.requireSomewhere(managing) }
        guard let token = self.tokens[id] else { throw .tokenUnknown(id) }
        let apps = self.apps(of: token)
        let isManaged = isOwn || context.rights.allows(managing, on: apps)
        guard isManaged || context.rights.allows(.readAccess, on: apps) else { throw .tokenUnknown(id) }
        guard token.revokedAt == nil else { throw .tokenRevoked(id) }
        guard isManaged else { throw .permissionMissing(managing, .apps(context.rights.lacking(managing, on: apps))) }
        return [.tokenRevoked(id: id)]
    }

    /// Refuses a replacement of a token that the commander could not revoke, or of one that is no token for people and programs.
    private func check(_ replaced: TokenReplacement, in context: DecisionContext) throws(Refusal) {
        _ = try self.revoke(replaced.token, in: context)
        guard let token = self.tokens[replaced.token], [.general, .pipeline].contains(token.kind) else {
            throw .tokenUnknown(replaced.token)
        }
    }

    /// Whether an actor may know of a token: it is their own, or they may read access on all that it opens.
    package func isVisible(_ token: AccessToken, to actor: Actor?, with rights: Rights) -> Bool {
        self.isOwn(token.id, of: actor) || rights.allows(.readAccess, on: self.apps(of: token))
    }

    /// Whether a token is an actor's own: it acts with it, or with one of the same principal that may do all that this may.
    package func isOwn(_ id: String, of actor: Actor?) -> Bool {
        guard let mine = self.token(of: actor) else { return false }
        guard mine.id != id else { return true }
        guard let terms = mine.terms, terms.grants == nil, let principal = terms.principal else { return false }
        return self.tokens[id]?.terms?.principal == principal
    }
}
