import Postgres
package import Testing

/// Gives each test (each case of a parameterised one) a database of its own: ``TestDatabase/current``.
package struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Turnstile.shared.pass { try await Self.scope(function) }
    }

    private static func scope(_ function: @concurrent @Sendable () async throws -> Void) async throws {
        let template = try await TemplateDatabase.shared.name()
        let name = TestServer.uniqueName("pinledger_test")
        let server = try await TestServer.connect()
        try await Self.withoutOthers {
            try await server.execute(script: "CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY wal_log")
        }
        await server.close()
        let result: Result<Void, any Error>
        do {
            try await TestDatabase.$scoped.withValue(TestDatabase(name: name)) { try await function() }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        let cleaner = try await TestServer.connect()
        try await Self.withoutOthers { try await cleaner.execute(script: "DROP DATABASE \(name) WITH (FORCE)") }
        await cleaner.close()
        try result.get()
    }

    /// Tries again while another session keeps the database in use: PostgreSQL itself waits five seconds for its end.
    private static func withoutOthers(_ work: () async throws -> Void) async throws {
        let end = ContinuousClock.now + .seconds(180)
        while true {
            do { return try await work() } catch let error as PostgresError where error.sqlState == "55006" {
                guard ContinuousClock.now < end else { throw error }
            }
        }
    }
}

extension Trait where Self == DatabaseTrait {
    /// A migrated database for each test.
    package static var database: Self { DatabaseTrait() }
}
