import Fixtures
import PinWire
import Pinning
import Testing

@testable import EventStore

/// Events that a node makes of rows of the database: one that no node could read must not be recorded.
struct UnreadableEventTests {
    /// An environment in which probes have seen a key that the host does not pin, first at some time.
    private static func environment(firstSeen: Timestamp, lastSeen: Timestamp) -> DecisionEnvironment {
        let chain = ObservedChain(
            pins: [Sample.pin()], certificates: [], address: "192.0.2.1", vantage: "vienna", firstSeen: firstSeen,
            lastSeen: lastSeen, isCurrent: true)
        let facts = ExternalFacts(
            documentLifetime: 86_400, documentMaxAge: 60,
            endpoint: { _ in EndpointFacts(chains: [chain], lastSuccess: lastSeen, lastAttempt: lastSeen) })
        return DecisionEnvironment(facts: { facts }) { _ in false }
    }

    private static func warning(firstSeen: Timestamp) throws -> Batch.Outcome {
        let (now, app) = (Timestamp.wall, try Sample.app())
        var first = Batch(on: LedgerView(), at: now, environment: DecisionEnvironment { _ in false })
        first.add(try Sample.create(app, hosts: 1))
        var batch = Batch(
            on: first.after, at: now,
            environment: self.environment(firstSeen: firstSeen, lastSeen: now.adding(seconds: -60)))
        batch.add(
            CommandRequest(
                command: .watch(app), origin: Origin(actor: .system), digest: [UInt8](repeating: 0, count: 32)))
        return batch.outcomes[0]
    }

    @Test func `a warning of what a probe saw is recorded`() throws {
        guard case .recorded(let range, _, _) = try Self.warning(firstSeen: .wall.adding(seconds: -3600)) else {
            Issue.record("it is not recorded")
            return
        }
        #expect(range.count == 1)
    }

    @Test(arguments: [Timestamp(microseconds: .max), Timestamp(microseconds: .min), Timestamp(seconds: -1)])
    func `a warning with a time that no event can have is not recorded`(firstSeen: Timestamp) throws {
        guard case .failed(.unreadable(let why)) = try Self.warning(firstSeen: firstSeen) else {
            Issue.record("it is recorded")
            return
        }
        #expect(why.contains("WarningRaised"))
    }
}
