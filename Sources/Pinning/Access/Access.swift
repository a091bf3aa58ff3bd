package import PinWire

/// Who may do what: the state of the stream `access`.
package struct Access: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    /// All API tokens ever issued, but for sessions that ended long ago.
    package var tokens: [String: AccessToken] = [:]
    /// Token id by digest.
    package var idByDigest: [[UInt8]: String] = [:]
    /// The roles of this installation, beside ``BuiltInRole``.
    package var roles: [RoleName: Set<Permission>] = [:]
    package var principals: [String: Principal] = [:]
    /// Principal by grant id.
    package var principalByGrant: [String: String] = [:]
    package var approvalRules: [RoleName: ApprovalRule] = [:]
    /// By their ids; those that are over are left out when another is set.
    package var freezes: [String: Freeze] = [:]

    package var identityProviders: [RoleName: IdentityProvider] = [:]
    package var signInRules: [RoleName: SignInRule] = [:]
    /// By their ids.
    package var identities: [String: LinkedIdentity] = [:]
    /// How many sessions of each principal are among the tokens, and how many there are to be in all before those that ended are looked
    /// for.
    var sessionCounts: [String: Int] = [:]
    var sessionsToPrune: Int64 = 256

    /// The longest life of a token: a year.
    package static let longestSeconds: Int64 = 366 * 86_400
    package static let roleLimit = 100
    package static let approvalRuleLimit = 100
    /// The most valid tokens that belong to no principal, and the most valid calendar feeds of an app.
    package static let tokenLimit = 10_000
    package static let feedLimit = 100
    package static let principalLimit = 10_000

    package init() {}

    package mutating func evolve(_ event: AccessEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .tokenIssued(let token):
            self.tokens[token.id] = AccessToken(
                id: token.id, name: token.name, digest: token.digest, createdAt: time, expiresAt: token.expiresAt,
                terms: token.terms)
            self.idByDigest[token.digest] = token.id
            if let replaced = token.replaced { self.end(replaced, for: token.id, at: time) }
            if let origin = token.terms?.origin { self.begin(token, origin, at: time) }
        case .tokenRevoked(let id): self.tokens[id]?.revokedAt = time
        case .roleDefined(let name, let permissions): self.roles[name] = permissions
        case .roleRemoved(let name): self.roles[name] = nil
        case .principalAdded(let id, let kind, let name):
            self.principals[id] = Principal(id: id, kind: kind, name: name, createdAt: time)
        case .principalRenamed(let id, let name): self.principals[id]?.name = name
        case .principalSuspended(let id): self.principals[id]?.suspendedAt = time
        case .principalReinstated(let id): self.principals[id]?.suspendedAt = nil
        case .roleGranted(let id, let principal, let grant):
            guard self.principals[principal] != nil else { return }
            self.principals[principal]?.grants[id] = grant
            self.principalByGrant[id] = principal
        case .grantRevoked(let id, let principal):
            guard self.principalByGrant[id] == principal else { return }
            self.principalByGrant[id] = nil
            self.principals[principal]?.grants[id] = nil
        case .approvalKeyAdded(let key, let principal): self.principals[principal]?.approvalKeys[key.kid] = key
        case .approvalKeyRemoved(let kid, let principal): self.principals[principal]?.approvalKeys[kid] = nil
        case .approvalRuleSet(let rule): self.approvalRules[rule.name] = rule
        case .approvalRuleRemoved(let name): self.approvalRules[name] = nil
        case .freezeSet(let freeze):
            self.freezes = self.freezes.filter { time < $0.value.until }
            self.freezes[freeze.id] = freeze
        case .freezeRemoved(let id): self.freezes[id] = nil
        case .identityProviderSet(let provider): self.identityProviders[provider.name] = provider
        case .identityProviderRemoved(let name): self.identityProviders[name] = nil
        case .signInRuleSet(var rule):
            rule.revision = self.version
            self.signInRules[rule.name] = rule
        case .signInRuleRemoved(let name): self.signInRules[name] = nil
        case .identityLinked(let identity, let principal):
            self.identities[identity.id] = LinkedIdentity(identity: identity, principal: principal)
        case .identityUnlinked(let id, let principal):
            self.identities[id]?.principal = nil
            self.principals[principal]?.lastSignIn?.rules = []
        }
    }

    /// Lets an earlier token end after its overlap with the one that replaces it; a longer life it never gets.
    private mutating func end(_ replaced: TokenReplacement, for id: String, at time: Timestamp) {
        guard let earlier = self.tokens[replaced.token] else { return }
        self.tokens[replaced.token]?.expiresAt = min(earlier.expiresAt, time.adding(seconds: replaced.overlap))
        self.tokens[replaced.token]?.replacedBy = id
    }

    // MARK: Rights

    /// The permissions of a role; none for one that there is not, so that a grant of it gives nothing.
    package func permissions(of role: RoleName) -> Set<Permission> {
        BuiltInRole(rawValue: role.text)?.permissions ?? self.roles[role] ?? []
    }

    /// Whether there is a role of this name.
    package func has(_ role: RoleName) -> Bool { BuiltInRole(rawValue: role.text) != nil || self.roles[role] != nil }

    /// What an actor may do at `now`: nothing for a token that is unknown, revoked or expired, or whose principal is
    /// suspended.
    package func rights(of actor: Actor, at now: Timestamp) -> Rights {
        switch actor.kind {
        case .local, .system: .everything
        case .token: self.tokens[actor.id].map { self.rights(of: $0, at: now) } ?? .nothing
        }
    }

    package func rights(of token: AccessToken, at now: Timestamp) -> Rights {
        guard token.isValid(at: now) else { return .nothing }
        guard !token.isUnscoped else { return .everything }
        guard let terms = token.terms else { return .nothing }
        var limits: [[Rights.Part]] = []
        if let grants = terms.grants { limits.append(self.parts(of: grants, at: now)) }
        if let id = terms.principal {
            guard let principal = self.principals[id], principal.suspendedAt == nil else { return .nothing }
            // Identities' rights are those of the rules that admitted them, and the principal's own; of further tokens only the latter.
            if let origin = terms.origin, !self.stands(origin, of: id) { return .nothing }
            let grants = Array(principal.grants.values) + self.grants(of: terms.origin?.rules ?? [])
            limits.append(self.parts(of: grants, at: now))
        }
        return limits.isEmpty ? .nothing : Rights(limits: limits)
    }

    /// Whether a token is on its own, or its principal is not suspended, and what it comes from still stands.
    package func isPrincipalActive(of token: AccessToken) -> Bool {
        guard let id = token.terms?.principal else { return true }
        if let origin = token.terms?.origin, !self.stands(origin, of: id) { return false }
        return self.principals[id].map { $0.suspendedAt == nil } ?? false
    }

    func parts(of grants: some Sequence<Grant>, at now: Timestamp) -> [Rights.Part] {
        grants.compactMap { grant in
            guard !grant.hasEnded(at: now) else { return nil }
            return Rights.Part(
                permissions: self.permissions(of: grant.role), apps: grant.apps, hosts: grant.hosts,
                endsAt: grant.expiresAt)
        }
    }

    /// The apps on which a token opens anything; all where that is nothing, so that only who sees everything sees it.
    package func apps(of token: AccessToken) -> [AppPattern] {
        guard let terms = token.terms else { return token.feed.map { [.one($0)] } ?? [.all] }
        let own = terms.principal.flatMap { self.principals[$0] }.map { Array($0.grants.values) } ?? []
        let grants = terms.grants ?? own + self.grants(of: terms.origin?.rules ?? [])
        return grants.isEmpty ? [.all] : grants.flatMap(\.apps)
    }
}

