import PinWire
import Testing

@testable import Pinning

/// What a browser's session may do, and when.
@Suite struct RecentProofTests {
    /// A ledger in which `root` has a session in a browser, and one elsewhere.
    private struct World {
        var changes: ChangeWorld

        init(authenticatedAt: Timestamp?) throws {
            self.changes = try ChangeWorld(rules: [])
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

        func refusal(_ command: Command, by token: String = "tok_web") -> Refusal? {
            self.changes.refusal(
                command, as: Actor(kind: .token, id: token, name: "root", principalID: "prn_root"))
        }
    }

    private static let (later, refused) = (noon.adding(seconds: 3600), Refusal.proofNotRecent(seconds: 900))

    private static func create(_ command: Command, notBefore: Timestamp? = nil, isDraft: Bool = false) -> Command {
        .change(.create(id: "chg_1", ChangeWorld.draft(command, notBefore: notBefore), isDraft: isDraft))
    }

    /// What needs a recent proof, with its name.
    static let sensitive: [(String, Command)] = [
        ("turn pinning off", ChangeWorld.weakening),
        ("archive an app", .app(shop, [.archive])),
        ("issue a token", .access(.issueToken(newToken("t", digest: sha256([99]), until: later)))),
        ("grant a role", .access(.grantRole(id: "grt_x", principal: "prn_ada", .everywhere(.viewer)))),
        ("set an approval rule", .access(.setApprovalRule(ChangeWorld.rule))),
        ("add an identity provider", .access(.identity(.setProvider(company)))),
        (
            "add a webhook",
            .webhooks(
                .create(id: "whk_1", WebhookSettings(url: webhookURL("https://hooks.example.com/")), secretID: "whs_1"))
        ),
        ("change the fleet", .fleet(.setIssuer("pins.example.org"))),
        ("bypass approvals", .change(.bypass(id: "chg_1", ChangeWorld.draft(ChangeWorld.addition)))),
        ("schedule what turns pinning off", create(ChangeWorld.weakening, notBefore: later)),
    ]

    /// What does not.
    static let ordinary: [(String, Command)] = [
        ("add a pin", ChangeWorld.addition),
        ("engage a kill switch", .app(shop, [.engageKillSwitch(nil, expiresAt: later)])),
        ("engage the fleet's kill switch", .fleet(.engageKillSwitch(expiresAt: later))),
        ("revoke a token", .access(.revokeToken(id: "tok_ada"))),
        ("suspend a person", .access(.suspendPrincipal(id: "prn_ada"))),
        ("propose to turn pinning off", create(ChangeWorld.weakening)),
        ("draft for a time to turn pinning off", create(ChangeWorld.weakening, notBefore: later, isDraft: true)),
        ("schedule a pin", create(ChangeWorld.addition, notBefore: later)),
    ]

    /// The refusal that ``RefusalTests`` counts.
    static func refusal() throws -> Refusal? { try World(authenticatedAt: nil).refusal(ChangeWorld.weakening) }

    @Test(arguments: sensitive.indices)
    func `a browser's session gives no power away without a recent proof`(_ place: Int) throws {
        let (name, command) = Self.sensitive[place]
        let age = SessionOrigin.recentSeconds
        for old in [nil, noon.adding(seconds: -age)] {
            let world = try World(authenticatedAt: old)
            #expect(world.refusal(command) == Self.refused, "\(name)")
            #expect(world.refusal(command, by: "tok_ses") == nil, "\(name), with a session outside a browser")
        }
        #expect(try World(authenticatedAt: noon.adding(seconds: 1 - age)).refusal(command) == nil, "\(name)")
    }

    @Test(arguments: ordinary.indices)
    func `a browser's session does its daily work, and stops an accident, without a recent proof`(_ place: Int) throws {
        let (name, command) = Self.ordinary[place]
        #expect(try World(authenticatedAt: nil).refusal(command) == nil, "\(name)")
    }

    @Test func `a browser's session needs a recent proof to approve, and to apply what weakens protection`() throws {
        var world = try World(authenticatedAt: nil)
        try world.changes.act(ChangeWorld.create("chg_1", ChangeWorld.weakening), as: .ada)
        try world.changes.act(ChangeWorld.create("chg_2", ChangeWorld.addition), as: .ada)
        let approval = Command.change(.approve(id: "chg_1", contentDigest: try world.changes.digest("chg_1")))
        func apply(_ id: String) -> Command { .change(.apply(id: id, bypassesApprovals: false)) }
        #expect(world.refusal(approval) == Self.refused)
        #expect(world.refusal(approval, by: "tok_ses") == nil)
        #expect(world.refusal(apply("chg_1")) == Self.refused)
        #expect(world.refusal(apply("chg_1"), by: "tok_ses") == nil)
        #expect(world.refusal(apply("chg_2")) == nil)
        #expect(world.refusal(.change(.reject(id: "chg_1"))) == nil)
    }

    @Test func `a change that was drafted for a time needs a recent proof to be proposed`() throws {
        var world = try World(authenticatedAt: nil)
        try world.changes.record(
            Self.create(ChangeWorld.weakening, notBefore: Self.later, isDraft: true),
            as: Actor(kind: .token, id: "tok_web", name: "root", principalID: "prn_root"))
        #expect(world.refusal(.change(.propose(id: "chg_1"))) == Self.refused)
        let edit = Command.change(
            .edit(
                id: "chg_1", base: try world.changes.digest("chg_1"),
                ChangeWorld.draft(ChangeWorld.weakening, notBefore: Self.later.adding(seconds: 60))))
        #expect(world.refusal(edit) == Self.refused)
    }
}
