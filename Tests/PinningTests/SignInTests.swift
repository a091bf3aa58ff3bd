import PinWire
import Testing

@testable import Pinning

/// A verified identity's sign-in.
func signIn(
    _ subject: String = "1", of provider: IdentityProvider = company,
    _ claims: [String: JSON] = ["groups": ["Entwicklung"]], as id: String = "tok_s", acting principal: String? = nil
) -> SignIn {
    let identity = identity(subject, of: provider)
    return SignIn(
        provider: provider.name, identity: identity, claims: IdentityClaims(claims), displayName: "Ada",
        principal: principal ?? identity.principalID, tokenID: id, digest: sha256(id.utf8))
}

@Suite struct SignInTests {
    private static let set = AccessCommand.identity(.setProvider(company))
    private static let ada = AccessCommand.addPrincipal(id: "prn_1", .person, name: "Ada")

    private static func rule(_ name: String, _ role: BuiltInRole = .viewer) -> SignInRule {
        SignInRule(
            name: roleName(name), provider: company.name, claims: ["groups": ["a"]], kind: .person,
            grants: [.everywhere(role)])
    }

    private static func moved(_ provider: IdentityProvider) -> IdentityProvider {
        var moved = provider
        moved.issuer = issuer("https://login.example.org")
        return moved
    }

    /// What is refused to an operator at the database too.
    static let refused: [(given: [AccessCommand], command: IdentityCommand)] = [
        ([], .removeProvider(company.name)), ([], .setRule(developers)), ([set], .setProvider(moved(company))),
        ([set, .identity(.setRule(developers))], .removeProvider(company.name)),
        (
            (0..<IdentityProvider.limit).map {
                .identity(
                    .setProvider(
                        IdentityProvider(
                            name: roleName("p\($0)"), issuer: issuer("https://p\($0).example.com"), audiences: ["a"])))
            }, .setProvider(company)
        ),
        ([], .removeRule(developers.name)),
        (
            [.identity(.setProvider(github))],
            .setRule(
                SignInRule(
                    name: roleName("all"), provider: github.name, claims: ["ref": ["refs/heads/main"]], kind: .service,
                    grants: [.everywhere(.editor)]))
        ),
        (
            [set] + (0..<SignInRule.limit).map { .identity(.setRule(rule("r\($0)"))) },
            .setRule(developers)
        ),
        ([], .unlink(id: "idn_1")), ([], .link(identity("1"), principal: "prn_1")),
        (
            [ada, .addPrincipal(id: "prn_2", .person, name: "B"), .identity(.link(identity("1"), principal: "prn_2"))],
            .link(identity("1"), principal: "prn_1")
        ),
        (
            [ada] + (0..<Identity.limit).map { .identity(.link(identity("\($0)"), principal: "prn_1")) },
            .link(identity("x"), principal: "prn_1")
        ),
        ([set], .signIn(signIn())),
        ([], .redeem(codeDigest: sha256([1]), tokenID: "tok_9", digest: sha256([9]), expiresAt: noon)),
        (
            [set],
            .setProvider(IdentityProvider(name: roleName("twin"), issuer: company.issuer, audiences: ["wiki"]))
        ),
        (
            [
                set, .identity(.setRule(developers)), .identity(.signIn(signIn())),
                .identity(.unlink(id: identity("1").id)),
            ],
            .signIn(signIn(as: "tok_t"))
        ),
        ([set, .identity(.setRule(developers)), .identity(.signIn(signIn()))], .signIn(signIn())),
    ]

    /// A ledger of access, to which commands are given by anyone.
    private struct World {
        var state = LedgerState()
        var now = noon

        mutating func give(_ command: AccessCommand, as actor: Actor? = nil) throws(Refusal) {
            var context = PinningTests.context("why", at: self.now)
            context.commander = actor
            for event in try self.state.decide(.access(command), in: context).events {
                _ = self.state.apply(event, of: .access, at: self.now)
            }
        }

        func refusal(_ command: AccessCommand, as actor: Actor? = nil) -> Refusal? {
            var copy = self
            do throws(Refusal) { try copy.give(command, as: actor) } catch { return error }
            return nil
        }

        func may(_ permission: Permission, _ id: String = "tok_s") -> Bool {
            let actor = Actor(kind: .token, id: id, name: "x")
            return self.state.access.rights(of: actor, at: self.now).allowsEverywhere(permission)
        }
    }

