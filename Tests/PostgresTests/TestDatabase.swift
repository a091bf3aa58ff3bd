import Foundation
import Postgres
import Testing

/// The database of `Tests/Support/with-postgres`. A test that needs it and runs without fails.
enum TestDatabase {
    struct Missing: Error, CustomStringConvertible {
        var description: String { "PINLEDGER_TEST_DATABASE is not set: run this under Tests/Support/with-postgres" }
    }

    static func environment(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { throw Missing() }
        return value
    }

    static func configuration() throws -> PostgresConfiguration {
        PostgresConfiguration(
            connectionString: try self.environment("PINLEDGER_TEST_DATABASE"), connectTimeout: .seconds(180),
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

    /// A name no other test uses.
    static func uniqueName(_ prefix: String) -> String {
        "\(prefix)_\(UInt64.random(in: 0 ... .max))"
    }

    /// Asks again until the condition holds; false after a minute.
    static func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
        let end = ContinuousClock.now + .seconds(180)
        while ContinuousClock.now < end {
            if try await condition() { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }
}

/// The PostgresError a piece of work throws; nil if it throws none.
func failure<R>(of work: () async throws -> R) async -> PostgresError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? PostgresError
    }
}
