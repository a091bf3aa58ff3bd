import EventStore
import Fixtures
import Pinning
import Postgres
import Testing

/// Reading a long ledger by COPY, and all that can go wrong while pages are on their way.
@Suite(.database, .timeLimit(.minutes(60)))
struct BulkReadTests {
    /// More pages than fit between the two threads.
    private static let count: Int64 = 10_001

    /// A ledger of ``count`` events.
    private static func fill(_ database: TestDatabase) async throws {
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            for _ in 0..<5 {
                let names = (0..<2000).map { AppCommand.rename("n\($0)") }
                _ = try await node.writer.execute(try Sample.request(.app(app, names)))
            }
            #expect(node.ledger.position == Self.count)
        }
    }

    /// Of a node that is starting.
    private static func starting(_ body: (TestNode) async throws -> Void) async throws {
        let setup = TestNode.Setup.with { ($0.name, $0.follows, $0.bulkSize) = ("starting", false, 1) }
        try await TestNode.run(on: try TestDatabase.current, setup, body)
    }

    static let damages: [(sql: String, fault: LedgerFault)] = [
        (
            "UPDATE pinledger.event SET entry = set_byte(entry, 30, get_byte(entry, 30) # 1) WHERE position = 3",
            .leafHash(position: 3)
        ),
        (
            "UPDATE pinledger.event SET entry = set_byte(entry, 30, get_byte(entry, 30) # 1) WHERE position = 9000",
            .leafHash(position: 9000)
        ),
        ("UPDATE pinledger.event SET leaf_hash = sha256('x') WHERE position = 3", .leafHash(position: 3)),
        (
            """
            UPDATE pinledger.event SET entry = convert_to(
                replace(convert_from(entry, 'UTF8'), 'Tester', 'Tamper'), 'UTF8') WHERE position = 3;
            UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 3
            """, .fork(position: count)
        ),
        ("DELETE FROM pinledger.event WHERE position = 3", .position(expected: 3, found: 4)),
        (
            "DELETE FROM pinledger.event WHERE position = \(count - 1)",
            .position(expected: count - 1, found: count)
        ),
    ]

    @Test(arguments: damages.indices)
    func `damage in a long ledger ends the reading, and not the process`(damage: Int) async throws {
        let database = try TestDatabase.current
        try await Self.fill(database)
        let (sql, fault) = Self.damages[damage]
        try await database.execute(
            """
            ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
            ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
            \(sql)
            """)
        try await Self.starting { node in
            await #expect(throws: fault) { try await node.follower.catchUp() }
            #expect(node.ledger.position == 0)
        }
    }

    /// Puts a function between the reader and one of the entries.
    private static func intercept(_ statement: String, times: Int) async throws {
        try await TestDatabase.current.execute(
            """
            CREATE SEQUENCE pinledger.interceptions;
            CREATE FUNCTION pinledger.intercept(entry bytea) RETURNS bytea
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger AS $$
            BEGIN
                IF nextval('pinledger.interceptions') <= \(times) THEN
                    PERFORM \(statement);
                END IF;
                RETURN entry;
            END
            $$;
            ALTER TABLE pinledger.event RENAME TO kept;
            CREATE VIEW pinledger.event AS
            SELECT position, CASE position WHEN 9000 THEN pinledger.intercept(entry) ELSE entry END AS entry, leaf_hash
            FROM pinledger.kept ORDER BY position;
            GRANT SELECT ON pinledger.event TO pinledger_app
            """)
    }

    @Test(arguments: [1, 2, 3])
    func `a connection that is cut is taken up again, twice`(cuts: Int) async throws {
        try await Self.fill(try TestDatabase.current)
        try await Self.intercept("pg_terminate_backend(pg_backend_pid()), pg_sleep(1)", times: cuts)
        try await Self.starting { node in
            if cuts < 3 {
                try await node.follower.catchUp()
                #expect(node.ledger.position == Self.count)
            } else {
                await #expect(throws: PostgresError.self) { try await node.follower.catchUp() }
                #expect(node.ledger.position == 0)
            }
            #expect(node.ledger.fault == nil)
        }
    }

    @Test func `a node that is stopped during a read does not wait`() async throws {
        try await Self.fill(try TestDatabase.current)
        try await Self.intercept("pg_sleep(100000)", times: 1)
        try await Self.starting { node in
            let reading = Task { try await node.follower.catchUp() }
            let isAsleep = try await eventually {
                try await TestDatabase.current.query(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
                ).count == 1
            }
            #expect(isAsleep)
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            #expect(node.ledger.position == 0 && node.ledger.fault == nil)
        }
    }
}