    private func world(_ rules: SignInRule...) throws -> World {
        var world = World()
        try world.give(Self.set)
        for rule in rules { try world.give(.identity(.setRule(rule))) }
        return world
    }

    private static let actor = Actor(kind: .token, id: "tok_s", name: "Ada", principalID: identity("1").principalID)

    @Test func `a first sign-in adds a principal, and the next ones are its own`() throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        let id = identity("1").principalID
        #expect(world.state.access.principals[id]?.name == "Ada")
        #expect(world.state.access.principals[id]?.kind == .person)
        try world.give(.identity(.signIn(signIn(as: "tok_t"))))
        #expect(world.state.access.principals.count == 1)
        #expect(world.may(.changeApps) && world.may(.changeApps, "tok_t"))
        #expect(!world.may(.manageAccess))
        try world.give(.identity(.signIn(signIn("2", as: "tok_u"))))
        #expect(world.state.access.principals.count == 2)
    }

    @Test func `a linked identity acts as the principal, with its roles and those of the rules`() throws {
        var world = try self.world(developers)
        try world.give(Self.ada)
        try world.give(.grantRole(id: "grt_1", principal: "prn_1", .everywhere(.operator)))
        try world.give(.identity(.link(identity("1"), principal: "prn_1")))
        #expect(world.refusal(.identity(.signIn(signIn()))) == .signInDenied, "it was to sign in as another")
        try world.give(.identity(.signIn(signIn(acting: "prn_1"))))
        #expect(world.state.access.principals.count == 1)
        #expect(world.may(.changeApps) && world.may(.engageKillSwitches))
        try world.give(.revokeGrant(id: "grt_1"))
        #expect(world.may(.changeApps) && !world.may(.engageKillSwitches))
    }

    @Test(
        arguments: [
            .identity(.removeRule(developers.name)), .suspendPrincipal(id: identity("1").principalID),
            .revokeToken(id: "tok_s"),
            .identity(
                .setRule(
                    SignInRule(
                        name: developers.name, provider: company.name, claims: ["groups": ["root"]], kind: .person,
                        grants: [.everywhere(.admin)]))),
        ] as [AccessCommand])
    func `a session ends what it gives with its rule, its principal and its token`(command: AccessCommand) throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        #expect(world.may(.readApps))
        try world.give(command)
        #expect(!world.may(.readApps) && !world.may(.manageAccess))
    }

    @Test func `a session ends after the shortest time of its rules`() throws {
        var short = Self.rule("short", .operator)
        short.claims = ["role": ["on-call"]]
        short.sessionSeconds = 300
        var world = try self.world(developers, short)
        try world.give(.identity(.signIn(signIn("1", ["groups": ["Entwicklung"], "role": "on-call"]))))
        #expect(world.may(.changeApps) && world.may(.engageKillSwitches))
        world.now = noon.adding(seconds: 300)
        #expect(!world.may(.changeApps))
    }

    @Test func `a session makes no token for its principal that outlasts it`() throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        let (mine, end) = (identity("1").principalID, noon.adding(seconds: developers.sessionSeconds))
        for grants in [nil, [Grant.everywhere(.editor)]] {
            let long = newToken("tok_9", digest: sha256([9]), until: end.adding(seconds: 1), grants, of: mine)
            #expect(world.refusal(.issueToken(long), as: Self.actor) == .expiryTooFar(long.expiresAt, limit: end))
            let short = newToken("tok_9", digest: sha256([9]), until: end, grants, of: mine)
            #expect(world.refusal(.issueToken(short), as: Self.actor) == nil)
        }
        // What such a token makes ends with the session too.
        try world.give(.issueToken(newToken("tok_7", digest: sha256([7]), until: end, nil, of: mine)), as: Self.actor)
        let second = newToken("tok_6", digest: sha256([6]), until: end.adding(seconds: 1), nil, of: mine)
        let first = Actor(kind: .token, id: "tok_7", name: "x", principalID: mine)
        #expect(world.refusal(.issueToken(second), as: first) == .expiryTooFar(second.expiresAt, limit: end))
        // Without the session, it may do what the principal may: nothing.
        try world.give(.issueToken(newToken("tok_8", digest: sha256([8]), until: end, nil, of: mine)), as: Self.actor)
        #expect(!world.may(.readApps, "tok_8"))
    }

    @Test
    func
        `a session by which access is managed makes tokens for others that last, as far as its principal was granted it`()
        throws
    {
        var admins = Self.rule("admins", .admin)
        admins.claims = developers.claims
        var world = try self.world(admins)
        try world.give(.identity(.signIn(signIn())))
        let end = noon.adding(seconds: admins.sessionSeconds)
        let job = newToken("tok_9", digest: sha256([9]), until: end.adding(seconds: 86_400))
        #expect(world.refusal(.issueToken(job), as: Self.actor) == .expiryTooFar(job.expiresAt, limit: end))
        try world.give(.grantRole(id: "grt_1", principal: identity("1").principalID, .everywhere(.admin)))
        #expect(world.refusal(.issueToken(job), as: Self.actor) == nil)
    }

    @Test func `an unlinked identity signs in as no one, and its sessions end`() throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        try world.give(.identity(.unlink(id: identity("1").id)))
        #expect(!world.may(.readApps))
        let session = try #require(world.state.access.tokens["tok_s"])
        #expect(!world.state.access.isPrincipalActive(of: session))
        #expect(world.refusal(.identity(.signIn(signIn(as: "tok_t")))) == .identityUnlinked(identity("1").id))
        try world.give(Self.ada)
        try world.give(.identity(.link(identity("1"), principal: "prn_1")))
        try world.give(.identity(.signIn(signIn(as: "tok_t", acting: "prn_1"))))
        #expect(world.may(.changeApps, "tok_t") && !world.may(.readApps))
    }

    @Test func `a rule for linked identities makes nobody a second person`() throws {
        var linked = developers
        linked.isForLinked = true
        var world = try self.world(linked)
        #expect(world.refusal(.identity(.signIn(signIn()))) == .identityUnlinked(identity("1").id))
        #expect(world.refusal(.identity(.signIn(signIn("1", ["groups": ["x"]])))) == .signInDenied)
        try world.give(Self.ada)
        try world.give(.identity(.link(identity("1"), principal: "prn_1")))
        try world.give(.identity(.signIn(signIn(acting: "prn_1"))))
        #expect(world.may(.changeApps))
    }

    @Test func `programs share a principal for each rule, however many subjects they have`() throws {
        var robots = Self.rule("robots", .editor)
        robots.kind = .service
        robots.claims = developers.claims
        var world = try self.world(robots)
        let id = robots.principalID(at: company.issuer)
        for number in 0..<3 { try world.give(.identity(.signIn(signIn("\(number)", as: "tok_\(number)", acting: id)))) }
        #expect(Array(world.state.access.principals.keys) == [id] && world.state.access.identities.isEmpty)
        #expect(world.may(.changeApps, "tok_0") && world.may(.changeApps, "tok_2"))
        try world.give(.suspendPrincipal(id: id))
        #expect(!world.may(.changeApps, "tok_0"))
        #expect(world.refusal(.identity(.signIn(signIn(as: "tok_x", acting: id)))) == .signInDenied)
    }

    @Test func `a rule for programs is set by someone who holds what their principal was granted`() throws {
        var robots = Self.rule("robots")
        robots.kind = .service
        var world = try self.world(robots)
        let id = robots.principalID(at: company.issuer)
        try world.give(.identity(.signIn(signIn("1", ["groups": ["a"]], acting: id))))
        try world.give(.grantRole(id: "grt_1", principal: id, .everywhere(.editor)))
        try world.give(.defineRole(roleName("manager"), [.manageAccess, .readAccess, .readApps, .readFleet]))
        try world.give(
            .issueToken(newToken("tok_1", digest: sha256([2]), [Grant(role: roleName("manager"), apps: [.all])])))
        robots.claims = ["groups": ["mine"]]
        #expect(
            world.refusal(.identity(.setRule(robots)), as: Actor(kind: .token, id: "tok_1", name: "y"))
                == .grantTooWide(.everywhere(.editor)))
    }

    @Test func `sessions that can be forgotten lock nobody out`() throws {
        var world = try self.world(developers)
        let limit = Access.sessionLimit(.person)
        for number in 0..<limit { try world.give(.identity(.signIn(signIn(as: "s\(number)")))) }
        #expect(world.refusal(.identity(.signIn(signIn(as: "tok_t")))) == .tooManyTokens(limit: limit))
        world.now = noon.adding(seconds: Access.sessionMemory + developers.sessionSeconds)
        try world.give(.identity(.signIn(signIn(as: "tok_t"))))
        #expect(world.state.access.sessionCounts.values.reduce(0, +) == 1)
    }

    @Test func `a manager of access reinstates nobody who holds more by a rule than they do`() throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        try world.give(.suspendPrincipal(id: identity("1").principalID))
        try world.give(.defineRole(roleName("manager"), [.manageAccess, .readAccess]))
        try world.give(
            .issueToken(newToken("tok_1", digest: sha256([2]), [Grant(role: roleName("manager"), apps: [.all])])))
        #expect(
            world.refusal(
                .reinstatePrincipal(id: identity("1").principalID), as: Actor(kind: .token, id: "tok_1", name: "y"))
                == .grantTooWide(.everywhere(.editor)))
    }

    @Test func `no token is a session but by a sign-in`() throws {
        var forged = newToken("tok_9", digest: sha256([9]))
        forged.terms?.kind = .session
        #expect(World().refusal(.issueToken(forged)) != nil)
        forged.terms?.kind = .general
        forged.terms?.origin = SessionOrigin(identity: identity("1"), rules: [])
        #expect(World().refusal(.issueToken(forged)) != nil)
    }

    @Test func `a manager of access makes no rule that gives more than they hold`() throws {
        var world = try self.world()
        try world.give(
            .issueToken(newToken("tok_0", [Grant(role: RoleName(.admin), apps: [pattern("com.example.*")])])))
        try world.give(.defineRole(roleName("manager"), [.manageAccess, .readAccess]))
        try world.give(
            .issueToken(newToken("tok_1", digest: sha256([2]), [Grant(role: roleName("manager"), apps: [.all])])))
        var wider = company
        wider.audiences.append("wiki")
        let (narrow, manager) = (
            Actor(kind: .token, id: "tok_0", name: "x"), Actor(kind: .token, id: "tok_1", name: "y")
        )
        for command in [
            IdentityCommand.setProvider(company), .setRule(developers), .link(identity("1"), principal: "p"),
        ] {
            #expect(
                world.refusal(.identity(command), as: narrow) == .permissionMissing(.manageAccess, .everywhere))
        }
        #expect(world.refusal(.identity(.setRule(developers)), as: manager) == .grantTooWide(.everywhere(.editor)))
        #expect(world.refusal(.identity(.setProvider(wider)), as: manager) == .grantTooWide(.everywhere(.admin)))
        try world.give(Self.ada)
        #expect(
            world.refusal(.identity(.link(identity("1"), principal: "prn_1")), as: manager)
                == .grantTooWide(.everywhere(.admin)))
    }

    @Test func `one kind of principal signs in by the rules for its kind alone`() throws {
        var robots = Self.rule("a-robots", .admin)
        robots.kind = .service
        robots.claims = developers.claims
        var world = try self.world(developers, robots)
        try world.give(Self.ada)
        try world.give(.identity(.link(identity("1"), principal: "prn_1")))
        try world.give(.identity(.signIn(signIn(acting: "prn_1"))))
        #expect(world.may(.changeApps) && !world.may(.manageAccess))
    }

    @Test func `a suspended principal does not sign in`() throws {
        var world = try self.world(developers)
        try world.give(.identity(.signIn(signIn())))
        try world.give(.suspendPrincipal(id: identity("1").principalID))
        #expect(world.refusal(.identity(.signIn(signIn(as: "tok_t")))) == .signInDenied)
    }

    @Test func `sessions that ended are forgotten, tokens are not, and no identity token counts twice`() throws {
        var world = try self.world(developers)
        try world.give(.issueToken(newToken("tok_0", digest: sha256([0]))))
        for number in 0..<600 {
            try world.give(.identity(.signIn(signIn("\(number % 3)", as: "s\(number)"))))
            world.now = world.now.adding(seconds: 1_000)
        }
        let sessions = world.state.access.tokens.values.filter { $0.kind == .session }
        #expect(sessions.count < 600)
        #expect(world.state.access.sessionCounts.values.reduce(0, +) == sessions.count)
        // Those of the last day are all there.
        #expect(sessions.count >= 90)
        #expect(world.state.access.tokens["tok_0"] != nil)
        #expect(world.state.access.idByDigest.count == world.state.access.tokens.count)
        #expect(world.refusal(.identity(.signIn(signIn(as: "s599")))) == .identityTokenUsed)
    }

    @Test func `approvals of people count by the rules of their last sign-in, for a week`() throws {
        var approvers = Self.rule("approvers", .approver)
        approvers.claims = developers.claims
        var world = try self.world(approvers)
        try world.give(.identity(.signIn(signIn())))
        func mayApprove() -> Bool {
            let rule = ApprovalRule(
                name: roleName("two"), apps: [.all], permissions: [.changeApps], approvals: 1,
                roles: [RoleName(.approver)])
            let need = ApprovalNeed(rule: rule, reaches: [.app(shop)], approvers: [])
            return world.state.access.mayApprove(identity("1").principalID, need, at: world.now)
        }
        #expect(mayApprove())
        world.now = noon.adding(seconds: Access.signInMemory - 1)
        #expect(mayApprove())
        world.now = noon.adding(seconds: Access.signInMemory)
        #expect(!mayApprove())
        world.now = noon
        try world.give(.identity(.removeRule(approvers.name)))
        #expect(!mayApprove())
    }
}

