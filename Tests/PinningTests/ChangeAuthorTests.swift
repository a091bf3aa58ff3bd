import PinWire
import Pinning
import Testing

/// Who writes a part of a proposed change, and what rights it is carried out with.
@Suite struct `The authors of a change` {
    @Test func `a change is edited by its authors and by people who could reject it`() throws {
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        try world.approve("chg_1", as: .bob)
        let edit = ChangeCommand.edit(
            id: "chg_1", base: try world.digest("chg_1"), ChangeWorld.draft(ChangeWorld.addition, ChangeWorld.weakening)
        )
        #expect(world.refusal(of: edit, as: .dan) == .changeOfOthers("chg_1"))
        #expect(world.refusal(of: edit, as: .ada) == nil)
        #expect(world.refusal(of: edit, as: .root) == nil)
    }

    /// A token of `ada` that may change apps, and weaken nothing.
    private static let narrow = Actor(kind: .token, id: "tok_narrow", name: "narrow", principalID: "prn_ada")

    /// A proposal to take the mode of `api` to `report_only`, which weakens nothing where it is `off`, and weakens it now.
    private static func movedBase(writtenBy author: Actor, notBefore: Timestamp? = nil) throws -> ChangeWorld {
        var world = try ChangeWorld(rules: [])
        try world.record(.access(.defineRole(roleName("weak"), [.readApps, .changeApps, .readChanges])))
        let grant = Grant(role: roleName("weak"), apps: [.all])
        let end = noon.adding(seconds: 86_400)
        try world.record(
            .access(.issueToken(newToken("tok_narrow", digest: sha256([99]), until: end, [grant], of: "prn_ada"))))
        try world.record(.app(shop, [.setMode(api, .baseline, .off)]))
        let draft = ChangeWorld.draft(.app(shop, [.setMode(api, .baseline, .reportOnly)]), notBefore: notBefore)
        try world.record(.change(.create(id: "chg_1", draft, isDraft: false)), as: author)
        try world.record(.app(shop, [.setMode(api, .baseline, .enforce)]))
        return world
    }

    @Test func `a contributor applies no more than the token at hand may do`() throws {
        let apply = ChangeCommand.apply(id: "chg_1", bypassesApprovals: false)
        let missing = Refusal.permissionMissing(.weakenProtection, .app(shop))
        let world = try Self.movedBase(writtenBy: ChangeWorld.Party.ada.actor)
        #expect(world.refusal(.change(apply), as: Self.narrow) == missing)
        #expect(world.refusal(of: apply, as: .ada) == nil)
        #expect(world.refusal(of: apply, as: .root) == nil)
    }

    @Test func `a change never does more than the token that it was written with`() throws {
        let time = noon.adding(seconds: 60)
        let missing = Refusal.permissionMissing(.weakenProtection, .app(shop))
        var world = try Self.movedBase(writtenBy: Self.narrow, notBefore: time)
        #expect(world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .root) == missing)
        world.now = time
        #expect(world.refusal(.change(.applyDue(id: "chg_1")), as: .system) == missing)
        // A token's end is not the end of what was written with it.
        try world.record(.app(shop, [.setMode(api, .baseline, .off)]))
        world.now = noon.adding(seconds: 2 * 86_400)
        #expect(world.refusal(.change(.applyDue(id: "chg_1")), as: .system) == nil)
    }
}
