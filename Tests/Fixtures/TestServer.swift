import Foundation
package import Postgres

/// The PostgreSQL server of `Tests/Support/with-postgres`.
package enum TestServer {
    package struct Missing: Error, CustomStringConvertible {
        package var description: String {
            "PINLEDGER_TEST_DATABASE is not set: run this under Tests/Support/with-postgres"
        }
    }

    package static func environment(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { throw Missing() }
        return value
    }

    /// A libpq URI of a database of the server; of the superuser unless another role is named.
    package static func uri(of database: String, as user: String? = nil) throws -> String {
        let uri = try self.environment("PINLEDGER_TEST_DATABASE")
        guard let scheme = uri.range(of: "://") else { throw Missing() }
        let rest = uri[scheme.upperBound...]
        let query = rest.firstIndex(of: "?").map { String(rest[$0...]) } ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let place = user.map { "\($0)@\(host)" } ?? String(authority)
        return "\(uri[..<scheme.upperBound])\(place)/\(database)\(query)"
    }

    /// A connection to the database `postgres`, as superuser, that waits for locks as long as it takes.
    package static func connect() async throws -> PostgresConnection {
        try await PostgresConnection.connect(
            PostgresConfiguration(
                connectionString: try self.uri(of: "postgres"), connectTimeout: .seconds(180), statementTimeout: nil,
                lockTimeout: nil
            )
        )
    }

    /// A name no other test uses.
    package static func uniqueName(_ prefix: String) -> String {
        "\(prefix)_\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    }
}

/// Asks again until the condition holds; false after `seconds`.
package func eventually(
    within seconds: Int = 180, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}

/// The PostgresError a piece of work throws; nil if it throws none.
package func failure<R>(of work: () async throws -> R) async -> PostgresError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? PostgresError
    }
}