@Suite struct CodeTests {
    private static let end = noon.adding(seconds: 900)

    private func state() throws -> LedgerState {
        var state = LedgerState()
        var code = newToken(
            "tok_c", digest: sha256([1]), until: Self.end, nil, of: "prn_1", from: [network("10.0.0.0/8")])
        code.terms?.kind = .code
        for command in [AccessCommand.addPrincipal(id: "prn_1", .person, name: "Ada"), .issueToken(code)] {
            try self.give(command, to: &state, at: noon)
        }
        return state
    }

    private func give(_ command: AccessCommand, to state: inout LedgerState, at now: Timestamp) throws {
        for event in try state.decide(.access(command), in: context(at: now)).events {
            _ = state.apply(event, of: .access, at: now)
        }
    }

    private static func redeem(_ id: String = "tok_9") -> AccessCommand {
        .identity(
            .redeem(codeDigest: sha256([1]), tokenID: id, digest: sha256(id.utf8), expiresAt: noon.adding(seconds: 99)))
    }

    @Test func `a code is exchanged once for a token of its principal`() throws {
        var state = try self.state()
        try self.give(Self.redeem(), to: &state, at: noon)
        let token = try #require(state.access.tokens["tok_9"])
        #expect(
            token.terms
                == AccessToken.Terms(kind: .general, grants: nil, principal: "prn_1", networks: [network("10.0.0.0/8")])
        )
        #expect(state.access.tokens["tok_c"]?.revokedAt == noon)
        #expect(throws: Refusal.codeInvalid) { try self.give(Self.redeem("tok_8"), to: &state, at: noon) }
    }

    @Test func `a code that is over, revoked, of a suspended principal, or no code gives nothing`() throws {
        var state = try self.state()
        #expect(throws: Refusal.codeInvalid) { try self.give(Self.redeem(), to: &state, at: Self.end) }
        for command in [AccessCommand.suspendPrincipal(id: "prn_1"), .revokeToken(id: "tok_c")] {
            var changed = state
            try self.give(command, to: &changed, at: noon)
            #expect(throws: Refusal.codeInvalid, "\(command)") { try self.give(Self.redeem(), to: &changed, at: noon) }
        }
        var plain = LedgerState()
        try self.give(.issueToken(newToken("tok_c", digest: sha256([1]))), to: &plain, at: noon)
        #expect(throws: Refusal.codeInvalid) { try self.give(Self.redeem(), to: &plain, at: noon) }
    }
}

