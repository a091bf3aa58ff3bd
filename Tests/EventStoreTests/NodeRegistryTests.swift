import PinWire
import Testing

@testable import EventStore

/// Reports of other nodes that speak against a ledger for which an operator vouches.
struct NodeRegistryTests {
    private static func node(_ state: String, at position: Int64, isLive: Bool = true) -> NodeRegistry.Node {
        let report = NodeReport(
            name: "pins-1:17", program: "0.1.0", schemaVersion: 1, featureLevel: 1, isReadOnly: false, state: state,
            position: position)
        let moment = Timestamp(seconds: 1_800_000_000)
        return NodeRegistry.Node(report: report, startedAt: moment, seenAt: moment, isLive: isLive)
    }

    @Test(arguments: ["running", "starting", "draining", "suspended", "unsigned", "upgrade_needed"])
    func `a node that follows the ledger casts no doubt on it`(state: String) {
        #expect(NodeRegistry.doubt(of: [Self.node(state, at: 9)], aboutLedgerOf: 9) == nil)
    }

    @Test func `a halted node, and one that has taken in more, cast doubt on the ledger`() throws {
        let halted = Self.node(NodeReport.halted, at: 3)
        let said = try #require(NodeRegistry.doubt(of: [Self.node("running", at: 9), halted], aboutLedgerOf: 9))
        #expect(said.contains("pins-1:17") && said.contains("halted"))
        let more = try #require(NodeRegistry.doubt(of: [Self.node("running", at: 10)], aboutLedgerOf: 9))
        #expect(more.contains("10 events") && more.contains("the database has 9"))
    }

    @Test func `a node that is gone casts none`() {
        let gone = Self.node(NodeReport.halted, at: 99, isLive: false)
        #expect(NodeRegistry.doubt(of: [gone], aboutLedgerOf: 9) == nil)
        #expect(NodeRegistry.doubt(of: [], aboutLedgerOf: 9) == nil)
    }
}
