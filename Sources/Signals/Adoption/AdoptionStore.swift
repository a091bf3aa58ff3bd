import PinWire
import Pinning
package import Postgres

/// Adoption in the database, to which every node adds.
package struct AdoptionStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Adds counts to the present ones, in one statement.
    func add(_ rows: [AdoptionTally.Row]) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.add_adoption_counts($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .textArray(rows.map(\.app.text)),
                .timestampArray(rows.map(\.hour.microseconds)),
                .int64Array(rows.map(\.key.held.number)),
                .textArray(rows.map(\.key.release.text)),
                .textArray(rows.map { $0.key.platform?.rawValue ?? "" }),
                .int64Array(rows.map(\.count.requests)),
                .int64Array(rows.map(\.count.reports)),
                .int64Array(rows.map(\.count.identified)),
            ]
        )
    }

    /// Merges sketches into the present ones, in one statement.
    func merge(_ sketches: [AdoptionTally.Sketch]) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.merge_adoption_sketches($1, $2, $3, $4, $5)",
            [
                .textArray(sketches.map(\.app.text)),
                .timestampArray(sketches.map(\.day.microseconds)),
                .int64Array(sketches.map(\.held.number)),
                .boolArray(sketches.map(\.isSigned)),
                .bytesArray(sketches.map(\.sketch.registers)),
            ]
        )
    }

    /// The records of an app.
    func load(_ app: AppID, _ spans: AdoptionSummary.Spans) async throws -> AdoptionSummary {
        var summary = AdoptionSummary(app: app, spans: spans)
        let lines = try await self.pool.read(
            """
            SELECT version, app_version, platform,
                   coalesce(sum(requests) FILTER (WHERE hour >= $2), 0)::bigint,
                   coalesce(sum(requests) FILTER (WHERE hour >= $3), 0)::bigint,
                   coalesce(sum(requests) FILTER (WHERE hour >= $4), 0)::bigint,
                   coalesce(sum(requests) FILTER (WHERE hour >= $5), 0)::bigint,
                   coalesce(sum(reports) FILTER (WHERE hour >= $5), 0)::bigint,
                   coalesce(sum(identified) FILTER (WHERE hour >= $5), 0)::bigint
              FROM pinledger.adoption_count WHERE app = $1 AND hour >= least($4, $5)
             GROUP BY version, app_version, platform ORDER BY version DESC LIMIT 20000
            """,
            [.text(app.text)]
                + [spans.hour, spans.day, spans.week, spans.window].map { .timestamp($0.microseconds) }
        )
        for row in lines {
            var line = AdoptionSummary.Line(
                AdoptionKey(
                    held: HeldVersion(number: try row.int64(0)), release: .init(text: try row.text(1)),
                    platform: ClientPlatform(rawValue: try row.text(2))
                )
            )
            (line.hour, line.day, line.week) = (try Self.count(row, 3), try Self.count(row, 4), try Self.count(row, 5))
            line.window = AdoptionCount(
                requests: try Self.count(row, 6), reports: try Self.count(row, 7), identified: try Self.count(row, 8))
            summary.add(line)
        }
        let sketches = try await self.pool.read(
            """
            SELECT version, registers, signed FROM pinledger.adoption_sketch WHERE app = $1 AND day = $2
             ORDER BY signed DESC, version DESC LIMIT 5000
            """,
            [.text(app.text), .timestamp(spans.installs.microseconds)]
        )
        for row in sketches {
            guard let sketch = InstallSketch(registers: try row.bytes(1)) else { continue }
            summary.add(sketch, HeldVersion(number: try row.int64(0)), isSigned: try row.bool(2))
        }
        return summary
    }

    /// A count, limited so that sums stay within bounds whatever was stored.
    private static func count(_ row: PostgresRow, _ column: Int) throws -> Int64 {
        min(max(try row.int64(column), 0), 1 << 40)
    }

    /// How often clients of an app were seen in the hour with the most sightings.
    func busiestHour(of app: AppID, in hours: Range<Timestamp>) async throws -> Int64 {
        try await self.pool.read(
            """
            SELECT coalesce(max(sum), 0)::bigint
              FROM (SELECT sum(requests + reports) FROM pinledger.adoption_count
                     WHERE app = $1 AND hour >= $2 AND hour < $3 GROUP BY hour) h
            """,
            [.text(app.text), .timestamp(hours.lowerBound.microseconds), .timestamp(hours.upperBound.microseconds)]
        ).only.int64(0)
    }
}
