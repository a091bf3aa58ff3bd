package import Addresses
package import PinWire
package import Pinning
package import Postgres

/// The uses of tokens in the database, to which every node adds. A standby keeps none.
package struct TokenUseStore: Sendable {
    /// The most uses of one report.
    package static let batch = 1000
    /// The most uses that a question for new networks answers.
    private static let recentLimit = 50_000

    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Keeps that tokens were used now.
    ///
    /// - Parameter uses: Token ids, each with a /24 of IPv4 or a /48 of IPv6: at most ``batch``.
    package func report(_ uses: [(token: String, network: IPNetwork)]) async throws {
        _ = try await self.pool.query(
            "SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone) THEN pinledger.report_token_uses($1, $2) END",
            [.textArray(uses.map(\.token)), .textArray(uses.map(\.network.description))])
    }

    /// When tokens were used last, to the minute.
    package func lastUses(of tokens: [String]) async throws -> [String: Timestamp] {
        let rows = try await self.pool.read(
            "SELECT token_id, max(last_at) FROM pinledger.token_use WHERE token_id = ANY ($1) GROUP BY token_id",
            [.textArray(tokens)])
        var last: [String: Timestamp] = [:]
        for row in rows { last[try row.text(0)] = Timestamp(microseconds: try row.timestamp(1)) }
        return last
    }

    /// The uses of a token, the latest first: at most 50.
    package func uses(of token: String) async throws -> [TokenUse] {
        try await self.pool.read(
            """
            SELECT token_id, network::text, first_at, last_at FROM pinledger.token_use
             WHERE token_id = $1 ORDER BY last_at DESC, network LIMIT 50
            """, [.text(token)]
        ).map(TokenUse.init)
    }

    /// All uses of those tokens that were used from a new network lately.
    package func recentUses(of tokens: [String]) async throws -> [TokenUse] {
        try await self.pool.read(
            """
            SELECT token_id, network::text, first_at, last_at FROM pinledger.token_use
             WHERE token_id IN (
                SELECT token_id FROM pinledger.token_use
                 WHERE first_at > now() - interval '7 days' AND token_id = ANY ($1)
                INTERSECT
                SELECT token_id FROM pinledger.token_use
                 WHERE first_at <= now() - interval '1 day' AND token_id = ANY ($1))
             ORDER BY token_id, first_at LIMIT \(Self.recentLimit)
            """, [.textArray(tokens)]
        ).map(TokenUse.init)
    }
}

extension TokenUse {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            token: try row.text(0), network: try IPNetwork(try row.text(1)),
            firstAt: Timestamp(microseconds: try row.timestamp(2)),
            lastAt: Timestamp(microseconds: try row.timestamp(3)))
    }
}
