import EventStore
import Fixtures
import Postgres
import Testing

/// Who may change what is recorded: nobody.
@Suite(.database, .timeLimit(.minutes(60)))
struct AppendOnlyTests {
    /// A database with 300 events, so that there is a tree node too.
    private static func filled() async throws -> TestDatabase {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, .with { $0.follows = false }) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
                }
                try await group.waitForAll()
            }
        }
        return database
    }

    private static let tables = ["event", "event_00000000000000", "tree_node"]

    private static func attempts(on table: String) -> [String] {
        let column = table == "tree_node" ? "hash" : "leaf_hash"
        return [
            "UPDATE pinledger.\(table) SET \(column) = \(column)",
            "DELETE FROM pinledger.\(table)",
            "TRUNCATE pinledger.\(table)",
        ]
    }

    @Test func `no role may change, delete or empty the record, not even as a replica`() async throws {
        let database = try await Self.filled()
        let app = try await database.connect(as: .app)
        let reader = try await database.connect(as: .reader)
        let owner = try await database.connect()
        try await owner.query("SET ROLE pinledger_owner")
        let superuser = try await database.connect()
        let replica = try await database.connect()
        try await replica.query("SET session_replication_role = replica")
        // insufficient_privilege, restrict_violation
        let roles = [
            ("app", app, "42501"), ("reader", reader, "42501"), ("owner", owner, "23001"),
            ("superuser", superuser, "23001"), ("replica", replica, "23001"),
        ]
        for table in Self.tables {
            for sql in Self.attempts(on: table) {
                for (role, connection, state) in roles {
                    let error = await failure { try await connection.query(sql) }
                    #expect(error?.sqlState == state, "\(sql) as \(role)")
                }
            }
        }
        #expect(try await superuser.query("SELECT count(*) FROM pinledger.event").only.int64(0) == 301)
        #expect(try await superuser.query("SELECT count(*) FROM pinledger.tree_node").only.int64(0) == 1)
    }

    @Test func `the application's account writes through functions only, and locks nothing`() async throws {
        let database = try await Self.filled()
        let app = try await database.connect(as: .app)
        let refused = [
            "INSERT INTO pinledger.event SELECT 301, 302, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash "
                + "FROM pinledger.event WHERE position = 300",
            "INSERT INTO pinledger.event_00000000000000 SELECT * FROM pinledger.event LIMIT 0",
            "INSERT INTO pinledger.tree_node VALUES (8, 77, sha256('x'))",
            "INSERT INTO pinledger.document SELECT * FROM pinledger.document",
            "SELECT * FROM pinledger.event FOR UPDATE",
            "SELECT * FROM pinledger.head FOR UPDATE",
            "SELECT * FROM pinledger.head FOR SHARE",
            "UPDATE pinledger.head SET next_position = 0",
            "UPDATE pinledger.stream SET version = 1",
            "DELETE FROM pinledger.command",
            "DELETE FROM pinledger.snapshot",
            "DELETE FROM pinledger.snapshot_part",
            "DELETE FROM pinledger.signing_secret",
            "ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change",
            "DROP TABLE pinledger.event_00000000000000",
            "CREATE TABLE pinledger.mine ()",
            "SELECT pinledger.add_partition(100000000, 200000000)",
            "SET ROLE pinledger_owner",
        ]
        for sql in refused {
            let error = await failure { try await app.query(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
    }

    @Test func `the reader's account reads the ledger, and neither writes nor sees private keys`() async throws {
        let database = try await Self.filled()
        let reader = try await database.connect(as: .reader)
        for table in [
            "head", "event", "tree_node", "stream", "command", "snapshot", "snapshot_part", "document", "migration",
        ] {
            #expect(await failure { try await reader.query("SELECT count(*) FROM pinledger.\(table)") } == nil)
        }
        let refused = [
            "SELECT pinledger.lock_head()",
            """
            SELECT pinledger.append(301, '', '', now(), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
                '{}', '{}', '{}', '{}', '{}', '{}', '{}')
            """,
            "SELECT pinledger.ensure_partitions()",
            "SELECT pinledger.forget_commands(now())",
            "SELECT pinledger.store_snapshot(1, 1, '', '', '')",
            "SELECT pinledger.store_snapshot_part(1, 1, 1, '')",
            "SELECT pinledger.publish_documents('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
            "SELECT pinledger.store_signing_secret('', '', '', '')",
            "SELECT pinledger.erase_signing_secret('')",
            "SELECT kid FROM pinledger.signing_secret",
            "SELECT ciphertext FROM pinledger.signing_secret",
        ]
        for sql in refused {
            let error = await failure { try await reader.query(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
    }

    @Test func `functions that run as the owner cannot be misled by the caller's search path`() async throws {
        let database = try TestDatabase.current
        let rows = try await database.query(
            """
            SELECT proname::text, coalesce(array_to_string(proconfig, ','), '') FROM pg_proc
            WHERE pronamespace = 'pinledger'::regnamespace AND prosecdef
            """
        )
        #expect(rows.count >= 8)
        for row in rows {
            let (name, settings) = (try row.text(0), try row.text(1))
            #expect(settings.contains("search_path=pinledger, pg_temp"), "\(name)")
        }
        let open = try await database.query(
            """
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = 'pinledger'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE')
            """
        )
        #expect(try open.map { try $0.text(0) } == [])
    }
}
