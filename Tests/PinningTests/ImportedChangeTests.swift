import PinWire
import Pinning
import Testing

@Suite("A proposed import") struct ImportedChangeTests {
    private static let hashes = Command.app(
        shop, [enforcing(on: host("taken-over.example"), new(1), new(2, .backup))])

    private func create(_ isImport: Bool) -> ChangeCommand {
        .create(id: "chg_1", ChangeDraft(commands: [Self.hashes], isImport: isImport), isDraft: false)
    }

    @Test func `a proposed import brings pins of which only hashes are known, and another change does not`() throws {
        var world = try ChangeWorld(rules: [])
        guard case .guarded(let findings) = world.refusal(of: self.create(false), as: .ada) else {
            Issue.record("a change that is no import is not refused")
            return
        }
        #expect(findings.filter { $0.severity != .warn }.map(\.rail) == [.unprovenPin])
        try world.act(self.create(true), as: .ada)
        let change = try #require(world.state.changes["chg_1"])
        #expect(change.content.isImport && !change.content.isForced)
        // Approvers consent to the leniency too.
        var other = change.content
        other.isImport = false
        #expect(other.digest(of: "chg_1") != change.contentDigest)
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
        guard case .policy(let policy) = world.state.apps[shop]?.hosts[host("taken-over.example")]?.baseline else {
            Issue.record("the host is not there")
            return
        }
        #expect(policy.mode == .enforce && policy.pins.count == 2)
    }
}
