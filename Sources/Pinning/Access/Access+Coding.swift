import Addresses
package import PinWire

// The stream `access`: the declarations of its events.

private let expiresAt = EventField("expires_at", .time)
private let kid = EventField("kid", .text)
private let grantID = EventField("grant_id", .text)
private let name = EventField("name", .text)
private let principalID = EventField("principal_id", .text)
private let digest = EventField(
    "sha256", .bytes("64 hexadecimal digits", count: 32, decode: Hex.decode) { Hex.encode($0) })
private let tokenID = EventField("token_id", .text)
private let role = EventField("role", MemberValue<RoleName>.parsed(RoleName.init(_:), \.text))

extension AccessEvent {
    enum Declared {
        /// Before there were roles: such a token may do everything, and still does.
        static let unscopedTokenIssued = EventDeclaration("TokenIssued", .token, expiresAt, name, digest, tokenID) {
            .access(.tokenIssued(NewToken(id: $3, name: $1, digest: $2, expiresAt: $0, terms: nil)))
        }
        static let tokenIssued = EventDeclaration(
            "TokenIssued", schema: 2, .token, expiresAt,
            EventField(optional: "grants", .list(of: .grant, atMost: AccessToken.Terms.grantLimit)),
            EventField<AccessToken.Kind>("kind", .word), name,
            EventField("networks", .list(of: .network, atMost: AccessToken.Terms.networkLimit)),
            EventField(optional: "principal_id", .text), EventField(optional: "replaces", .replacement), digest,
            EventField(optional: "sign_in", .origin), tokenID
        ) { (end, grants, kind, name, networks, principal, replaced, digest, origin, id) throws(JSONDefect) in
            guard grants != nil || principal != nil else {
                throw JSONDefect(pointer: JSONPointer(), message: "has neither grants nor principal_id")
            }
            let terms = AccessToken.Terms(
                kind: kind, grants: grants, principal: principal, networks: networks, origin: origin)
            return .access(
                .tokenIssued(
                    NewToken(id: id, name: name, digest: digest, expiresAt: end, terms: terms, replaced: replaced)))
        }
        static let tokenRevoked = EventDeclaration("TokenRevoked", .token, tokenID) { .access(.tokenRevoked(id: $0)) }
        static let roleDefined = EventDeclaration(
            "RoleDefined", .access,
            EventField("permissions", .list(of: MemberValue<Permission>.word, atMost: Permission.allCases.count)), role
        ) { .access(.roleDefined($1, Set($0))) }
        static let roleRemoved = EventDeclaration("RoleRemoved", .access, role) { .access(.roleRemoved($0)) }
        static let principalAdded = EventDeclaration(
            "PrincipalAdded", .access, EventField<Principal.Kind>("kind", .word), name, principalID
        ) { .access(.principalAdded(id: $2, $0, name: $1)) }
        static let principalRenamed = EventDeclaration("PrincipalRenamed", .access, name, principalID) {
            .access(.principalRenamed(id: $1, name: $0))
        }
        static let principalSuspended = EventDeclaration("PrincipalSuspended", .access, principalID) {
            .access(.principalSuspended(id: $0))
        }
        static let principalReinstated = EventDeclaration("PrincipalReinstated", .access, principalID) {
            .access(.principalReinstated(id: $0))
        }
        static let roleGranted = EventDeclaration(
            "RoleGranted", .access, EventField("apps", .list(of: .apps, atMost: Grant.patternLimit)),
            EventField(optional: "expires_at", .time), grantID,
            EventField(optional: "hosts", .list(of: MemberValue<HostPattern>.host, atMost: Grant.patternLimit)),
            principalID,
            role
        ) { .access(.roleGranted(id: $2, principal: $4, Grant(role: $5, apps: $0, hosts: $3, expiresAt: $1))) }
        static let grantRevoked = EventDeclaration("GrantRevoked", .access, grantID, principalID) {
            .access(.grantRevoked(id: $0, principal: $1))
        }
        static let approvalKeyAdded = EventDeclaration(
            "ApprovalKeyAdded", .access, kid, principalID, EventField("public_key", .publicKey)
        ) { .access(.approvalKeyAdded(ApprovalKey(kid: $0, publicKey: $2), principal: $1)) }
        static let approvalKeyRemoved = EventDeclaration("ApprovalKeyRemoved", .access, kid, principalID) {
            .access(.approvalKeyRemoved(kid: $0, principal: $1))
        }
        static let approvalRuleSet = EventDeclaration(
            "ApprovalRuleSet", .access,
            EventField(
                all: { (m) throws(JSONDefect) in
                    let name = try m.required("rule").parse(RoleName.init(_:))
                    return try ApprovalRule(&m, name: name)
                }, \.members)
        ) { .access(.approvalRuleSet($0)) }
        static let approvalRuleRemoved = EventDeclaration(
            "ApprovalRuleRemoved", .access, EventField("rule", MemberValue<RoleName>.parsed(RoleName.init(_:), \.text))
        ) { .access(.approvalRuleRemoved($0)) }
        static let freezeSet = EventDeclaration(
            "FreezeSet", .access,
            EventField(
                all: { (m) throws(JSONDefect) in
                    let id = try m.required("freeze_id").string()
                    return try Freeze(&m, id: id)
                }, \.members)
        ) { .access(.freezeSet($0)) }
        static let freezeRemoved = EventDeclaration("FreezeRemoved", .access, EventField("freeze_id", .text)) {
            .access(.freezeRemoved(id: $0))
        }

