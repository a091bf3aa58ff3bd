package import PinWire
import Pinning
package import Postgres

/// Clients' reports in the database, where every node writes rows of its own.
package struct TelemetryStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Replaces this node's rows of the same minutes, in one statement. A repetition changes nothing.
    package func record(_ rows: [TelemetryRow], by node: String) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.record_outcomes($1, $2, $3, $4, $5, $6, $7)",
            [
                .text(node),
                .textArray(rows.map(\.app.text)),
                .boolArray(rows.map(\.isAuthenticated)),
                .timestampArray(rows.map(\.minute.microseconds)),
                .int32Array(rows.map { Int32($0.level) }),
                .bytesArray(rows.map(\.content)),
                .bytesArray(rows.map(\.units)),
            ]
        )
    }

    /// The hours, from `first` on, with records since `time`, which is by the database's clock.
    func changedHours(of app: AppID, from first: Timestamp, since time: Timestamp) async throws -> [Timestamp] {
        try await self.pool.read(
            """
            SELECT DISTINCT date_bin('1 hour', minute, '2000-01-01Z') FROM pinledger.outcome_minute
             WHERE app = $1 AND minute >= $2 AND changed_at >= $3 ORDER BY 1
            """,
            [.text(app.text), .timestamp(first.microseconds), .timestamp(time.microseconds)]
        ).map { Timestamp(microseconds: try $0.timestamp(0)) }
    }

    /// The apps with records from a minute on.
    func reportingApps(since first: Timestamp) async throws -> Set<AppID> {
        // Goes from app to app along the index: there are many rows and few apps.
        let rows = try await self.pool.read(
            """
            WITH RECURSIVE name (app) AS (
                SELECT min(app) FROM pinledger.outcome_minute
                 UNION ALL
                SELECT (SELECT min(o.app) FROM pinledger.outcome_minute o WHERE o.app > n.app)
                  FROM name n WHERE n.app IS NOT NULL
            )
            SELECT n.app FROM name n
             WHERE EXISTS (SELECT FROM pinledger.outcome_minute o WHERE o.app = n.app AND o.minute >= $1)
            """,
            [.timestamp(first.microseconds)]
        )
        var apps: Set<AppID> = []
        for row in rows { if let app = try? AppID(try row.text(0)) { apps.insert(app) } }
        return apps
    }

    /// All nodes' records of an hour.
    package func load(_ app: AppID, hour: Timestamp) async throws -> OutcomeHour {
        let rows = try await self.pool.read(
            """
            SELECT authenticated, minute, level, content, units FROM pinledger.outcome_minute
             WHERE app = $1 AND minute >= $2 AND minute < $3 ORDER BY minute, node
            """,
            [
                .text(app.text), .timestamp(hour.microseconds),
                .timestamp(hour.adding(seconds: 3600).microseconds),
            ]
        )
        return OutcomeHour(
            try rows.map {
                TelemetryRow(
                    app: app, isAuthenticated: try $0.bool(0), minute: Timestamp(microseconds: try $0.timestamp(1)),
                    level: max(0, Int(try $0.int32(2))), content: try $0.bytes(3), units: try $0.bytes(4))
            })
    }

    /// The database's clock.
    func now() async throws -> Timestamp {
        Timestamp(microseconds: try await self.pool.read("SELECT clock_timestamp()").only.timestamp(0))
    }
}
