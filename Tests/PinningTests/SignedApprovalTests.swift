import PinWire
import Testing

@testable import Pinning

@Suite struct `Signed approvals` {
    private static func key(_ number: UInt8) -> ApprovalKey {
        ApprovalKey(kid: "k\(number)", publicKey: sha256([number]))
    }

    private static func signature(_ number: UInt8) -> ApprovalSignature {
        ApprovalSignature(kid: "k\(number)", bytes: [number])
    }

    private static var signedRule: ApprovalRule {
        var rule = ChangeWorld.rule
        rule.isSigned = true
        return rule
    }

    /// A world with a proposed change, where Bob has keys.
    private func world(_ rules: [ApprovalRule] = [ChangeWorld.rule], keys: [UInt8] = []) throws -> ChangeWorld {
        var world = try ChangeWorld(rules: rules)
        for number in keys { try world.record(.access(.addApprovalKey(Self.key(number), principal: "prn_bob"))) }
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        return world
    }

    private func approve(_ world: ChangeWorld, signedWith number: UInt8? = nil) throws -> ChangeCommand {
        .approve(
            id: "chg_1", contentDigest: try world.digest("chg_1"), signature: number.map { Self.signature($0) })
    }

    private let apply = ChangeCommand.apply(id: "chg_1", bypassesApprovals: false)

    @Test func `a person with an approval key approves only with it`() throws {
        var world = try self.world(keys: [1])
        #expect(world.refusal(of: try self.approve(world), as: .bob) == .approvalUnsigned("chg_1"))
        #expect(world.refusal(of: try self.approve(world, signedWith: 2), as: .bob) == .approvalKeyUnknown("k2"))
        try world.act(try self.approve(world, signedWith: 1), as: .bob)
        #expect(world.state.changes["chg_1"]?.approvals.first?.signature == Self.signature(1))
        try world.act(self.apply, as: .ada)
    }

    @Test func `a rule may count signed approvals only`() throws {
        var world = try self.world([Self.signedRule])
        #expect(world.refusal(of: try self.approve(world), as: .bob) == .approvalUnsigned("chg_1"))
        try world.record(.access(.addApprovalKey(Self.key(1), principal: "prn_bob")))
        try world.act(try self.approve(world, signedWith: 1), as: .bob)
        try world.act(self.apply, as: .ada)
    }

    @Test func `an approval without a signature counts no more once its giver has a key`() throws {
        var world = try self.world()
        try world.act(try self.approve(world), as: .bob)
        #expect(world.refusal(of: self.apply, as: .ada) == nil)
        try world.record(.access(.addApprovalKey(Self.key(1), principal: "prn_bob")))
        #expect(world.refusal(of: self.apply, as: .ada) != nil)
        #expect(world.refusal(of: try self.approve(world), as: .bob) == .approvalUnsigned("chg_1"))
        // It is given again, with a signature.
        try world.act(try self.approve(world, signedWith: 1), as: .bob)
        #expect(world.state.changes["chg_1"]?.approvals.count == 1)
        try world.act(self.apply, as: .ada)
    }

    @Test func `an approval counts no more once its key is removed`() throws {
        var world = try self.world(keys: [1, 2])
        try world.act(try self.approve(world, signedWith: 1), as: .bob)
        #expect(try world.act(try self.approve(world, signedWith: 1), as: .bob).events.isEmpty)
        try world.record(.access(.removeApprovalKey(kid: "k1", principal: "prn_bob")))
        #expect(world.refusal(of: self.apply, as: .ada) != nil)
        try world.act(try self.approve(world, signedWith: 2), as: .bob)
        try world.act(self.apply, as: .ada)
    }

    @Test func `a rule for signed approvals is refused while too few people have keys`() throws {
        var world = try ChangeWorld(rules: [])
        let root = ChangeWorld.Party.root.actor
        #expect(
            world.refusal(.access(.setApprovalRule(Self.signedRule)), as: root)
                == .tooFewApprovers(needed: Self.signedRule.approvals, present: 0))
        for (number, party) in [(UInt8(1), "prn_bob"), (2, "prn_eve")] {
            try world.record(.access(.addApprovalKey(Self.key(number), principal: party)))
        }
        #expect(world.refusal(.access(.setApprovalRule(Self.signedRule)), as: root) == nil)
    }

    @Test func `only managers of access add keys, and nobody adds one to themselves without that`() {
        let add = Command.access(.addApprovalKey(Self.key(1), principal: "prn_bob"))
        #expect(throws: Never.self) {
            let world = try ChangeWorld(rules: [])
            for party in [ChangeWorld.Party.ada, .bob, .eve] {
                #expect(world.refusal(add, as: party.actor) == .permissionMissing(.manageAccess, .everywhere))
            }
            #expect(world.refusal(add, as: ChangeWorld.Party.root.actor) == nil)
            let program = Command.access(.addApprovalKey(Self.key(1), principal: "prn_pipeline"))
            #expect(world.refusal(program, as: ChangeWorld.Party.root.actor) == .approverNotPerson)
        }
    }

    @Test func `the last key of a person is removed with the approvals that giving access needs`() throws {
        var rule = ChangeWorld.rule
        rule.permissions = [.manageAccess]
        rule.apps = [.all]
        var world = try ChangeWorld(rules: [])
        for number in [UInt8(1), 2] {
            try world.record(.access(.addApprovalKey(Self.key(number), principal: "prn_bob")))
        }
        try world.record(.access(.setApprovalRule(rule)))
        let root = ChangeWorld.Party.root.actor
        func remove(_ number: UInt8) -> Command { .access(.removeApprovalKey(kid: "k\(number)", principal: "prn_bob")) }
        #expect(world.refusal(.access(.addApprovalKey(Self.key(3), principal: "prn_bob")), as: root) != nil)
        #expect(world.refusal(remove(1), as: root) == nil)
        try world.record(remove(1), as: root)
        guard case .approvalRequired = world.refusal(remove(2), as: root) else {
            Issue.record("the last key is taken by one person")
            return
        }
    }

    @Test func `the signed statement is canonical, and names content, change and person`() {
        let bytes = ApprovalSignature.statement(
            change: "chg_1", contentDigest: [UInt8](repeating: 171, count: 32), principal: "prn_1")
        let digest = String(repeating: "ab", count: 32)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"change_id":"chg_1","content_sha256":"\#(digest)","principal_id":"prn_1"}"#)
    }
}
