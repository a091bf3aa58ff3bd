import PinWire
import Testing

@testable import Pinning

/// What a browser's session may do, and when.
@Suite struct RecentProofTests {
    /// A ledger in which `root` has a session in a browser, and one elsewhere.
    private struct World {
        var changes: ChangeWorld

        init(authenticatedAt: Timestamp?, rules: [ApprovalRule] = []) throws {
            self.changes = try ChangeWorld(rules: rules)
            for (id, isForBrowser) in [("tok_web", true), ("tok_ses", false)] {
                var token = newToken(
                    id, digest: sha256(id.utf8), until: noon.adding(seconds: 28_800), nil, of: "prn_root")
                token.terms?.kind = .session
                token.terms?.origin = SessionOrigin(
                    identity: identity("1"), rules: [], authenticatedAt: authenticatedAt, isForBrowser: isForBrowser)
                let isTaken = self.changes.state.apply(.access(.tokenIssued(token)), of: .access, at: noon)
                #expect(isTaken)
            }
        }

        static func root(_ token: String) -> Actor {
            Actor(kind: .token, id: token, name: "root", principalID: "prn_root")
        }

        func refusal(_ command: Command, by token: String = "tok_web") -> Refusal? {
            self.changes.refusal(command, as: Self.root(token))
        }
    }

    private static let (later, refused) = (noon.adding(seconds: 3600), Refusal.proofNotRecent(seconds: 900))

    private static func create(_ command: Command, notBefore: Timestamp? = nil, isDraft: Bool = false) -> Command {
        .change(.create(id: "chg_1", ChangeWorld.draft(command, notBefore: notBefore), isDraft: isDraft))
    }

    private static func apply(_ id: String) -> Command { .change(.apply(id: id, bypassesApprovals: false)) }

    /// Something that a session may do or not: its name, what was done before, and the command.
    struct Act: Sendable, CustomTestStringConvertible {
        let name: String
        var given: [Command] = []
        let command: Command

        init(_ name: String, _ command: Command, given: [Command] = []) {
            (self.name, self.given, self.command) = (name, given, command)
        }

        var testDescription: String { self.name }
    }

    private static let own = newToken("t", digest: sha256([99]), until: later, nil, of: "prn_root")
    private static let feed: NewToken = {
        var feed = newToken(
            "cal_1", digest: sha256([98]), until: later, [Grant(role: RoleName(.viewer), apps: [.one(shop)])])
        feed.terms?.kind = .calendar
        return feed
    }()
    private static let wultra = Command.app(shop, [.setClient(.wultra, ClientSettings())])
    private static let keys = ["a", "b"].map { Command.keys(.create(kid: $0, publicKey: sha256($0.utf8))) }
    private static let person = Command.access(.addPrincipal(id: "prn_x", .person, name: "X"))

    private static let opening = LogName("pins.example.com/log").map {
        Command.log(.open(origin: $0, kid: "l0", publicKey: sha256([0])))
    }

