import Fixtures
import Postgres
import Testing

/// The database of `Tests/Support/with-postgres`, which these tests share: none of them needs Pinledger's schema.
enum SharedDatabase {
    static func configuration() throws -> PostgresConfiguration {
        PostgresConfiguration(
            connectionString: try TestServer.environment("PINLEDGER_TEST_DATABASE"), connectTimeout: .seconds(180),
            statementTimeout: .seconds(120), answerGrace: .seconds(120))
    }

    static func connect() async throws -> PostgresConnection {
        try await PostgresConnection.connect(self.configuration())
    }

    /// Has another session end the given one, and returns when it is gone.
    static func terminate(_ backend: Int32) async throws {
        let other = try await self.connect()
        try await other.query("SELECT pg_terminate_backend($1, 100000)", [.int32(backend)])
        await other.close()
    }

    /// Returns when the session of a connection is in `pg_sleep`.
    static func waitForSleep(_ connection: PostgresConnection) async throws {
        let observer = try await self.connect()
        let sql = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $1"
        try #require(
            await eventually {
                try await observer.query(sql, [.int32(connection.backendPID)]).only.optionalBool(0) ?? false
            }
        )
        await observer.close()
    }
}