        static let identityProviderSet = EventDeclaration(
            "IdentityProviderSet", .access,
            EventField(
                all: { (m) throws(JSONDefect) in
                    let name = try m.required("provider").parse(RoleName.init(_:))
                    return try IdentityProvider(&m, name: name)
                }, \.members)
        ) { .access(.identityProviderSet($0)) }
        static let identityProviderRemoved = EventDeclaration(
            "IdentityProviderRemoved", .access,
            EventField("provider", MemberValue<RoleName>.parsed(RoleName.init(_:), \.text))
        ) { .access(.identityProviderRemoved($0)) }
        static let signInRuleSet = EventDeclaration(
            "SignInRuleSet", .access,
            EventField(
                all: { (m) throws(JSONDefect) in
                    let name = try m.required("rule").parse(RoleName.init(_:))
                    return try SignInRule(&m, name: name)
                }, \.members)
        ) { .access(.signInRuleSet($0)) }
        static let signInRuleRemoved = EventDeclaration(
            "SignInRuleRemoved", .access, EventField("rule", MemberValue<RoleName>.parsed(RoleName.init(_:), \.text))
        ) { .access(.signInRuleRemoved($0)) }
        static let identityLinked = EventDeclaration(
            "IdentityLinked", .access,
            EventField(
                all: { (m) throws(JSONDefect) in try LinkedIdentity(&m) }, \.members)
        ) { .access(.identityLinked($0.identity, principal: $0.principal ?? "")) }
        static let identityUnlinked = EventDeclaration(
            "IdentityUnlinked", .access, EventField("identity_id", .text), principalID
        ) { .access(.identityUnlinked(id: $0, principal: $1)) }

        static let all: [any DeclaredEvent] = [
            identityProviderSet, identityProviderRemoved, signInRuleSet, signInRuleRemoved, identityLinked,
            identityUnlinked,
            approvalKeyAdded, approvalKeyRemoved, approvalRuleSet, approvalRuleRemoved, freezeSet, freezeRemoved,
            unscopedTokenIssued, tokenIssued, tokenRevoked, roleDefined, roleRemoved, principalAdded, principalRenamed,
            principalSuspended, principalReinstated, roleGranted, grantRevoked,
        ]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .tokenIssued(let token):
            guard let terms = token.terms else {
                return visitor.visit(
                    Declared.unscopedTokenIssued, token.expiresAt, token.name, token.digest, token.id)
            }
            return visitor.visit(
                Declared.tokenIssued, token.expiresAt, terms.grants, terms.kind, token.name, terms.networks,
                terms.principal, token.replaced, token.digest, terms.origin, token.id)
        case .tokenRevoked(let id): return visitor.visit(Declared.tokenRevoked, id)
        case .roleDefined(let name, let permissions):
            return visitor.visit(
                Declared.roleDefined, permissions.sorted { $0.rawValue < $1.rawValue }, name)
        case .roleRemoved(let name): return visitor.visit(Declared.roleRemoved, name)
        case .principalAdded(let id, let kind, let name): return visitor.visit(Declared.principalAdded, kind, name, id)
        case .principalRenamed(let id, let name): return visitor.visit(Declared.principalRenamed, name, id)
        case .principalSuspended(let id): return visitor.visit(Declared.principalSuspended, id)
        case .principalReinstated(let id): return visitor.visit(Declared.principalReinstated, id)
        case .roleGranted(let id, let principal, let grant):
            return visitor.visit(
                Declared.roleGranted, grant.apps, grant.expiresAt, id, grant.hosts, principal, grant.role)
        case .grantRevoked(let id, let principal): return visitor.visit(Declared.grantRevoked, id, principal)
        case .approvalKeyAdded(let key, let principal):
            return visitor.visit(Declared.approvalKeyAdded, key.kid, principal, key.publicKey)
        case .approvalKeyRemoved(let kid, let principal):
            return visitor.visit(Declared.approvalKeyRemoved, kid, principal)
        case .approvalRuleSet(let rule): return visitor.visit(Declared.approvalRuleSet, rule)
        case .approvalRuleRemoved(let name): return visitor.visit(Declared.approvalRuleRemoved, name)
        case .freezeSet(let freeze): return visitor.visit(Declared.freezeSet, freeze)
        case .freezeRemoved(let id): return visitor.visit(Declared.freezeRemoved, id)
        case .identityProviderSet(let provider): return visitor.visit(Declared.identityProviderSet, provider)
        case .identityProviderRemoved(let name): return visitor.visit(Declared.identityProviderRemoved, name)
        case .signInRuleSet(let rule): return visitor.visit(Declared.signInRuleSet, rule)
        case .signInRuleRemoved(let name): return visitor.visit(Declared.signInRuleRemoved, name)
        case .identityLinked(let identity, let principal):
            return visitor.visit(
                Declared.identityLinked, LinkedIdentity(identity: identity, principal: principal))
        case .identityUnlinked(let id, let principal): return visitor.visit(Declared.identityUnlinked, id, principal)
        }
    }
}

