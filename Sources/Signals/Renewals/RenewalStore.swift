import PinWire
import Pinning
package import Postgres

/// Authorities' answers about the renewal of certificates, in the database, where every node finds those of all nodes.
package struct RenewalStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    func record(_ window: RenewalWindow, of certificate: [UInt8], at time: Timestamp) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.record_renewal($1, $2, $3, $4, $5)",
            [
                .bytes(certificate), .timestamp(window.start.microseconds), .timestamp(window.end.microseconds),
                .optional(window.explanation) { .text($0) }, .timestamp(time.microseconds),
            ])
    }

    /// The most answers that are read: the newest.
    static let limit: Int64 = 100_000

    /// The answers since a time, by the certificates' SHA-256.
    func read(after time: Timestamp?) async throws -> [[UInt8]: RenewalWindow] {
        let rows = try await self.pool.read(
            """
            SELECT certificate, window_start, window_end, explanation FROM pinledger.renewal WHERE asked_at > $1
             ORDER BY asked_at DESC LIMIT $2
            """,
            [.timestamp((time ?? Timestamp(microseconds: 0)).microseconds), .int64(Self.limit)])
        let windows = try rows.map { row in
            (
                try row.bytes(0),
                RenewalWindow(
                    start: Timestamp(microseconds: try row.timestamp(1)),
                    end: Timestamp(microseconds: try row.timestamp(2)), explanation: try row.optionalText(3))
            )
        }
        return Dictionary(windows) { first, _ in first }
    }
}