    /// What needs a recent proof.
    static let sensitive: [Act] =
        [
            Act("turn pinning off", ChangeWorld.weakening),
            Act("archive an app", .app(shop, [.archive])),
            Act(
                "release a kill switch", .app(shop, [.releaseKillSwitch(nil)]),
                given: [.app(shop, [.engageKillSwitch(nil, expiresAt: later)])]),
            Act("lower a guard rail", .app(shop, [.setGuardRail(.unprovenPin, isLowered: true)])),
            Act(
                "set a client's key",
                .app(shop, [.setClientKey(.wultra, ClientKey(algorithm: .es256, publicKey: [1]))]), given: [wultra]),
            Act("issue a telemetry key", .telemetryKey(shop, .add(id: "tlk_1", note: nil))),
            Act("issue a token of one's own", .access(.issueToken(own))),
            Act("issue a token of nobody", .access(.issueToken(newToken("t", digest: sha256([99]), until: later)))),
            Act("issue a calendar's address", .access(.issueToken(feed))),
            Act("grant a role", .access(.grantRole(id: "grt_x", principal: "prn_ada", .everywhere(.viewer)))),
            Act("revoke a grant", .access(.revokeGrant(id: "grt_ada"))),
            Act("define a role", .access(.defineRole(roleName("own"), [.readApps]))),
            Act("add a person", person),
            Act("suspend a person", .access(.suspendPrincipal(id: "prn_ada"))),
            Act(
                "reinstate a person", .access(.reinstatePrincipal(id: "prn_ada")),
                given: [.access(.suspendPrincipal(id: "prn_ada"))]),
            Act(
                "add an approval key",
                .access(.addApprovalKey(ApprovalKey(kid: "kid-1", publicKey: sha256([3])), principal: "prn_bob"))),
            Act("set an approval rule", .access(.setApprovalRule(ChangeWorld.rule))),
            Act("add a freeze", .access(.setFreeze(Freeze(id: "frz_1", apps: [.all], from: noon, until: later)))),
            Act("add an identity provider", .access(.identity(.setProvider(company)))),
            Act("link an identity", .access(.identity(.link(identity("2"), principal: "prn_ada")))),
            Act("create a signing key", keys[0]),
            Act("let another key sign", .keys(.activate(kid: "b")), given: keys),
            Act(
                "add a webhook",
                .webhooks(
                    .create(
                        id: "whk_1", WebhookSettings(url: webhookURL("https://hooks.example.com/")), secretID: "whs_1"))
            ),
            Act("change the fleet", .fleet(.setIssuer("pins.example.org"))),
            Act("bypass approvals", .change(.bypass(id: "chg_1", ChangeWorld.draft(ChangeWorld.addition)))),
            Act("schedule what turns pinning off", create(ChangeWorld.weakening, notBefore: later)),
            // At its time, the same event can release what someone engaged in between.
            Act("schedule a pin", create(ChangeWorld.addition, notBefore: later)),
        ] + [opening].compactMap { $0.map { Act("open the log", $0) } }

    /// What does not.
    static let ordinary: [Act] = [
        Act("add a pin", ChangeWorld.addition),
        Act("engage a kill switch", .app(shop, [.engageKillSwitch(nil, expiresAt: later)])),
        Act("engage the fleet's kill switch", .fleet(.engageKillSwitch(expiresAt: later))),
        Act("revoke a token", .access(.revokeToken(id: "tok_ada"))),
        Act("propose to turn pinning off", create(ChangeWorld.weakening)),
        Act("propose a token", create(.access(.issueToken(own)))),
        Act("draft for a time to turn pinning off", create(ChangeWorld.weakening, notBefore: later, isDraft: true)),
    ]

    /// The refusal that ``RefusalTests`` counts.
    static func refusal() throws -> Refusal? { try World(authenticatedAt: nil).refusal(ChangeWorld.weakening) }

    private func world(before act: Act, authenticatedAt: Timestamp?) throws -> World {
        var world = try World(authenticatedAt: authenticatedAt)
        // Keys sign once clients had time to learn of them.
        world.changes.now = noon.adding(seconds: -2 * 86_400)
        for command in act.given { try world.changes.record(command) }
        world.changes.now = noon
        return world
    }

    @Test(arguments: sensitive)
    func `a browser's session gives no power away without a recent proof`(_ act: Act) throws {
        let age = SessionOrigin.recentSeconds
        for old in [nil, noon.adding(seconds: -age)] {
            let world = try self.world(before: act, authenticatedAt: old)
            #expect(world.refusal(act.command) == Self.refused)
            #expect(world.refusal(act.command, by: "tok_ses") == nil, "with a session outside a browser")
        }
        #expect(try self.world(before: act, authenticatedAt: noon.adding(seconds: 1 - age)).refusal(act.command) == nil)
    }

