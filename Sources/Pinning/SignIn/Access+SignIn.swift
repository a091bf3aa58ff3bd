package import PinWire

// Identity providers, the rules by which their identities are admitted, and sessions.

extension Access {
    /// The most sessions of one person and of one service that are remembered: a pipeline has many.
    package static func sessionLimit(_ kind: Principal.Kind) -> Int { kind == .person ? 500 : 20_000 }
    /// How long a session is remembered at least, in seconds: no identity token is accepted for longer, and none twice.
    package static let sessionMemory: Int64 = 25 * 3_600
    /// How long a revoked one is remembered, in seconds: as long as a change that was proposed with it may be applied.
    package static let revocationMemory: Int64 = ProposedChange.longestSeconds + 86_400
    /// How long the rules of a principal's last sign-in count for its approvals and for changes that it proposed, in seconds.
    package static let signInMemory: Int64 = 7 * 86_400

    // MARK: Rights

    /// What rules give now that stand as they did.
    func grants(of rules: [RuleReference]) -> [Grant] {
        rules.flatMap { reference -> [Grant] in
            guard let rule = self.signInRules[reference.name], rule.revision == reference.revision else { return [] }
            return rule.grants
        }
    }

    /// What a principal holds while it has no session: its own grants, and for some time those of the rules by which it signed in last.
    func grants(of principal: Principal, at now: Timestamp) -> [Grant] {
        var grants = Array(principal.grants.values)
        if let last = principal.lastSignIn, now < last.time.adding(seconds: Self.signInMemory) {
            grants += self.grants(of: last.rules)
        }
        return grants
    }

    /// Whether an identity still signs in as a principal. Programs that were never linked do.
    func isOf(_ principal: String, _ identity: Identity) -> Bool {
        self.identities[identity.id].map { $0.principal == principal && $0.identity == identity } ?? true
    }

    /// Whether an identity still signs in as a principal, and the session by which a token was made was not ended.
    func stands(_ origin: SessionOrigin, of principal: String) -> Bool {
        guard self.isOf(principal, origin.identity) else { return false }
        // Forgotten is only what ended.
        return origin.session.map { id in self.tokens[id].map { $0.revokedAt == nil } ?? false } ?? true
    }

    // MARK: Changes of the state

    mutating func begin(_ token: NewToken, _ origin: SessionOrigin, at time: Timestamp) {
        guard token.terms?.kind == .session, let principal = token.terms?.principal else { return }
        self.principals[principal]?.lastSignIn = Principal.LastSignIn(rules: origin.rules, time: time)
        self.sessionCounts[principal, default: 0] += 1
        let limit = self.principals[principal].map { Self.sessionLimit($0.kind) } ?? .max
        let isOverLimit = self.sessionCounts[principal, default: 0] > limit
        guard isOverLimit || self.sessionCounts.values.reduce(0, +) >= self.sessionsToPrune else { return }
        // Sessions are many and short: what ended long ago is forgotten, each time that there are twice as many as were left.
        let ended = self.tokens.values.filter { $0.kind == .session && $0.isForgotten(at: time) }
        for token in ended {
            self.tokens[token.id] = nil
            if self.idByDigest[token.digest] == token.id { self.idByDigest[token.digest] = nil }
        }
        self.sessionCounts = [:]
        for token in self.tokens.values where token.kind == .session {
            if let principal = token.terms?.principal { self.sessionCounts[principal, default: 0] += 1 }
        }
        self.sessionsToPrune = max(256, 2 * Int64(self.sessionCounts.values.reduce(0, +)))
    }

    // MARK: Decisions

    func decide(_ command: IdentityCommand, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        switch command {
        case .signIn(let signIn): return try self.signIn(signIn, in: context)
        case .redeem(let code, let id, let digest, let end):
            return try self.redeem(code, id, digest, until: end, in: context)
        case .setProvider, .removeProvider, .setRule, .removeRule, .link, .unlink:
            try context.requireEverywhere(.manageAccess)
        }
        switch command {
        case .setProvider(let provider): return try self.set(provider, in: context)
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
        case .link(let identity, let id): return try self.link(identity, id, in: context)
        case .unlink(let id):
            guard let linked = self.identities[id], let principal = linked.principal else { throw .identityUnknown(id) }
            return [.identityUnlinked(id: id, principal: principal)]
        case .signIn, .redeem: return []
        }
    }

    /// The code is revoked in the same append in which the token is issued: however many redeem it at once, one gets a token.
    private func redeem(
        _ codeDigest: [UInt8], _ id: String, _ digest: [UInt8], until end: Timestamp, in context: DecisionContext
    ) throws(Refusal) -> [AccessEvent] {
        guard let code = self.code(codeDigest, at: context.now), let terms = code.terms else { throw .codeInvalid }
        guard self.tokens[id] == nil, self.idByDigest[digest] == nil else { throw .tokenExists(id) }
        let token = NewToken(
            id: id, name: code.name, digest: digest, expiresAt: end,
            terms: AccessToken.Terms(
                kind: .general, grants: terms.grants, principal: terms.principal, networks: terms.networks))
        return [.tokenRevoked(id: code.id), .tokenIssued(token)]
    }