@Suite struct SignInRuleTests {
    private static let claims: [String: JSON] = [
        "sub": "repo:example/shop:ref:refs/heads/main", "groups": ["dev", "ops", 7, ["nested"]], "admin": true,
        "level": 3, "email": "ada@example.com", "object": ["a": "b"], "null": .null,
        "kelvin": "\u{212A}", "accent": "e\u{301}",
    ]

    @Test(arguments: [
        ("sub", "repo:example/shop:ref:refs/heads/main", true), ("sub", "repo:example/shop:*", true),
        ("sub", "repo:example/*", true), ("sub", "repo:example/shop:ref:refs/heads/main:*", false),
        ("sub", "repo:example/sho", false), ("sub", "REPO:example/shop:*", false), ("sub", "repo:exampl/*", false),
        ("groups", "dev", true), ("groups", "Dev", false), ("groups", "7", true), ("groups", "nested", false),
        ("admin", "true", true), ("admin", "false", false), ("level", "3", true), ("level", "03", false),
        ("email", "ada@example.com", false), ("object", "b", false), ("null", "null", false), ("missing", "x", false),
        // The Kelvin sign and a letter with a combining mark, which Swift takes for the same characters.
        ("kelvin", "K", false), ("kelvin", "\u{212A}", true), ("accent", "\u{E9}", false), ("accent", "e\u{301}", true),
    ])
    func `a claim is compared to the character`(name: String, value: String, isAdmitted: Bool) {
        let rule = SignInRule(
            name: roleName("r"), provider: company.name, claims: [name: [value]], kind: .person, grants: [])
        #expect(rule.admits(IdentityClaims(Self.claims)) == isAdmitted)
    }

