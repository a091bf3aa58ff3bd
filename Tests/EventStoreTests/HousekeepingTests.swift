import Fixtures
import Pinning
import Postgres
import Testing

@testable import EventStore

/// What is forgotten in time, however much it is.
@Suite(.database, .timeLimit(.minutes(60))) struct HousekeepingTests {
    private static let old = """
        INSERT INTO pinledger.command
        SELECT 'token:old', 'k' || n, sha256(n::text::bytea), 0, 0, now() - interval '31 days'
        FROM generate_series(1, 25000) n;
        INSERT INTO pinledger.command
        SELECT 'token:new', 'k' || n, sha256(n::text::bytea), 0, 0, now() - interval '29 days' FROM generate_series(1, 10) n;
        INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type, state, settled_at)
        SELECT 'whk_a', n, 'app/a', 'AppRenamed', 'delivered', now() - interval '31 days'
        FROM generate_series(1, 25000) n;
        INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type, state, settled_at)
        SELECT 'whk_a', n, 'app/a', 'AppRenamed', 'delivered', now() - interval '29 days'
        FROM generate_series(30001, 30010) n;
        INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type)
        SELECT 'whk_a', n, 'app/a', 'AppRenamed' FROM generate_series(40001, 40010) n;
        """

    private static func counts(_ database: TestDatabase) async throws -> [Int64] {
        let row = try await database.query(
            """
            SELECT (SELECT count(*) FROM pinledger.command), (SELECT count(*) FROM pinledger.webhook_delivery)
            """
        ).only
        return [try row.int64(0), try row.int64(1)]
    }

    @Test func `one round of housekeeping removes everything old, and nothing else`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            try await database.execute(Self.old)
            try await Housekeeping(ledger: node.ledger, pool: node.pool, logger: node.logger).sweep()
            #expect(try await Self.counts(database) == [10, 20])
        }
    }

    @Test func `one call of housekeeping removes some thousand rows, so that none takes long`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            try await database.execute(Self.old)
            for table in ["commands", "deliveries"] {
                let sql = "SELECT pinledger.forget_\(table)(now() - interval '30 days')"
                for expected in [10_000, 10_000, 5000, 0] as [Int64] {
                    #expect(try await node.pool.query(sql).only.int64(0) == expected)
                }
            }
        }
    }

    @Test func `snapshots of earlier forms are removed once there is one of this form, except those of the last day`()
        async throws
    {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let form = LedgerState.foldVersion
            func insert(_ form: Int32, _ position: Int, days: Int) async throws {
                try await database.execute(
                    """
                    INSERT INTO pinledger.snapshot (fold_version, position, frontier, digests, tag, created_at)
                    VALUES (\(form), \(position), '', '', sha256(''), now() - interval '\(days) days')
                    """)
            }
            func sweep() async throws -> [Int64] {
                try await Housekeeping(ledger: node.ledger, pool: node.pool, logger: node.logger).sweep()
                let rows = try await database.query("SELECT position FROM pinledger.snapshot ORDER BY position")
                return try rows.map { try $0.int64(0) }
            }
            try await insert(form - 2, 1, days: 400)
            try await insert(form - 1, 2, days: 2)
            try await insert(form - 1, 3, days: 0)
            try await insert(form + 1, 4, days: 400)
            #expect(try await sweep() == [1, 2, 3, 4])
            try await insert(form, 5, days: 0)
            #expect(try await sweep() == [3, 4, 5])
            // The way back to the earlier program stays quick for a month.
            try await database.execute(
                "UPDATE pinledger.snapshot SET created_at = now() - interval '29 days' WHERE position = 3")
            #expect(try await sweep() == [3, 4, 5])
            try await database.execute(
                "UPDATE pinledger.snapshot SET created_at = now() - interval '31 days' WHERE position = 3")
            #expect(try await sweep() == [4, 5])
        }
    }

    @Test func `partitions that could not be made are tried again in the next round, and all else an hour later`() {
        var schedule = Housekeeping.Schedule()
        #expect(schedule.next() == .everything)
        schedule.lacksPartitions = true
        #expect(schedule.next() == .partitions)
        #expect(schedule.next() == .partitions)
        schedule.lacksPartitions = false
        #expect((3..<360).allSatisfy { _ in schedule.next() == .nothing })
        #expect(schedule.next() == .everything)
    }

    @Test func `a sweep says that another one keeps partitions from being made`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let housekeeping = Housekeeping(ledger: node.ledger, pool: node.pool, logger: node.logger)
            #expect(try await housekeeping.sweep())
            try await database.execute(
                """
                ALTER TABLE pinledger.event DETACH PARTITION pinledger.event_00000010000000;
                DROP TABLE pinledger.event_00000010000000;
                """)
            // As VACUUM and ANALYZE do.
            let other = try await database.connect()
            try await other.execute(
                script: "BEGIN; LOCK TABLE pinledger.event IN SHARE UPDATE EXCLUSIVE MODE")
            #expect(try await !housekeeping.sweep())
            try await other.execute(script: "COMMIT")
            #expect(try await housekeeping.sweep())
        }
    }

    @Test func `a housekeeping task that fails does not prevent the others`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            try await database.execute(Self.old)
            try await database.execute(
                """
                REVOKE EXECUTE ON FUNCTION pinledger.ensure_partitions, pinledger.forget_commands FROM pinledger_app
                """)
            try await Housekeeping(ledger: node.ledger, pool: node.pool, logger: node.logger).sweep()
            #expect(try await Self.counts(database) == [25_010, 20])
        }
    }
}