    /// The code of a digest that can be redeemed now; nil for none.
    package func code(_ digest: [UInt8], at now: Timestamp) -> AccessToken? {
        guard let id = self.idByDigest[digest], let code = self.tokens[id], code.kind == .code, code.isValid(at: now),
            code.terms?.principal != nil, self.isPrincipalActive(of: code)
        else { return nil }
        return code
    }

    /// Refuses who does not hold everything: who chooses whose tokens are accepted could have those of anyone.
    private func requireEverything(in context: DecisionContext) throws(Refusal) {
        guard context.rights.cover(.everywhere(.admin), Set(Permission.allCases)) else {
            throw .grantTooWide(.everywhere(.admin))
        }
    }

    private func set(_ provider: IdentityProvider, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        let known = self.identityProviders[provider.name]
        guard known != provider else { return [] }
        try self.requireEverything(in: context)
        // Its rules are about another's identities.
        guard known.map({ $0.issuer == provider.issuer }) ?? true else { throw .identityProviderFixed(provider.name) }
        if let other = self.identityProviders.values.first(where: {
            $0.issuer == provider.issuer && $0.name != provider.name
        }) {
            throw .issuerTaken(by: other.name)
        }
        guard known != nil || self.identityProviders.count < IdentityProvider.limit else {
            throw .tooManyIdentityProviders(limit: IdentityProvider.limit)
        }
        return [.identityProviderSet(provider)]
    }

    private func set(_ rule: SignInRule, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        guard let provider = self.identityProviders[rule.provider] else {
            throw .identityProviderUnknown(rule.provider)
        }
        guard !provider.issuer.isShared || rule.namesOwner else { throw .signInRuleTooOpen(rule.name) }
        for grant in rule.grants { try self.check(grant, in: context) }
        // Programs that it admits act as its principal, with what that was granted itself.
        for grant in self.grants(ofJobsOf: rule) where !grant.hasEnded(at: context.now) {
            try self.checkMayGive(grant, in: context)
        }
        if let known = self.signInRules[rule.name] {
            guard known.json != rule.json else { return [] }
        } else if self.signInRules.count >= SignInRule.limit {
            throw .tooManySignInRules(limit: SignInRule.limit)
        }
        return [.signInRuleSet(rule)]
    }

    /// What the principal of a rule's programs was granted itself: nothing where there is none.
    func grants(ofJobsOf rule: SignInRule) -> [Grant] {
        guard rule.kind == .service, let issuer = self.identityProviders[rule.provider]?.issuer,
            let principal = self.principals[rule.principalID(at: issuer)]
        else { return [] }
        return Array(principal.grants.values)
    }

    private func link(
        _ identity: Identity, _ id: String, in context: DecisionContext
    ) throws(Refusal) -> [AccessEvent] {
        guard let principal = self.principals[id] else { throw .principalUnknown(id) }
        if let linked = self.identities[identity.id] {
            guard linked.identity == identity, linked.principal.map({ $0 == id }) ?? true else {
                throw .identityTaken(identity.id)
            }
            if linked.principal == id { return [] }
        }
        // Sign-ins with it act as the principal, also when it is given more later.
        try self.requireEverything(in: context)
        guard self.identities.values.count(where: { $0.principal == principal.id }) < Identity.limit else {
            throw .tooManyIdentities(limit: Identity.limit)
        }
        guard self.identities[identity.id] != nil || self.identities.count < Identity.totalLimit else {
            throw .tooManyIdentities(limit: Identity.totalLimit)
        }
        return [.identityLinked(identity, principal: id)]
    }

    // MARK: Signing in

    /// How an identity signs in: by which rules, as whom, and as what kind of principal.
    private struct Admission {
        var rules: [SignInRule]
        var principal: String
        var kind: Principal.Kind
        /// The name of a principal that is to be made; nil for one that there is.
        var newName: String?
    }

    /// The principal as which a verified identity would sign in now.
    ///
    /// - Throws: ``Refusal/signInDenied``, ``Refusal/identityUnlinked(_:)``.
    package func principalID(
        of identity: Identity, _ claims: IdentityClaims, by provider: RoleName
    ) throws(Refusal) -> String {
        try self.admission(of: identity, claims, by: provider, displayName: "").principal
    }