    @Test func `all claims must be there, each with one of its values`() {
        func admits(_ claims: [String: [String]]) -> Bool {
            SignInRule(name: roleName("r"), provider: company.name, claims: claims, kind: .person, grants: [])
                .admits(IdentityClaims(Self.claims))
        }
        #expect(admits(["groups": ["x", "ops"], "admin": ["true"]]))
        #expect(!admits(["groups": ["ops"], "admin": ["false"]]))
    }

    @Test func `an address counts where its provider has verified it`() {
        let rule = SignInRule(
            name: roleName("r"), provider: company.name, claims: ["email": ["ada@example.com"]], kind: .person,
            grants: [])
        for (verified, isAdmitted) in [(JSON.bool(true), true), (.bool(false), false), ("true", false), (.null, false)]
        {
            let claims = IdentityClaims(["email": "ada@example.com", "email_verified": verified])
            #expect(rule.admits(claims) == isAdmitted)
        }
    }

    private func read(_ members: [String: JSON]) throws -> SignInRule {
        var all: [String: JSON] = [
            "rule": "r", "provider": "company", "kind": "person", "claims": ["sub": ["1"]],
            "grants": [["role": "viewer", "apps": ["*"]]],
        ]
        all.merge(members) { $1 }
        return try SignInRule(JSONField(.object(all)))
    }

