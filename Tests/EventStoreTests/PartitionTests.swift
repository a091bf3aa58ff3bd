import EventStore
import Fixtures
import Pinning
import Postgres
import Testing

@Suite(.database, .timeLimit(.minutes(60)))
struct PartitionTests {
    private static func partitions(_ database: TestDatabase) async throws -> [String] {
        try await database.query(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'pinledger.event'::regclass ORDER BY 1"
        ).map { try $0.text(0) }
    }

    /// As if so many events were recorded; the tree's edge has the right length and no meaning.
    private static func pretend(_ database: TestDatabase, position: Int64) async throws {
        let count = position.nonzeroBitCount
        try await database.query(
            "UPDATE pinledger.head SET next_position = $1, frontier = decode(repeat('00', 32 * $2), 'hex')",
            [.int64(position), .int32(Int32(count))]
        )
    }

    @Test func `a whole partition is always ahead, whichever role asks for it`() async throws {
        let database = try TestDatabase.current
        #expect(
            try await Self.partitions(database) == ["pinledger.event_00000000000000", "pinledger.event_00000010000000"]
        )
        let app = try await database.connect(as: .app)
        #expect(try await app.query("SELECT pinledger.ensure_partitions()").only.int32(0) == 0)
        try await Self.pretend(database, position: 9_999_999)
        #expect(try await app.query("SELECT pinledger.ensure_partitions()").only.int32(0) == 0)
        try await Self.pretend(database, position: 10_000_000)
        let made = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let connection = try await database.connect(as: .app)
                    // It waits a second for the others, and is called again by the next housekeeping.
                    while true {
                        do {
                            return try await connection.query("SELECT pinledger.ensure_partitions()").only.int32(0)
                        } catch let error as PostgresError where error.sqlState == "55P03" {}
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(made == 1)
        #expect(try await Self.partitions(database).last == "pinledger.event_00000020000000")
    }

    @Test func `a new partition has the triggers and the index of the first`() async throws {
        let database = try TestDatabase.current
        try await Self.pretend(database, position: 10_000_000)
        try await database.execute("SELECT pinledger.ensure_partitions()")
        for leaf in try await Self.partitions(database) {
            let triggers = try await database.query(
                "SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1::regclass AND tgenabled = 'A' ORDER BY 1",
                [.text(leaf)]
            )
            #expect(try triggers.map { try $0.text(0) } == ["refuse_change", "refuse_truncate"], "\(leaf)")
            let index = try await database.query(
                "SELECT indisunique FROM pg_index WHERE indexrelid = ($1 || '_stream')::regclass", [.text(leaf)]
            )
            #expect(try index.only.bool(0))
            let owner = try await database.query(
                "SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = $1::regclass", [.text(leaf)]
            )
            #expect(try owner.only.text(0) == "pinledger_owner")
            for sql in ["TRUNCATE \(leaf)", "SET ROLE pinledger_owner; TRUNCATE \(leaf)"] {
                let connection = try await database.connect()
                #expect(await failure { try await connection.execute(script: sql) }?.sqlState == "23001", "\(sql)")
            }
        }
        // With a row in it, a leaf refuses the rest as well.
        try await database.execute(
            """
            INSERT INTO pinledger.event VALUES (20000005, 1, now(), 's', 't', 'k', 'a', 'e', sha256('e'))
            """
        )
        for sql in ["UPDATE", "DELETE FROM"].map({ "\($0) pinledger.event_00000020000000" }) {
            let statement = sql.hasPrefix("UPDATE") ? sql + " SET type = 'other'" : sql
            let connection = try await database.connect()
            try await connection.query("SET session_replication_role = replica")
            #expect(await failure { try await connection.query(statement) }?.sqlState == "23001", "\(statement)")
        }
    }

    @Test func `a long reader delays neither the next partition nor an append beside it`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let reader = try await database.connect()
            try await reader.execute(script: "BEGIN; SELECT count(*) FROM pinledger.event")
            let maker = try await database.connect()
            // Not committed yet: what it locks stays locked while others go on.
            try await maker.execute(script: "SET lock_timeout = '5s'; BEGIN; SET LOCAL ROLE pinledger_owner")
            try await maker.query("SELECT pinledger.add_partition(990000000, 1000000000)")
            try await maker.query("SELECT pinledger.ensure_partitions()")
            _ = try await node.writer.execute(try Sample.rename(app, "meanwhile"))
            #expect(try await node.pool.query("SELECT count(*) FROM pinledger.event").only.int64(0) == 2)
            try await maker.execute(script: "COMMIT")
            #expect(try await Self.partitions(database).last == "pinledger.event_00000990000000")
            try await reader.execute(script: "COMMIT")
        }
    }

    @Test func `an event without a partition is refused, and nothing of its batch is left`() async throws {
        let database = try TestDatabase.current
        try await Self.pretend(database, position: 20_000_000)
        let app = try await database.connect(as: .app)
        let error = await failure {
            try await app.query(
                """
                SELECT pinledger.append(h.next_position, h.frontier, h.frontier, now(), ARRAY['fleet'], ARRAY[1::bigint],
                    ARRAY['T'], ARRAY['token'], ARRAY['a'], ARRAY['e'::bytea], '{}', '{}', '{}', ARRAY['fleet'],
                    ARRAY[0::bigint], ARRAY[1::bigint], ARRAY[h.next_position], ARRAY['token:a'], ARRAY['k'], ARRAY[sha256('x')],
                    ARRAY[h.next_position], ARRAY[1])
                FROM pinledger.head h
                """
            )
        }
        #expect(error?.sqlState == "23514")
        for table in ["event", "stream", "command"] {
            #expect(try await database.query("SELECT FROM pinledger.\(table)").isEmpty)
        }
        #expect(try await database.query("SELECT next_position FROM pinledger.head").only.int64(0) == 20_000_000)
    }

    @Test func `housekeeping makes partitions and ends with its task`() async throws {
        let database = try TestDatabase.current
        try await Self.pretend(database, position: 10_000_000)
        let pool = PostgresPool(configuration: try database.configuration())
        let task = Task { await Housekeeping(ledger: Ledger(), pool: pool, logger: .silent).run() }
        #expect(try await eventually { try await Self.partitions(database).count == 3 })
        task.cancel()
        await task.value
        await pool.close()
    }
}