extension MemberValue<Grant> {
    fileprivate static var grant: Self { Self({ (field) throws(JSONDefect) in try Grant(field) }, \.json) }
}

extension MemberValue<AppPattern> {
    fileprivate static var apps: Self { .parsed(AppPattern.init(_:), \.description) }
}

extension MemberValue<SessionOrigin> {
    fileprivate static var origin: Self {
        Self({ (field) throws(JSONDefect) in try SessionOrigin(field) }, \.json)
    }
}

extension MemberValue<TokenReplacement> {
    fileprivate static var replacement: Self {
        Self({ (field) throws(JSONDefect) in try TokenReplacement(field) }, \.json)
    }
}

extension MemberValue<IPNetwork> {
    fileprivate static var network: Self { .parsed(IPNetwork.init(_:), \.description) }
}

extension Access {
    /// All of it, without digests.
    package var json: JSON { self.json(whereNot: nil) }

    /// What is here and not the same in another state; all of it without one.
    package func json(whereNot other: Access?) -> JSON {
        var principals: [String: JSON] = [:]
        for (id, principal) in self.principals where other == nil || other?.principals[id] != principal {
            guard case .object(var members) = principal.json else { continue }
            // By their ids, so that only a grant that differs is a difference.
            let there = other?.principals[id]?.grants ?? [:]
            members["grants"] = .object(principal.grants.filter { there[$0.key] != $0.value }.mapValues(\.json))
            principals[id] = .object(members)
        }
        let tokens = self.tokens.filter { other == nil || other?.tokens[$0.key] != $0.value }
        let roles = self.roles.filter { other == nil || other?.roles[$0.key] != $0.value }
        return [
            "tokens": .object(tokens.mapValues(\.json)),
            "roles": .object(
                Dictionary(
                    uniqueKeysWithValues: roles.map { name, permissions in
                        (name.text, .array(permissions.map(\.rawValue).sorted().map { .string($0) }))
                    })),
            "principals": .object(principals),
            "approval_rules": .object(
                Dictionary(
                    uniqueKeysWithValues: self.approvalRules
                        .filter { other == nil || other?.approvalRules[$0.key] != $0.value }
                        .map { ($0.key.text, $0.value.json) })),
            "freezes": .object(
                self.freezes.filter { other == nil || other?.freezes[$0.key] != $0.value }.mapValues(\.json)),
            "identity_providers": .object(
                Dictionary(
                    uniqueKeysWithValues: self.identityProviders
                        .filter { other == nil || other?.identityProviders[$0.key] != $0.value }
                        .map { ($0.key.text, $0.value.json) })),
            "sign_in_rules": .object(
                Dictionary(
                    uniqueKeysWithValues: self.signInRules
                        .filter { other == nil || other?.signInRules[$0.key]?.members != $0.value.members }
                        .map { ($0.key.text, $0.value.json) })),
            "identities": .object(
                self.identities.filter { other == nil || other?.identities[$0.key] != $0.value }
                    .mapValues { .object($0.members) }),
        ]
    }
}

extension AccessToken.Terms {
    /// The form of snapshots.
    var json: JSON {
        .members([
            "grants": self.grants.map { .array($0.map(\.json)) },
            "kind": .string(self.kind.rawValue),
            "networks": .array(self.networks.map { .string($0.description) }),
            "principal_id": self.principal.map { .string($0) },
            "sign_in": self.origin?.json,
        ])
    }

    /// Reads terms as ``json`` writes them.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var terms = try AccessToken.Terms(&members)
            terms.origin = try members.optional("sign_in").mapped(SessionOrigin.init(_:))
            return terms
        }
    }

    /// Takes the members of terms that a request states, and leaves others.
    package init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.kind = try members.optional("kind")?.oneOf(AccessToken.Kind.self) ?? .general
        self.grants = try members.optional("grants").mapped { (field) throws(JSONDefect) in
            var grants: [Grant] = []
            for grant in try field.elements(atMost: Self.grantLimit) { grants.append(try Grant(grant)) }
            guard !grants.isEmpty else { throw field.defect("must have at least one grant, or be left out") }
            return grants
        }
        self.principal = try members.optional("principal_id")?.string()
        self.networks = []
        for network in try members.optional("networks")?.elements(atMost: Self.networkLimit) ?? [] {
            self.networks.append(try network.parse(IPNetwork.init(_:)))
        }
    }
}
