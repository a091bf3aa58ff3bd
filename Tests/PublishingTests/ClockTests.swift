import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Testing

@testable import Publishing

/// A node whose own clock is wrong.
@Suite(.timeLimit(.minutes(60)), .database)
struct ClockTests {
    @Test(arguments: [-172_800, 3_600] as [Int64])
    func `the time is the database's, whatever the node's clock says`(error: Int64) async throws {
        let database = try TestDatabase.current
        let pool = PostgresPool(configuration: try database.configuration())
        let clock = DatabaseClock(
            systemClock: { Timestamp.wall.adding(seconds: error) }, logger: LogRecorder().logger)
        try await clock.measure(pool)
        #expect(abs(clock.now.microseconds - Timestamp.wall.microseconds) < 1_000_000)
        #expect(abs(clock.deviation - .seconds(error)) < .seconds(1))
        await pool.close()
    }

    @Test func `nothing is signed or recorded while the clocks disagree, and the rest is done afterwards`() async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let error = ManualClock()
        let base = error.now
        let log = LogRecorder()
        let clock = DatabaseClock(
            systemClock: { Timestamp.wall.adding(seconds: error.now.seconds - base.seconds) }, logger: log.logger)
        try await PublishingNode.run(
            on: database,
            .with { ($0.keyEncryptionKey, $0.node.clock) = (key, { clock.now }) }
        ) { node in
            try await clock.measure(node.node.pool)
            try await node.makeKey()
            let (app, other) = (try Sample.app(), try Sample.app())
            try await node.execute(try Sample.create(app, hosts: 1))
            let first = try node.check(app)
            error.advance(seconds: 30)
            clock.judge(node.node.ledger)
            #expect(log.text.filter { $0.hasPrefix("warning") }.count == 1)
            try await node.execute(try Sample.rename(app, "x"))

            error.advance(seconds: 3_600)
            clock.judge(node.node.ledger)
            clock.judge(node.node.ledger)
            #expect(log.text.filter { $0.hasPrefix("critical") }.count == 1)
            let refused = await node.node.attempt(try Sample.rename(app, "y"))
            guard case .failure(.suspended(let why)) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(why.contains("3630 s ahead of the database"))
            // Another node, whose clock is right, goes on.
            try await TestNode.run(on: database, .with { $0.name = "other" }) { right in
                _ = try await right.writer.execute(try Sample.create(other, hosts: 1))
            }
            #expect(await eventually { node.node.ledger.view.state.apps[other] != nil })
            #expect(node[other] == nil)
            #expect(try node.check(app).issuedAt >= first.issuedAt)

            error.advance(seconds: -3_630)
            clock.judge(node.node.ledger)
            #expect(await eventually { node[other] != nil })
            #expect(abs(try node.check(other).issuedAt.seconds - Timestamp.wall.seconds) < 60)
            try await node.execute(try Sample.rename(app, "z"))

            error.advance(seconds: -3_600)
            clock.judge(node.node.ledger)
            #expect(node.node.ledger.suspension == "this node's clock is 3600 s behind the database's")
        }
    }
}

private func abs(_ duration: Duration) -> Duration { max(duration, .zero - duration) }
