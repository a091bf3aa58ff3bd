import PinWire

// Identity providers, the rules by which their identities are admitted, and sessions.

extension Access {
    /// The most valid sessions of one principal: a pipeline has many at once.
    package static let sessionLimit = 1_000
    /// How long a session is remembered at least, in seconds: no identity token is accepted for longer, and none twice.
    package static let sessionMemory: Int64 = 25 * 3_600
    /// How long what a person was given at a sign-in counts for approvals that it gave, in seconds.
    package static let signInMemory: Int64 = 7 * 86_400

    // MARK: Rights

    /// What rules give now that stand as they did.
    func grants(of rules: [RuleReference]) -> [Grant] {
        rules.flatMap { reference -> [Grant] in
            guard let rule = self.signInRules[reference.name], rule.revision == reference.revision else { return [] }
            return rule.grants
        }
    }

    /// What a principal holds: its own grants, and for people those of the rules by which they signed in last.
    func grants(of principal: Principal, at now: Timestamp) -> [Grant] {
        var grants = Array(principal.grants.values)
        if principal.kind == .person, let last = principal.lastSignIn,
            now < last.time.adding(seconds: Self.signInMemory)
        {
            grants += self.grants(of: last.rules)
        }
        return grants
    }

    // MARK: Changes of the state

    mutating func begin(_ token: NewToken, _ origin: SessionOrigin, at time: Timestamp) {
        if let principal = token.terms?.principal {
            self.principals[principal]?.lastSignIn = Principal.LastSignIn(rules: origin.rules, time: time)
        }
        self.sessionCount += 1
        guard self.sessionCount >= self.sessionsToPrune else { return }
        // Sessions are many and short: what ended long ago is forgotten, each time that there are twice as many as were left.
        let ended = self.tokens.values.filter { token in
            token.kind == .session && token.expiresAt <= time
                && token.createdAt.adding(seconds: Self.sessionMemory) <= time
        }
        for token in ended {
            self.tokens[token.id] = nil
            if self.idByDigest[token.digest] == token.id { self.idByDigest[token.digest] = nil }
        }
        self.sessionCount = Int64(self.tokens.values.count { $0.kind == .session })
        self.sessionsToPrune = max(256, 2 * self.sessionCount)
    }

    // MARK: Decisions

    func decide(_ command: IdentityCommand, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        if case .signIn(let signIn) = command { return try self.signIn(signIn, in: context) }
        try context.requireEverywhere(.manageAccess)
        switch command {
        case .setProvider(let provider):
            let known = self.identityProviders[provider.name]
            guard known != provider else { return [] }
            // Its rules are about another's identities.
            guard known.map({ $0.issuer == provider.issuer }) ?? true else {
                throw .identityProviderFixed(provider.name)
            }
            guard known != nil || self.identityProviders.count < IdentityProvider.limit else {
                throw .tooManyIdentityProviders(limit: IdentityProvider.limit)
            }
            return [.identityProviderSet(provider)]
        case .removeProvider(let name):
            guard self.identityProviders[name] != nil else { throw .identityProviderUnknown(name) }
            guard !self.signInRules.values.contains(where: { $0.provider == name }) else {
                throw .identityProviderInUse(name)
            }
            return [.identityProviderRemoved(name)]
        case .setRule(let rule): return try self.set(rule, in: context)
        case .removeRule(let name):
            guard self.signInRules[name] != nil else { throw .signInRuleUnknown(name) }
            return [.signInRuleRemoved(name)]
        case .link(let identity, let id):
            guard let principal = self.principals[id] else { throw .principalUnknown(id) }
            if let linked = self.identities[identity.id] {
                guard linked.principal == id, linked.identity == identity else { throw .identityTaken(identity.id) }
                return []
            }
            // Sign-ins with it act as the principal, also when it is given more later.
            guard context.rights.cover(.everywhere(.admin), Set(Permission.allCases)) else {
                throw .grantTooWide(.everywhere(.admin))
            }
            guard self.identities.values.count(where: { $0.principal == principal.id }) < Identity.limit else {
                throw .tooManyIdentities(limit: Identity.limit)
            }
            return [.identityLinked(identity, principal: id)]
        case .unlink(let id):
            guard let linked = self.identities[id] else { throw .identityUnknown(id) }
            return [.identityUnlinked(id: id, principal: linked.principal)]
        case .signIn: return []
        }
    }

    private func set(_ rule: SignInRule, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        guard let provider = self.identityProviders[rule.provider] else {
            throw .identityProviderUnknown(rule.provider)
        }
        guard !provider.issuer.isShared || rule.namesOwner else { throw .signInRuleTooOpen(rule.name) }
        for grant in rule.grants { try self.check(grant, in: context) }
        if var known = self.signInRules[rule.name] {
            known.revision = rule.revision
            guard known != rule else { return [] }
        } else if self.signInRules.count >= SignInRule.limit {
            throw .tooManySignInRules(limit: SignInRule.limit)
        }
        return [.signInRuleSet(rule)]
    }

    /// Gives a verified identity a session, and makes a principal of one that is new.
    private func signIn(_ signIn: SignIn, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        guard let provider = self.identityProviders[signIn.provider], provider.issuer == signIn.identity.issuer else {
            throw .identityProviderUnknown(signIn.provider)
        }
        guard self.tokens[signIn.tokenID] == nil, self.idByDigest[signIn.digest] == nil else {
            throw .identityTokenUsed
        }
        var rules = self.signInRules.values.filter { $0.provider == provider.name && $0.admits(signIn.claims) }
            .sorted { $0.name < $1.name }
        let linked = self.identities[signIn.identity.id]
        guard let first = rules.first, linked.map({ $0.identity == signIn.identity }) ?? true else {
            throw .signInDenied
        }
        var events: [AccessEvent] = []
        let (id, kind): (String, Principal.Kind)
        if let linked, let principal = self.principals[linked.principal] {
            guard principal.suspendedAt == nil else { throw .signInDenied }
            (id, kind) = (principal.id, principal.kind)
            let sessions = self.tokens.values.count {
                $0.kind == .session && $0.terms?.principal == id && $0.isValid(at: context.now)
            }
            guard sessions < Self.sessionLimit else { throw .tooManyTokens(limit: Self.sessionLimit) }
        } else {
            (id, kind) = (signIn.identity.principalID, first.kind)
            guard self.principals[id] == nil else { throw .signInDenied }
            guard self.principals.count < Self.principalLimit else {
                throw .tooManyPrincipals(limit: Self.principalLimit)
            }
            events = [
                .principalAdded(id: id, kind, name: signIn.displayName),
                .identityLinked(signIn.identity, principal: id),
            ]
        }
        rules.removeAll { $0.kind != kind }
        guard let seconds = rules.map(\.sessionSeconds).min() else { throw .signInDenied }
        let origin = SessionOrigin(
            identity: signIn.identity, rules: rules.map { RuleReference(name: $0.name, revision: $0.revision) })
        let token = NewToken(
            id: signIn.tokenID, name: "session by \(provider.name)", digest: signIn.digest,
            expiresAt: context.now.adding(seconds: seconds),
            terms: AccessToken.Terms(kind: .session, grants: nil, principal: id, origin: origin))
        return events + [.tokenIssued(token)]
    }
}
