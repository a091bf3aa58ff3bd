package import Postgres
import TransparencyLog

/// A partition of `pinledger.event`.
package struct EventPartition: Hashable, Sendable {
    /// The position of its first event.
    package let first: Int64
    /// The position behind its last one, once it is full.
    package let end: Int64
    /// Whether its entries are in entry bundles.
    package let isPruned: Bool

    /// The name of its table.
    var name: String {
        let digits = String(self.first)
        return "event_" + String(repeating: "0", count: max(0, 14 - digits.count)) + digits
    }

    /// The positions of the entry bundles that hold its events: whole bundles, which the neighbours share.
    package var bundles: Range<Int64> {
        let width = Int64(Tile.fullWidth)
        return self.first / width * width..<(self.end + width - 1) / width * width
    }

    /// All partitions, in order.
    package static func all(on connection: PostgresConnection) async throws -> [EventPartition] {
        let rows = try await connection.query(
            #"""
            SELECT (b.bounds)[1]::bigint, (b.bounds)[2]::bigint, p.first_position IS NOT NULL
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            CROSS JOIN LATERAL (
                SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') AS bounds) b
            LEFT JOIN pinledger.pruned_partition p
                ON p.first_position = (b.bounds)[1]::bigint AND p.pruned_at IS NOT NULL
            WHERE i.inhparent = 'pinledger.event'::regclass ORDER BY 1
            """#)
        return try rows.map {
            EventPartition(first: try $0.natural(0), end: try $0.natural(1), isPruned: try $0.bool(2))
        }
    }
}
