import EventStore
import Foundation
import PinWire
import Postgres

/// The migrated database that every test's own is copied from: made once for each wording of the migrations, by
/// whichever process comes first.
actor TemplateDatabase {
    static let shared = TemplateDatabase()
    private var made: Task<String, any Error>?

    func name() async throws -> String {
        if let made { return try await made.value }
        let task = Task { try await Self.make() }
        self.made = task
        return try await task.value
    }

    private static func make() async throws -> String {
        let checksum = Hex.encode(sha256(Migration.all.flatMap(\.checksum)).prefix(6))
        let name = "pinledger_template_\(checksum)"
        let server = try await TestServer.connect()
        // For the session: CREATE DATABASE is not for transactions.
        try await server.query("SELECT pg_advisory_lock(8201477)")
        // A process that dies before the mark leaves a template that is made again.
        let marks = try await server.query("SELECT datistemplate FROM pg_database WHERE datname = $1", [.text(name)])
        if let isFinished = try marks.first?.bool(0) {
            if isFinished { return try await Self.finish(server, name) }
            try await server.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
        }
        try await server.execute(script: "CREATE DATABASE \(name) TEMPLATE template0")
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(connectionString: try TestServer.uri(of: name), connectTimeout: .seconds(180))
        )
        _ = try await Migrator().migrate(on: connection)
        try await connection.execute(script: Self.roles)
        await connection.close()
        try await server.execute(script: "ALTER DATABASE \(name) IS_TEMPLATE true")
        return try await Self.finish(server, name)
    }

    private static func finish(_ server: PostgresConnection, _ name: String) async throws -> String {
        try await server.query("SELECT pg_advisory_unlock(8201477)")
        await server.close()
        return name
    }

    /// Accounts that have one of the roles each.
    static let roles = """
        DO $$
        BEGIN
            BEGIN CREATE ROLE pinledger_test_app LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END;
            BEGIN CREATE ROLE pinledger_test_reader LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END;
            GRANT pinledger_app TO pinledger_test_app;
            GRANT pinledger_reader TO pinledger_test_reader;
        END
        $$
        """
}
