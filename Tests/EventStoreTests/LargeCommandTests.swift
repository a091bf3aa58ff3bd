import Fixtures
import PinWire
import Pinning
import Testing

@testable import EventStore

@Suite(.database, .timeLimit(.minutes(60)))
struct LargeCommandTests {
    /// Commands about four hosts are large.
    private static let setup = TestNode.Setup.with { $0.limits.largeWeight = 5 }

    private static func kill(_ app: AppID) throws -> CommandRequest {
        try Sample.request(
            .app(app, [.engageKillSwitch(nil, expiresAt: Timestamp.wall.adding(seconds: 3600))]), reason: "outage")
    }

    @Test func `a kill switch is recorded while a large change of the same app is decided`() async throws {
        try await TestNode.run(on: try TestDatabase.current, Self.setup) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 4))
            let large = try Sample.rename(app, "later")
            let place = try await node.writer.largeDecisions.place(for: large, atMost: .seconds(180))
            async let later = node.writer.execute(large)
            let killed = try await node.writer.execute(try Self.kill(app))
            place.release()
            let renamed = try await later
            #expect(killed.position < renamed.position)
        }
    }

    @Test func `a large change that others outdate is decided again`() async throws {
        let database = try TestDatabase.current
        // The second node does not follow: what it decides beside the line rests on what it knew.
        try await TestNode.run(2, on: database, Self.setup.with { $0.follows = false }) { nodes in
            let app = try Sample.app()
            let made = try await nodes[1].writer.execute(try Sample.create(app, hosts: 4)).streamVersion
            for number in 0..<5 {
                _ = try await nodes[0].writer.execute(try Sample.rename(app, "a\(number)"))
                _ = try await nodes[1].writer.execute(try Sample.rename(app, "b\(number)"))
            }
            await #expect(throws: WriteFailure.stale(.app(app), expected: made, actual: made + 10, epoch: 0)) {
                try await nodes[0].writer.execute(try Sample.rename(app, "c", expecting: made))
            }
            #expect(try await Ledgers.renames(database) == (0..<5).flatMap { ["a\($0)", "b\($0)"] })
            try await Ledgers.check(database)
        }
    }

    @Test func `a large change is refused, repeated and rehearsed as any other`() async throws {
        try await TestNode.run(on: try TestDatabase.current, Self.setup) { node in
            let app = try Sample.app()
            let create = try Sample.create(app, key: "k", hosts: 8)
            let rehearsed = try await node.writer.rehearse(create).recorded
            let first = try await node.writer.execute(create)
            #expect(rehearsed.entries.map(\.event) == first.entries.map(\.event) && !first.isReplay)
            // The refusal is that of the present state; the key is that of the first.
            let again = try await node.writer.execute(create)
            #expect(again.isReplay && again.position == first.position)
            await #expect(throws: WriteFailure.refused(.appExists(app))) {
                try await node.writer.execute(try Sample.create(app, hosts: 8))
            }
            await #expect(throws: WriteFailure.refused(.appExists(app))) {
                try await node.writer.rehearse(try Sample.create(app, hosts: 8))
            }
        }
    }

    @Test func `a sender whose large changes fill the line is told so`() async throws {
        let setup = Self.setup.with { $0.limits.largeWaiting = 0 }
        try await TestNode.run(on: try TestDatabase.current, setup) { node in
            let app = try Sample.app()
            let large = try Sample.create(app, hosts: 8)
            let place = try await node.writer.largeDecisions.place(for: large, atMost: .seconds(180))
            await #expect(throws: WriteFailure.overloaded) { try await node.writer.execute(large) }
            place.release()
            _ = try await node.writer.execute(large)
        }
    }
}

extension TestNode.Setup {
    fileprivate func with(_ change: (inout Self) -> Void) -> Self {
        var setup = self
        change(&setup)
        return setup
    }
}
