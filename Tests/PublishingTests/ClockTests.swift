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

    @Test func `documents from the future are signed again once the clock that was ahead is right`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let time = ManualClock()
        let log = LogRecorder()
        try await PublishingNode.run(
            on: database, .with { ($0.keyEncryptionKey, $0.node.clock) = (key, { time.now }) }
        ) { node in
            try await node.makeKey()
            let app = try Sample.app()
            time.advance(seconds: 259_200)
            try await node.execute(try Sample.create(app, hosts: 1))
            let ahead = try node.check(app)
            // Another node, which only serves, has it too, and learns of the right time later.
            let late = ManualClock()
            late.advance(seconds: 259_200)
            let serving = PublishingNode.Setup.with {
                ($0.node.name, $0.node.clock) = ("other", { late.now })
                $0.node.pollInterval = .milliseconds(50)
            }
            try await PublishingNode.run(on: database, serving) { other in
                #expect(await eventually { other[app]?.issuedAt == ahead.issuedAt })
                time.advance(seconds: -259_200)
                let last = "SELECT max(change) FROM pinledger.document WHERE issued_at < now() + interval '1 hour'"
                let hasLooked = try await eventually {
                    let change = try await database.query(last).only.optionalInt64(0)
                    return await other.publisher.seenChange == change
                }
                #expect(hasLooked && other[app]?.issuedAt == ahead.issuedAt)
                late.advance(seconds: -259_200)
                #expect(await eventually { other[app].map { $0.issuedAt < ahead.issuedAt } ?? false })
            }
            let right = try node.check(app)
            #expect(right.version == ahead.version && right.contentDigest == ahead.contentDigest)
            #expect(abs(right.issuedAt.seconds - time.now.seconds) < 60)
            let sql = "SELECT body FROM pinledger.document WHERE app = $1"
            try #expect(
                await eventually { try await database.query(sql, [.text(app.text)]).only.bytes(0) == right.bytes })

            let clock = DatabaseClock(systemClock: { .wall }, logger: log.logger)
            try await clock.measure(node.node.pool)
            clock.judge(node.node.ledger)
            clock.judge(node.node.ledger)
            #expect(log.text.filter { $0.hasPrefix("critical the ledger's last event lies in the future") }.count == 1)
        }
    }

    @Test func `issue times never fall from one version to the next, whichever node signs it`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { first in
            try await first.makeKey()
            let app = try Sample.app()
            try await first.execute(try Sample.create(app, hosts: 1))
            let behind = PublishingNode.Setup.with {
                ($0.keyEncryptionKey, $0.node.name) = (key, "second")
                $0.node.clock = { Timestamp.wall.adding(seconds: -2) }
            }
            try await PublishingNode.run(on: database, behind) { second in
                #expect(await eventually { second.node.ledger.position == first.node.ledger.position })
                var issued: [Int64: Set<Timestamp>] = [:]
                for number in 0..<20 {
                    let node = number.isMultiple(of: 2) ? first : second
                    try await node.execute(try Sample.rename(app, "n\(number)"))
                    let document = try #require(node[app])
                    issued[document.version, default: []].insert(document.issuedAt)
                }
                let times = issued.sorted { $0.key < $1.key }.flatMap { $0.value.sorted() }
                #expect(times.count >= 20 && times == times.sorted())
            }
        }
    }
}

private func abs(_ duration: Duration) -> Duration { max(duration, .zero - duration) }
