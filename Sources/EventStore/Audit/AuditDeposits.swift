import PinWire
package import Pinning
package import Postgres

/// What read-only nodes have counted of operators' requests, in the database until another node has recorded it.
package struct AuditDeposits: Sendable {
    /// A deposit, left to this node for a minute.
    package struct Deposit: Sendable {
        package let id: Int64
        package let node: String
        /// Nil where they cannot be read: a login may have written anything.
        package let records: [AuditRecord]?
        package let omitted: Int64
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Keeps what a node has counted: where the node reads from a standby, in the primary among the hosts of its connection string.
    ///
    /// - Parameter records: At most ``AuditEvent/recordLimit``.
    /// - Returns: False where there is no room, or the string has no host but this standby.
    /// - Throws: ``PostgresError``, also where no host is a primary, or the primary lets the node not in.
    package func deposit(_ records: [AuditRecord], omitted: Int64, of node: String) async throws -> Bool {
        let parameters: [PostgresValue] = [
            .text(node), .bytes(JSON.array(records.map(\.json)).canonicalBytes), .int64(omitted),
        ]
        return try await self.pool.askPrimary(Self.statement, parameters) ?? false
    }

    /// Null on a standby, which keeps nothing. A deposit waits for no synchronous standby: repeated because it was not answered in time, it
    /// would be recorded twice.
    private static let statement =
        "SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone) THEN pinledger.deposit_audit($1, $2, $3) END"

    /// Takes the oldest deposits, for a minute.
    package func lease(atMost limit: Int32) async throws -> [Deposit] {
        try await self.pool.query(
            "SELECT id, node, records, omitted FROM pinledger.lease_audit_deposits($1) ORDER BY id", [.int32(limit)]
        ).map { row in
            let bytes = try row.bytes(2)
            return Deposit(
                id: try row.int64(0), node: try row.text(1), records: try? Self.records(bytes),
                omitted: try row.natural(3))
        }
    }

    /// Removes a deposit that is recorded, or cannot be.
    package func settle(_ id: Int64) async throws {
        _ = try await self.pool.query("SELECT pinledger.settle_audit_deposit($1)", [.int64(id)])
    }

    private static func records(_ bytes: [UInt8]) throws -> [AuditRecord] {
        var records: [AuditRecord] = []
        for field in try JSONField(try JSON(parsing: bytes)).elements(atMost: AuditEvent.recordLimit) {
            records.append(try AuditRecord(field))
        }
        return records
    }
}
