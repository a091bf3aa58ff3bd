import EventStore
import Fixtures
import Pinning
import Postgres
import Testing
import TransparencyLog

/// How a node hears of what others write, and what it does when the ledger does not fit.
@Suite(.database, .timeLimit(.minutes(1)))
struct FollowerTests {
    @Test func `what another node writes is here within a second, by notification alone`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database, .with { $0.pollInterval = .seconds(3600) }) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            #expect(await eventually { nodes[1].ledger.position == 1 })
            var delays: [Duration] = []
            for number in 0..<11 {
                let recorded = try await nodes[0].writer.execute(try Sample.rename(app, "n\(number)"))
                let start = ContinuousClock.now
                #expect(await eventually { nodes[1].ledger.position >= recorded.position })
                delays.append(start.duration(to: .now))
            }
            // The middle one: a busy machine may delay a few.
            #expect(delays.sorted()[5] < .seconds(1))
        }
    }

    @Test func `where notifications are lost the poll finds what was written`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let ledger = Ledger()
            let deaf = Follower(
                ledger: ledger, pool: node.pool,
                listener: PostgresListener(
                    configuration: try database.configuration(), channels: [], pollInterval: .milliseconds(200)
                ),
                logger: .silent
            )
            let task = Task { await deaf.run() }
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 3))
            #expect(await eventually { ledger.position == node.ledger.position })
            _ = try await node.writer.execute(try Sample.rename(app, "x"))
            #expect(await eventually { ledger.position == node.ledger.position })
            task.cancel()
            await task.value
        }
    }

    @Test func `a follower whose listening connection is cut goes on from where it was`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            for number in 0..<5 {
                #expect(try await eventually { try await database.terminate(nodes[1].listenerName) > 0 })
                _ = try await nodes[0].writer.execute(try Sample.rename(app, "n\(number)"))
                #expect(await eventually { nodes[1].ledger.position == Int64(number + 2) })
            }
            #expect(nodes[1].ledger.fault == nil)
            #expect(nodes[1].ledger.view.head == nodes[0].ledger.view.head)
        }
    }

    @Test func `a long ledger is read in pages`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 20))
            let ledger = Ledger()
            let follower = Follower(
                ledger: ledger, pool: node.pool,
                listener: PostgresListener(configuration: try database.configuration(), channels: []), logger: .silent,
                pageSize: 7
            )
            try await follower.catchUp()
            #expect(ledger.view.head == node.ledger.view.head)
            #expect(ledger.view.state.json == node.ledger.view.state.json)
        }
    }

    @Test func `watchers hear of each growth, and the closing of the ledger ends them`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            var last: Int64 = -1
            _ = try await node.writer.execute(try Sample.create(app))
            for await position in node.ledger.positions() {
                #expect(position > last)
                last = position
                if position == 5 { break }
                _ = try await node.writer.execute(try Sample.rename(app, "n\(position)"))
            }
            #expect(last == 5)
            node.ledger.close()
            for await _ in node.ledger.positions() { Issue.record("a closed ledger spoke") }
        }
    }
}
