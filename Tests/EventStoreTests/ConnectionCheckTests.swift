import EventStore
import Fixtures
import Postgres
import Testing

/// What a node finds behind an address where its database was a moment ago.
@Suite(.database, .timeLimit(.minutes(60)))
struct ConnectionCheckTests {
    struct Other: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        var fault: LedgerFault?
    }

    /// The node has seen positions 0, 1 and 2.
    static let others: [Other] = [
        Other(testDescription: "the same ledger", sql: "SELECT", fault: nil),
        Other(
            testDescription: "a ledger that lacks the last event",
            sql: """
                DELETE FROM pinledger.event WHERE position = 2;
                UPDATE pinledger.head SET next_position = 2, frontier = sha256('x')
                """,
            fault: .shrunk(from: 3, to: 2)),
        Other(
            testDescription: "a ledger as long, with another event at the end",
            sql: "UPDATE pinledger.head SET frontier = set_byte(frontier, 40, get_byte(frontier, 40) # 1)",
            fault: .fork(position: 3)),
        Other(
            testDescription: "a longer ledger, with another event where the known one ended",
            sql: """
                UPDATE pinledger.event SET leaf_hash = sha256('another') WHERE position = 2;
                UPDATE pinledger.head SET next_position = 4, frontier = sha256('x')
                """,
            fault: .fork(position: 3)),
    ]

    @Test(arguments: others)
    func `nothing is written through a new connection to another ledger`(other: Other) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, .with { $0.follows = false }) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            for number in 0..<2 { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
            #expect(node.ledger.position == 3)
            node.ledger.hold(node.pool, logger: node.logger)
            #expect(try await node.pool.read("SELECT 1").count == 1)
            try await database.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                \(other.sql)
                """)
            // It ends a moment after it was told to.
            #expect(try await eventually { try await database.terminate("node-pool") == 0 })
            let store = "SELECT pinledger.store_signing_secret('kid', 'kek', 'n', 'c')"
            let error = await failure { try await node.pool.query(store) }
            let stored = try await database.query("SELECT FROM pinledger.signing_secret").count
            #expect(stored == (other.fault == nil ? 1 : 0))
            #expect((error == nil) == (other.fault == nil), "\(String(describing: error))")
            #expect(node.ledger.fault == other.fault)
        }
    }

    @Test func `a node that starts from a snapshot knows the last event, too`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            for number in 0..<3 {
                let request = try number == 0 ? Sample.create(app) : Sample.rename(app, "n\(number)")
                _ = try await node.writer.execute(request)
            }
            let store = SnapshotStore(pool: node.pool, logger: node.logger)
            try await store.store(node.ledger.view)
            #expect(try await store.load().view.lastLeafHash == node.ledger.view.lastLeafHash)
            #expect(try await node.fullFold().lastLeafHash == node.ledger.view.lastLeafHash)
            #expect(node.ledger.view.lastLeafHash?.count == 32)
        }
    }
}
