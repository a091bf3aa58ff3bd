import EventStore
import Fixtures
import Foundation
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct MigrationTests {
    /// An empty database, without the schema.
    private static func withEmptyDatabase(_ body: (TestDatabase) async throws -> Void) async throws {
        let database = TestDatabase(name: TestServer.uniqueName("pinledger_empty"))
        let server = try await TestServer.connect()
        try await server.execute(script: "CREATE DATABASE \(database.name) TEMPLATE template0 STRATEGY wal_log")
        let result: Result<Void, any Error>
        do { result = .success(try await body(database)) } catch { result = .failure(error) }
        try await server.execute(script: "DROP DATABASE \(database.name) WITH (FORCE)")
        await server.close()
        try result.get()
    }

    private static func failure(of work: () async throws -> Void) async -> MigrationFailure? {
        do {
            try await work()
            return nil
        } catch {
            return error as? MigrationFailure
        }
    }

    @Test func `a fresh database gets every migration, and the second run finds nothing to do`() async throws {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            #expect(try await Migrator().status(on: connection) == .pending(Migration.all))
            #expect(try await Migrator().migrate(on: connection) == Migration.all)
            #expect(try await Migrator().status(on: connection) == .upToDate(later: 0))
            #expect(try await Migrator().migrate(on: connection).isEmpty)
            let rows = try await connection.query("SELECT version, name FROM pinledger.migration ORDER BY version")
            #expect(try rows.map { try $0.int32(0) } == Migration.all.map(\.version))
            #expect(try rows.map { try $0.text(1) } == Migration.all.map(\.name))
        }
    }

    @Test func `a database that stands halfway gets only what is missing`() async throws {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            let half = Array(Migration.all.prefix(2))
            #expect(try await Migrator(migrations: half).migrate(on: connection) == half)
            #expect(try await Migrator().status(on: connection) == .pending(Array(Migration.all.dropFirst(2))))
            #expect(try await Migrator().migrate(on: connection) == Array(Migration.all.dropFirst(2)))
        }
    }

    @Test(.database) func `an applied migration whose text has changed is refused`() async throws {
        let database = try TestDatabase.current
        try await database.execute("UPDATE pinledger.migration SET checksum = sha256('other') WHERE version = 3")
        let connection = try await database.connect()
        let expected = MigrationFailure.changed(version: 3, name: "documents")
        #expect(await Self.failure { _ = try await Migrator().status(on: connection) } == expected)
        #expect(await Self.failure { _ = try await Migrator().migrate(on: connection) } == expected)
        #expect(connection.isUsable)
    }

    /// The last migration of this program.
    private static let last = Migration.all.map(\.version).max() ?? 0

    /// This program's migrations and one of a later program.
    private static func later(_ firstLine: String) -> (migrator: Migrator, version: Int32) {
        let version = Self.last + 1
        let sql = "\(firstLine)\nSET LOCAL ROLE pinledger_owner; CREATE TABLE pinledger.later ();"
        return (Migrator(migrations: Migration.all + [Migration(version, "later", sql)]), version)
    }

    @Test(
        arguments: [
            ("-- works-with: \(last)", true), ("-- works-with: 9", true), ("-- works-with: \(last + 1)", false),
            ("", false), ("-- works-with: ten", false), ("\n-- works-with: \(last)", false),
        ])
    func `the database of a later program is used where its migrations say so`(firstLine: String, isUsed: Bool)
        async throws
    {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            _ = try await Migrator().migrate(on: connection)
            let (migrator, version) = Self.later(firstLine)
            #expect(try await migrator.migrate(on: connection).map(\.version) == [version])
            if isUsed {
                #expect(try await Migrator().status(on: connection) == .upToDate(later: 1))
                #expect(try await Migrator().migrate(on: connection).isEmpty)
            } else {
                let refused = MigrationFailure.newer(version: version)
                #expect(await Self.failure { _ = try await Migrator().status(on: connection) } == refused)
            }
        }
    }

    @Test func `a migration waits until no node runs that it would break`() async throws {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            _ = try await Migrator().migrate(on: connection)
            let id = String(repeating: "a", count: 32)
            try await database.execute(
                "SELECT pinledger.report_node('\(id)', 'host:1', '0.1', \(Self.last), 1, false, 'running', 0)")
            let harmless = try await Self.later("-- works-with: \(Self.last)").migrator.migrate(on: connection)
            #expect(harmless.count == 1)
            try await database.execute(
                "DELETE FROM pinledger.migration WHERE name = 'later'; DROP TABLE pinledger.later")
            let (migrator, version) = Self.later("")
            let refused = MigrationFailure.inUse(version: version, name: "later", nodes: ["host:1 (version 0.1)"])
            #expect(await Self.failure { _ = try await migrator.migrate(on: connection) } == refused)
            // A node that has been silent for a minute is gone.
            try await database.execute("UPDATE pinledger.node SET seen_at = now() - interval '61 s'")
            #expect(try await migrator.migrate(on: connection).map(\.version) == [version])
        }
    }

    /// This program's migrations and one that needs a lock for which it waits behind every reader of the events.
    private static func altering(_ patience: Migrator.Patience) -> Migrator {
        let version = Self.last + 1
        let sql =
            "-- works-with: \(Self.last)\nSET LOCAL ROLE pinledger_owner; ALTER TABLE pinledger.event ADD COLUMN later integer;"
        return Migrator(migrations: Migration.all + [Migration(version, "later", sql)], patience: patience)
    }

    @Test(.database) func `appends go on while a migration waits for a reader's lock`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            let reader = try await database.connect()
            try await reader.execute(script: "BEGIN; SELECT count(*) FROM pinledger.event")
            let (attempts, attempted) = AsyncStream.makeStream(of: Void.self)
            let migration = Task {
                let connection = try await database.connect()
                return try await Self.altering(.init(attempts: .max, pause: .milliseconds(10)))
                    .migrate(on: connection) { _ in attempted.yield() }
            }
            for await _ in attempts { break }
            // Behind a migrator that waits for the reader, none of them would be answered.
            for number in 1...5 { _ = try await node.writer.execute(try Sample.rename(app, "name \(number)")) }
            try await reader.execute(script: "COMMIT")
            #expect(try await migration.value.map(\.name) == ["later"])
            _ = try await node.writer.execute(try Sample.rename(app, "in the end"))
        }
    }

    @Test(.database) func `a migration ends after some attempts, and names who holds the lock`() async throws {
        let database = try TestDatabase.current
        let reader = try await database.connect()
        try await reader.execute(
            script: "SET application_name = 'a long dump'; BEGIN; SELECT count(*) FROM pinledger.event")
        let process = try await reader.query("SELECT pg_backend_pid()").only.int32(0)
        let connection = try await database.connect()
        var waits = 0
        let failure = await Self.failure {
            _ = try await Self.altering(.init(attempts: 3, pause: .zero)).migrate(on: connection) { _ in waits += 1 }
        }
        guard case .locked(_, "later", 3, let holders)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(waits == 1 && holders.map(\.process) == [process])
        #expect(failure?.description.contains("process \(process) (a long dump, ") == true)
        // Nothing is left of it.
        try await reader.execute(script: "COMMIT")
        #expect(try await Migrator().status(on: connection) == .upToDate(later: 0))
    }

    @Test func `no migration waits longer for a lock than the migrator lets it`() {
        for migration in Migration.all {
            // Statements begin a line; those within a function are indented.
            let lines = migration.sql.split(separator: "\n").map { $0.uppercased() }
            #expect(!lines.contains { $0.hasPrefix("LOCK ") || $0.hasPrefix("SET") && $0.contains("LOCK_TIMEOUT") })
        }
    }

    @Test func `a database that an earlier migrator made is migrated and read`() async throws {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            _ = try await Migrator(migrations: Array(Migration.all.prefix(9))).migrate(on: connection)
            try await database.execute("ALTER TABLE pinledger.migration DROP COLUMN works_with")
            #expect(try await Migrator().status(on: connection) == .pending(Array(Migration.all.dropFirst(9))))
            #expect(try await Migrator().migrate(on: connection) == Array(Migration.all.dropFirst(9)))
        }
    }

    @Test(.database) func `the database of a later program is refused`() async throws {
        let database = try TestDatabase.current
        try await database.execute("INSERT INTO pinledger.migration VALUES (999, 'future', sha256('x'))")
        let connection = try await database.connect()
        #expect(await Self.failure { _ = try await Migrator().status(on: connection) } == .newer(version: 999))
        #expect(await Self.failure { _ = try await Migrator().migrate(on: connection) } == .newer(version: 999))
    }

    @Test func `a database from before the first release is refused and stays as it is`() async throws {
        try await Self.withEmptyDatabase { database in
            // Its record of 23 migrations; the first one's checksum is what that program wrote.
            try await database.execute(
                """
                CREATE SCHEMA pinledger;
                CREATE TABLE pinledger.migration (
                    version integer PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                );
                INSERT INTO pinledger.migration (version, name, checksum)
                VALUES (1, 'roles', '\\x5e0cca0f94ded760f9446794aa024d81336de0445f86335ee1c95146447572e8');
                INSERT INTO pinledger.migration (version, name, checksum)
                SELECT n, 'later', sha256(n::text::bytea) FROM generate_series(2, 23) n;
                """
            )
            let connection = try await database.connect()
            #expect(await Self.failure { _ = try await Migrator().status(on: connection) } == .unreleased)
            #expect(await Self.failure { _ = try await Migrator().migrate(on: connection) } == .unreleased)
            let left = try await connection.query(
                "SELECT (SELECT count(*) FROM pinledger.migration), to_regclass('pinledger.head')::text"
            ).only
            #expect(try left.int64(0) == 23)
            #expect(try left.optionalText(1) == nil)
        }
    }

    @Test func `each migration is applied by one of several migrators that run at once`() async throws {
        try await Self.withEmptyDatabase { database in
            let done = try await withThrowingTaskGroup(of: [Migration].self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let connection = try await database.connect()
                        defer { Task { await connection.close() } }
                        return try await Migrator().migrate(on: connection)
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(done.sorted { $0.version < $1.version } == Migration.all)
        }
    }

    @Test func `the embedded migrations are the files of db/migrations`() throws {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../db/migrations").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        let names = Migration.all.map { migration in
            "\(String(repeating: "0", count: 4 - "\(migration.version)".count))\(migration.version)_\(migration.name).sql"
        }
        #expect(files == names)
        #expect(Migration.all.map(\.version) == Array(1...Int32(files.count)))
        for (name, migration) in zip(names, Migration.all) {
            #expect(try String(contentsOf: directory.appendingPathComponent(name), encoding: .utf8) == migration.sql)
        }
    }

    @Test func `a migration that fails leaves nothing behind, and those before it stay`() async throws {
        try await Self.withEmptyDatabase { database in
            let connection = try await database.connect()
            let text = "SET LOCAL ROLE pinledger_owner; CREATE TABLE pinledger.half (); SELECT 1 / 0;"
            let next = (Migration.all.map(\.version).max() ?? 0) + 1
            let bad = Migration(next, "bad", text)
            let failure = await Self.failure {
                _ = try await Migrator(migrations: Migration.all + [bad]).migrate(on: connection)
            }
            guard case .failed(version: next, name: "bad", let error) = failure else {
                Issue.record("not refused as it should be: \(String(describing: failure))")
                return
            }
            #expect(error.sqlState == "22012")
            #expect(
                try await connection.query("SELECT to_regclass('pinledger.half')::text").only.optionalText(0) == nil)
            #expect(try await Migrator().status(on: connection) == .upToDate(later: 0))
        }
    }

    @Test func `an account without superuser rights can migrate, if it may create roles`() async throws {
        try await Self.withEmptyDatabase { database in
            let account = TestServer.uniqueName("migrator")
            try await database.execute(
                """
                CREATE ROLE \(account) LOGIN CREATEROLE;
                ALTER DATABASE \(database.name) OWNER TO \(account);
                """
            )
            let connection = try await PostgresConnection.connect(
                PostgresConfiguration(connectionString: try TestServer.uri(of: database.name, as: account))
            )
            #expect(try await Migrator().migrate(on: connection) == Migration.all)
            #expect(try await Migrator().migrate(on: connection).isEmpty)
            await connection.close()
            try await database.execute(
                """
                ALTER DATABASE \(database.name) OWNER TO postgres;
                DROP OWNED BY \(account);
                DROP ROLE \(account);
                """
            )
        }
    }
}
