package import Postgres

/// The requests of nodes without memory to those that remember the ledger to vouch for its end, through the database that they share.
///
/// Anyone who may write to the database may have written what stands here. An answer counts by its signature (``VouchedEnd``).
package struct VouchRequests: Sendable {
    /// How long a node waits for an answer.
    package static let patience = Duration.seconds(14)
    /// The most requests that a node answers at one look.
    private static let atOnce: Int32 = 16

    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// The state of a request.
    package enum Reply: Hashable, Sendable {
        case waiting
        case answered([UInt8])
        /// Another one has taken its place, or someone has taken it away.
        case gone
    }

    /// Asks: in the primary, where the node reads from a standby. Where many ask, the newest hundred are kept.
    ///
    /// - Parameter challenge: 32 bytes.
    /// - Returns: False where the connection string names a standby alone.
    package func ask(_ challenge: [UInt8]) async throws -> Bool {
        try await self.pool.askPrimary(
            "SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone) THEN pinledger.ask_to_vouch($1) END",
            [.bytes(challenge)]) ?? false
    }

    /// The reply to a challenge.
    package func answer(to challenge: [UInt8]) async throws -> Reply {
        let found = try await self.pool.askPrimary(
            "SELECT NOT pg_is_in_recovery(), pinledger.vouched($1), pinledger.is_asked($1)", [.bytes(challenge)]
        ) { row throws(PostgresError) -> Reply? in
            guard try row.bool(0) else { return nil }
            if let answer = try row.optionalBytes(1) { return .answered(answer) }
            return try row.bool(2) ? .waiting : .gone
        }
        return found ?? .waiting
    }

    /// Takes a request back.
    package func withdraw(_ challenge: [UInt8]) async throws {
        _ = try await self.pool.askPrimary(
            """
            SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone)
                THEN pinledger.withdraw_vouch($1) IS NULL END
            """, [.bytes(challenge)])
    }

    /// The challenges that wait for an answer, some of them.
    package func waiting() async throws -> [[UInt8]] {
        try await self.pool.query(
            """
            SELECT challenge FROM pinledger.vouch_request
            WHERE answer IS NULL AND asked_at > now() - interval '1 minute' ORDER BY asked_at DESC LIMIT $1
            """, [.int32(Self.atOnce)]
        ).map { try $0.bytes(0) }
    }

    /// Answers a challenge. The first answer counts.
    package func answer(_ challenge: [UInt8], with answer: [UInt8]) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.answer_vouch($1, $2)", [.bytes(challenge), .bytes(answer)])
    }
}