    /// People are admitted as themselves, each with a principal of their own. Programs that are not linked share one principal for each
    /// rule: a CI system has as many subjects as there are branches. A person's rules come first where both admit an identity.
    private func admission(
        of identity: Identity, _ claims: IdentityClaims, by name: RoleName, displayName: String
    ) throws(Refusal) -> Admission {
        guard let provider = self.identityProviders[name], provider.issuer == identity.issuer else {
            throw .signInDenied
        }
        let linked = self.identities[identity.id]
        guard linked.map({ $0.identity == identity }) ?? true else { throw .signInDenied }
        let admitting = self.signInRules.values.filter { $0.provider == name && $0.admits(claims) }
            .sorted { $0.name < $1.name }
        func rules(_ kind: Principal.Kind, isLinked: Bool) -> [SignInRule] {
            admitting.filter { $0.kind == kind && (isLinked || !$0.isForLinked) }
        }
        if let linked {
            guard let id = linked.principal else {
                throw admitting.isEmpty ? .signInDenied : .identityUnlinked(identity.id)
            }
            guard let principal = self.principals[id], principal.suspendedAt == nil else { throw .signInDenied }
            let rules = rules(principal.kind, isLinked: true)
            guard !rules.isEmpty else { throw .signInDenied }
            return Admission(rules: rules, principal: id, kind: principal.kind)
        }
        let people = rules(.person, isLinked: false)
        let chosen = people.isEmpty ? rules(.service, isLinked: false) : people
        guard let first = chosen.first else {
            throw admitting.isEmpty ? .signInDenied : .identityUnlinked(identity.id)
        }
        let id = people.isEmpty ? first.principalID(at: identity.issuer) : identity.principalID
        if let known = self.principals[id] {
            // A person's would have been linked.
            guard people.isEmpty, known.kind == .service, known.suspendedAt == nil else { throw .signInDenied }
            return Admission(rules: chosen, principal: id, kind: .service)
        }
        return Admission(
            rules: chosen, principal: id, kind: first.kind,
            newName: people.isEmpty ? "jobs of \(first.name)" : displayName)
    }

    /// Gives a verified identity a session, and makes a principal of one that is new.
    private func signIn(_ signIn: SignIn, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        guard self.tokens[signIn.tokenID] == nil, self.idByDigest[signIn.digest] == nil else {
            throw .identityTokenUsed
        }
        let admission = try self.admission(
            of: signIn.identity, signIn.claims, by: signIn.provider, displayName: signIn.displayName)
        // It was linked otherwise in between: the events would name the wrong actor.
        guard admission.principal == signIn.principal, let seconds = admission.rules.map(\.sessionSeconds).min() else {
            throw .signInDenied
        }
        let limit = Self.sessionLimit(admission.kind)
        if self.sessionCounts[admission.principal, default: 0] >= limit {
            // Those that can be forgotten do not count; the next session forgets them.
            let remembered = self.tokens.values.count {
                $0.kind == .session && $0.terms?.principal == admission.principal && !$0.isForgotten(at: context.now)
            }
            guard remembered < limit else { throw .tooManyTokens(limit: limit) }
        }
        var events: [AccessEvent] = []
        if let name = admission.newName {
            guard self.principals.count < Self.principalLimit else {
                throw .tooManyPrincipals(limit: Self.principalLimit)
            }
            events.append(.principalAdded(id: admission.principal, admission.kind, name: name))
            if admission.kind == .person {
                events.append(.identityLinked(signIn.identity, principal: admission.principal))
            }
        }
        // Also another person's: its cookie is gone, and nobody could sign it out any more.
        if let id = signIn.earlier, let earlier = self.tokens[id], earlier.isValid(at: context.now),
            earlier.terms?.origin?.isForBrowser == true
        {
            events.append(.tokenRevoked(id: id))
        }
        let origin = SessionOrigin(
            identity: signIn.identity,
            rules: admission.rules.map { RuleReference(name: $0.name, revision: $0.revision) },
            authenticatedAt: signIn.authenticatedAt, isForBrowser: signIn.isForBrowser)
        let token = NewToken(
            id: signIn.tokenID,
            // What a program says of itself besides its subject may be anything.
            name: admission.kind == .person ? signIn.displayName : signIn.identity.subject, digest: signIn.digest,
            expiresAt: context.now.adding(seconds: seconds),
            terms: AccessToken.Terms(kind: .session, grants: nil, principal: admission.principal, origin: origin))
        return events + [.tokenIssued(token)]
    }
}

extension AccessToken {
    /// Whether a session that ended is no longer needed to recognise its identity token, or a change that it proposed.
    fileprivate func isForgotten(at now: Timestamp) -> Bool {
        self.expiresAt <= now && self.createdAt.adding(seconds: Access.sessionMemory) <= now
            && (self.revokedAt.map { $0.adding(seconds: Access.revocationMemory) <= now } ?? true)
    }
}
