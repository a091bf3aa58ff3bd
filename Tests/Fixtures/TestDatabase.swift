package import Postgres

/// A database of one test's own, with the current schema and nothing in it.
package struct TestDatabase: Sendable {
    package let name: String
    private let server: String?

    /// A database of the common server, or of the one of a connection string without user and database.
    package init(name: String, server: String? = nil) {
        self.name = name
        self.server = server
    }

    @TaskLocal static var scoped: TestDatabase?

    /// The running test's database.
    package static var current: TestDatabase {
        get throws {
            guard let scoped = self.scoped else { throw Unscoped() }
            return scoped
        }
    }

    private struct Unscoped: Error, CustomStringConvertible {
        var description: String { "the test does not have the trait .database" }
    }

    /// Who connects.
    package enum User: String, CaseIterable, Sendable {
        case superuser
        /// Has `pinledger_app` and nothing else.
        case app = "pinledger_test_app"
        /// Has `pinledger_reader` and nothing else.
        case reader = "pinledger_test_reader"
    }

    package func uri(as user: User = .superuser) throws -> String {
        let name = user == .superuser ? nil : user.rawValue
        if let server { return "\(server) dbname=\(self.name) user=\(name ?? "postgres")" }
        return try TestServer.uri(of: self.name, as: name)
    }

    package func configuration(
        as user: User = .app, applicationName: String = "pinledger"
    ) throws -> PostgresConfiguration {
        PostgresConfiguration(
            connectionString: try self.uri(as: user), applicationName: applicationName, connectTimeout: .seconds(180),
            statementTimeout: .seconds(120), lockTimeout: .seconds(60), idleInTransactionTimeout: nil,
            answerGrace: .seconds(120)
        )
    }

    package func connect(as user: User = .superuser) async throws -> PostgresConnection {
        try await PostgresConnection.connect(self.configuration(as: user))
    }

    /// Several statements as superuser.
    package func execute(_ script: String) async throws {
        let connection = try await self.connect()
        try await connection.execute(script: script)
        await connection.close()
    }

    /// One statement as superuser.
    @discardableResult
    package func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        let connection = try await self.connect()
        let rows = try await connection.query(sql, parameters)
        await connection.close()
        return rows
    }

    /// Ends the sessions of that application name in this database, and returns how many there were.
    @discardableResult
    package func terminate(_ applicationName: String) async throws -> Int {
        try await self.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = $1
            """,
            [.text(applicationName)]
        ).count
    }
}
