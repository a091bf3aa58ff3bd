import EventStore
import Fixtures
import Pinning
import Postgres
import Synchronization
import Testing
import TransparencyLog

/// What was announced, in order.
private final class Heard: Sendable {
    let positions = Mutex<[Int64]>([])
}

/// How a node learns of other nodes' entries, and what it does at a mismatch.
@Suite(.database, .timeLimit(.minutes(60)))
struct FollowerTests {
    @Test func `a change by another node arrives by notification alone, long before the next poll`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database, .with { $0.pollInterval = .seconds(3600) }) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            #expect(await eventually { nodes[1].ledger.position == 1 })
            for number in 0..<11 {
                let recorded = try await nodes[0].writer.execute(try Sample.rename(app, "n\(number)"))
                #expect(await eventually { nodes[1].ledger.position >= recorded.position })
            }
        }
    }

    @Test func `the poll finds new entries where notifications are lost`() async throws {
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

    @Test func `batches in quick succession wake the other nodes from time to time, and once at the end`() async throws
    {
        let database = try TestDatabase.current
        let listener = PostgresListener(
            configuration: try database.configuration(), channels: [Follower.channel], pollInterval: .seconds(60)
        )
        let heard = Heard()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (isListening, ready) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                for await event in listener.events() {
                    if case .notification(_, let payload) = event {
                        heard.positions.withLock { $0.append(Int64(payload) ?? -1) }
                    }
                    ready.yield()
                }
            }
            for await _ in isListening { break }
            try await TestNode.run(on: database) { node in
                let began = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { writers in
                    for _ in 0..<4 {
                        writers.addTask {
                            let app = try Sample.app()
                            _ = try await node.writer.execute(try Sample.create(app))
                            for number in 0..<100 {
                                _ = try await node.writer.execute(try Sample.rename(app, "name \(number)"))
                            }
                        }
                    }
                    try await writers.waitForAll()
                }
                #expect(node.ledger.position == 404)
                #expect(await eventually { heard.positions.withLock { $0.last } == 404 })
                let positions = heard.positions.withLock { $0 }
                #expect(positions == positions.sorted())
                // Once every ten milliseconds, and once at the end.
                let most = Int(began.duration(to: .now) / .milliseconds(10)) + 2
                #expect(positions.count <= most)
            }
            group.cancelAll()
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

    /// Stretches that begin and end anywhere, of whole pages and of parts.
    @Test(arguments: [0, 1, 200, 255, 256, 257, 2048]) func `a long ledger is read by COPY from any position on`(
        start: Int
    ) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            var views = [node.ledger.view]
            for _ in 0..<30 {
                _ = try await node.writer.execute(try Sample.create(try Sample.app(), hosts: 20))
                views.append(node.ledger.view)
            }
            let base = try #require(views.last { $0.head.position <= start })
            let ledger = Ledger(view: base)
            _ = ledger.takeRemoteChanges()
            let follower = Follower(
                ledger: ledger, pool: node.pool,
                listener: PostgresListener(configuration: try database.configuration(), channels: []),
                logger: .silent, bulkSize: 1
            )
            try await follower.catchUp()
            #expect(ledger.view.head == node.ledger.view.head)
            #expect(ledger.view.state.json == node.ledger.view.state.json)
            // Just the apps that came after.
            let changed = ledger.takeRemoteChanges().apps
            #expect(changed == Set(node.ledger.view.state.apps.keys).subtracting(base.state.apps.keys))
        }
    }

    @Test func `a COPY whose connection is cut goes on from where it was`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            for _ in 0..<20 { _ = try await node.writer.execute(try Sample.create(try Sample.app(), hosts: 40)) }
            let end = node.ledger.position
            #expect(end > 4000)
            let pool = PostgresPool(configuration: try database.configuration(applicationName: "bulk"))
            let ledger = Ledger()
            let follower = Follower(
                ledger: ledger, pool: pool,
                listener: PostgresListener(configuration: try database.configuration(), channels: []), logger: .silent,
                bulkSize: 1
            )
            // Cut again and again while it reads; it gives up at last, or comes to the end.
            let cutter = Task {
                while !Task.isCancelled {
                    _ = try? await database.terminate("bulk")
                    try? await Task.sleep(for: .milliseconds(3))
                }
            }
            _ = try? await follower.catchUp()
            cutter.cancel()
            await cutter.value
            #expect(ledger.fault == nil && (ledger.position == 0 || ledger.position == end))
            try await follower.catchUp()
            #expect(ledger.view.head == node.ledger.view.head)
            await pool.close()
        }
    }

    @Test func `watchers learn of each growth, and the closing of the ledger ends them`() async throws {
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