    @Test(
        arguments: [
            ["claims": [:]], ["claims": ["sub": []]], ["claims": ["sub": [""]]], ["claims": ["sub": ["*"]]],
            ["claims": ["sub": ["repo:example/sh*"]]], ["claims": ["sub": ["repo:*/shop:*"]]], ["claims": ["sub": "1"]],
            ["claims": ["": ["1"]]], ["claims": ["sub": ["a\u{7}"]]],
            ["claims": ["sub": [.string(String(repeating: "a", count: 256))]]],
            ["grants": []], ["session_seconds": 299], ["session_seconds": 43_201], ["kind": "robot"],
        ] as [[String: JSON]])
    func `a rule that could mean more than it says is refused`(members: [String: JSON]) {
        #expect(throws: JSONDefect.self) { try self.read(members) }
    }

    @Test func `a rule is read as it was written`() throws {
        for rule in [developers, release, try self.read([:])] {
            #expect(try SignInRule(JSONField(rule.json)) == rule)
        }
    }

    @Test(
        arguments: [
            (["ref": ["refs/heads/main"]], false), (["sub": ["repo:*"]], false), (["sub": ["repo:example/*"]], true),
            (["repository_owner_id": ["1"]], true), (["aud": ["pins"]], false),
            (["project_path": ["project_path:*"]], false),
        ] as [([String: [String]], Bool)])
    func `a rule at a provider for everyone names whose identities it admits`(
        claims: [String: [String]], isAccepted: Bool
    ) {
        let rule = SignInRule(
            name: roleName("r"), provider: github.name, claims: claims, kind: .service, grants: [.everywhere(.viewer)])
        #expect(rule.namesOwner == isAccepted)
    }

    @Test(arguments: [
        "https://login.example.com", "https://login.example.com/", "https://login.example.com/tenants/7/v2.0",
        "http://127.0.0.1:8000",
    ])
    func `an issuer stays as it is written`(text: String) throws {
        let issuer = try Issuer(text)
        #expect(issuer.text == text)
        #expect(try #require(issuer.metadataURL).text.hasSuffix("/.well-known/openid-configuration"))
        #expect(try #require(issuer.metadataURL).text.contains("//.well-known") == false)
    }

    @Test(arguments: [
        "", "login.example.com", "ftp://a.example", "https://a.example/?x=1", "https://u@a.example/",
        "https://a.example/#x",
    ])
    func `a text that is no issuer is refused`(text: String) {
        #expect(throws: Issuer.Malformed.self) { try Issuer(text) }
    }
}