/// A token to be issued, without its text.
package struct NewToken: Hashable, Sendable {
    package var id: String
    package var name: String
    /// SHA-256 of the token's text, 32 bytes.
    package var digest: [UInt8]
    package var expiresAt: Timestamp
    /// Nil only in events from before there were roles: such a token may do everything.
    package var terms: AccessToken.Terms?
    /// The token in whose place it is issued; nil for none.
    package var replaced: TokenReplacement?

    package init(
        id: String, name: String, digest: [UInt8], expiresAt: Timestamp, terms: AccessToken.Terms?,
        replaced: TokenReplacement? = nil
    ) {
        self.id = id
        self.name = name
        self.digest = digest
        self.expiresAt = expiresAt
        self.terms = terms
        self.replaced = replaced
    }
}

/// A fact about who may do what.
package enum AccessEvent: Hashable, Sendable {
    case tokenIssued(NewToken)
    case tokenRevoked(id: String)
    /// A role of this installation has these permissions from now on.
    case roleDefined(RoleName, Set<Permission>)
    case roleRemoved(RoleName)
    case principalAdded(id: String, Principal.Kind, name: String)
    case principalRenamed(id: String, name: String)
    case principalSuspended(id: String)
    case principalReinstated(id: String)
    case roleGranted(id: String, principal: String, Grant)
    case grantRevoked(id: String, principal: String)
    case approvalKeyAdded(ApprovalKey, principal: String)
    case approvalKeyRemoved(kid: String, principal: String)
    case approvalRuleSet(ApprovalRule)
    case approvalRuleRemoved(RoleName)
    case freezeSet(Freeze)
    case freezeRemoved(id: String)
    case identityProviderSet(IdentityProvider)
    case identityProviderRemoved(RoleName)
    case signInRuleSet(SignInRule)
    case signInRuleRemoved(RoleName)
    case identityLinked(Identity, principal: String)
    case identityUnlinked(id: String, principal: String)
}

/// A command about who may do what.
package enum AccessCommand: Hashable, Sendable {
    /// The token MUST have terms.
    case issueToken(NewToken)
    case revokeToken(id: String)
    case defineRole(RoleName, Set<Permission>)
    case removeRole(RoleName)
    case addPrincipal(id: String, Principal.Kind, name: String)
    case renamePrincipal(id: String, name: String)
    /// None of the principal's tokens is accepted until it is reinstated.
    case suspendPrincipal(id: String)
    case reinstatePrincipal(id: String)
    case grantRole(id: String, principal: String, Grant)
    case revokeGrant(id: String)
    case addApprovalKey(ApprovalKey, principal: String)
    case removeApprovalKey(kid: String, principal: String)
    /// Adds a rule, or gives the one of its name other terms.
    case setApprovalRule(ApprovalRule)
    case removeApprovalRule(RoleName)
    case setFreeze(Freeze)
    case removeFreeze(id: String)
    case identity(IdentityCommand)
}