    @Test(arguments: sensitive.filter(\.command.isProposable))
    func `a browser's session gives no power away by a change without a recent proof`(_ act: Act) throws {
        var world = try self.world(before: act, authenticatedAt: nil)
        #expect(world.refusal(Self.create(act.command, notBefore: Self.later)) == Self.refused)
        #expect(world.refusal(Self.create(act.command, notBefore: Self.later), by: "tok_ses") == nil)
        try world.changes.record(Self.create(act.command), as: World.root("tok_web"))
        #expect(world.refusal(Self.apply("chg_1")) == Self.refused)
        #expect(world.refusal(Self.apply("chg_1"), by: "tok_ses") == nil)
    }

    @Test(arguments: ordinary)
    func `a browser's session does its daily work, and stops an accident, without a recent proof`(_ act: Act) throws {
        #expect(try self.world(before: act, authenticatedAt: nil).refusal(act.command) == nil)
    }

    @Test func `every permission that needs a recent proof is used by something that is tested`() throws {
        var used: Set<Permission> = [.approveChanges, .manageWebhooks, .manageLog, .manageTelemetryKeys]
        for act in Self.sensitive {
            if case .change(.bypass) = act.command { used.insert(.bypassApprovals) }
            guard act.command.stream != .changes else { continue }
            let world = try self.world(before: act, authenticatedAt: nil)
            used.formUnion(
                try world.changes.state.decide(act.command, in: world.changes.context(nil)).uses.map(\.permission))
            if case .access(.issueToken(let token)) = act.command, token.terms?.kind == .calendar {
                used.insert(.manageCalendarFeeds)
            }
        }
        // The override of a guard rail comes with a change that a rail objects to.
        #expect(Set(Permission.allCases.filter(\.needsRecentProof)).subtracting(used) == [.overrideGuardRails])
        #expect(
            Set(Permission.allCases.filter(\.isRead)).isDisjoint(with: Permission.allCases.filter(\.needsRecentProof)))
    }

    @Test func `a browser's session needs a recent proof to approve, and to apply what weakens protection`() throws {
        var world = try World(authenticatedAt: nil)
        try world.changes.act(ChangeWorld.create("chg_1", ChangeWorld.weakening), as: .ada)
        try world.changes.act(ChangeWorld.create("chg_2", ChangeWorld.addition), as: .ada)
        let approval = Command.change(.approve(id: "chg_1", contentDigest: try world.changes.digest("chg_1")))
        #expect(world.refusal(approval) == Self.refused)
        #expect(world.refusal(approval, by: "tok_ses") == nil)
        #expect(world.refusal(Self.apply("chg_1")) == Self.refused)
        #expect(world.refusal(Self.apply("chg_1"), by: "tok_ses") == nil)
        #expect(world.refusal(Self.apply("chg_2")) == nil)
        #expect(world.refusal(.change(.reject(id: "chg_1"))) == nil)
    }

    @Test func `a draft with a time is edited without a recent proof, and proposed with one`() throws {
        func edit(_ world: World) throws -> Command {
            .change(
                .edit(
                    id: "chg_1", base: try world.changes.digest("chg_1"),
                    ChangeWorld.draft(ChangeWorld.weakening, notBefore: Self.later.adding(seconds: 60))))
        }
        var world = try World(authenticatedAt: nil)
        try world.changes.record(
            Self.create(ChangeWorld.weakening, notBefore: Self.later, isDraft: true), as: World.root("tok_web"))
        #expect(world.refusal(try edit(world)) == nil)
        #expect(world.refusal(.change(.propose(id: "chg_1"))) == Self.refused)
        try world.changes.record(.change(.propose(id: "chg_1")), as: World.root("tok_ses"))
        #expect(world.refusal(try edit(world)) == Self.refused)
    }

    @Test func `a command that must be proposed says so before it asks for a proof`() throws {
        let world = try World(authenticatedAt: nil, rules: [ChangeWorld.rule])
        #expect(world.refusal(ChangeWorld.weakening) == .approvalRequired([ChangeWorld.rule]))
    }
}
