import PinWire
import Pinning
package import Postgres

/// Observations in the database, where every node finds those of all nodes.
package struct ObservationStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Records a probe's result.
    ///
    /// - Parameter failures: Attempts in a row without an answer, this one included.
    func record(_ observation: Observation, failures: Int) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.record_probe($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                .text(observation.endpoint.description), .text(observation.vantage),
                .timestamp(observation.at.microseconds), .int32(Int32(clamping: failures)),
                .bytes(observation.storedOutcome), .textArray(observation.chains.map(\.address)),
                .bytesArray(observation.chains.map(\.chainDigest)),
                .bytesArray(observation.chains.map { JSON.array($0.certificates.map(\.json)).canonicalBytes }),
                .boolArray(observation.chains.map(\.isComplete)),
            ]
        )
    }

    /// A chain as it is stored.
    struct Row: Sendable {
        var endpoint: Endpoint
        var digest: [UInt8]
        var chain: Pinning.ObservedChain
        /// When it was last seen by a probe that saw all chains of its address; nil where none did.
        var lastComplete: Timestamp?
    }

    /// The newest probe of an endpoint from one place, as it is stored.
    struct Attempt: Sendable {
        var endpoint: Endpoint
        var vantage: String
        var lastAttempt: Timestamp
        var lastSuccess: Timestamp?
        var failures: Int
        var outcome: JSON
    }

    /// The most endpoints with their chains, and the most probes, that are in memory at once during reading.
    private static let pageEndpoints: Int32 = 32
    private static let pageProbes: Int32 = 256

    /// Reads records of chains and attempts after `time`, or all of them, page by page, so that they are never in
    /// memory at once.
    ///
    /// Each endpoint gives at most as many chains as an ``ObservationSummary`` keeps, chosen as it chooses: all of one
    /// page. A row that cannot be read, as a later program may have written it, is skipped: it is evidence, and will be
    /// seen again.
    func read(after time: Timestamp?, _ body: ([Row], [Attempt]) -> Void) async throws {
        let time = PostgresValue.timestamp((time ?? Timestamp(microseconds: 0)).microseconds)
        var endpoint = ""
        while case let rows = try await self.pool.read(
            Self.chains,
            [.text(endpoint), time, .int32(Self.pageEndpoints), .int32(Int32(ObservationSummary.evidenceLimit))]),
            let last = rows.last
        {
            endpoint = try last.text(0)
            body(try rows.compactMap { try Self.row($0) }, [])
        }
        var vantage = ""
        endpoint = ""
        while case let rows = try await self.pool.read(
            Self.probes, [.text(endpoint), .text(vantage), time, .int32(Self.pageProbes)]), let last = rows.last
        {
            (endpoint, vantage) = (try last.text(0), try last.text(1))
            body([], try rows.compactMap { try Self.attempt($0) })
        }
    }

    /// The last probe of an address comes before chains that may be superseded, the first address of a chain before
    /// further ones, and places take turns.
    private static let chains = """
        WITH page AS (
            SELECT DISTINCT endpoint FROM pinledger.observation WHERE endpoint > $1 AND last_seen > $2
             ORDER BY endpoint LIMIT $3
        ), marked AS (
            SELECT o.*, last_seen < max(last_seen) OVER (PARTITION BY endpoint, vantage, address) AS is_past
              FROM pinledger.observation o JOIN page USING (endpoint) WHERE last_seen > $2
        ), repeated AS (
            SELECT m.*, row_number() OVER (
                PARTITION BY endpoint, vantage, is_past, chain_sha256 ORDER BY last_seen DESC) > 1 AS is_repetition
              FROM marked m
        ), turned AS (
            SELECT r.*, row_number() OVER (
                PARTITION BY endpoint, vantage, is_past, is_repetition ORDER BY last_seen DESC) AS turn
              FROM repeated r
        ), ranked AS (
            SELECT t.*, row_number() OVER (
                PARTITION BY endpoint ORDER BY is_past, is_repetition, turn, last_seen DESC) AS place
              FROM turned t
        )
        SELECT endpoint, vantage, address, chain_sha256, certificates, first_seen, last_seen, last_complete
          FROM ranked WHERE place <= $4 ORDER BY endpoint
        """

    private static let probes = """
        SELECT endpoint, vantage, last_attempt, last_success, failures, outcome
          FROM pinledger.probe WHERE (endpoint, vantage) > ($1, $2) AND last_attempt > $3
         ORDER BY endpoint, vantage LIMIT $4
        """

    private static func row(_ row: PostgresRow) throws -> Row? {
        guard let endpoint = try? Endpoint(try row.text(0)),
            let json = try? JSON(parsing: try row.bytes(4), limits: JSONLimits(depth: 16, nodes: 100_000)),
            let certificates = try? JSONField(json).elements(atMost: 100).map({ try CertificateFacts($0) })
        else { return nil }
        return Row(
            endpoint: endpoint, digest: try row.bytes(3),
            chain: Pinning.ObservedChain(
                pins: certificates.map(\.key.pin), certificates: certificates, address: try row.text(2),
                vantage: try row.text(1), firstSeen: Timestamp(microseconds: try row.timestamp(5)),
                lastSeen: Timestamp(microseconds: try row.timestamp(6)), isCurrent: false
            ),
            lastComplete: try row.optionalTimestamp(7).map { Timestamp(microseconds: $0) }
        )
    }

    private static func attempt(_ row: PostgresRow) throws -> Attempt? {
        guard let endpoint = try? Endpoint(try row.text(0)),
            let outcome = try? JSON(parsing: try row.bytes(5), limits: JSONLimits(depth: 32, nodes: 8192))
        else { return nil }
        return Attempt(
            endpoint: endpoint, vantage: try row.text(1), lastAttempt: Timestamp(microseconds: try row.timestamp(2)),
            lastSuccess: try row.optionalTimestamp(3).map { Timestamp(microseconds: $0) },
            failures: Int(try row.int32(4)), outcome: outcome
        )
    }
}

extension Observation {
    /// The outcome, without the certificates where it would be too large for the table.
    fileprivate var storedOutcome: [UInt8] {
        let bytes = self.outcome.canonicalBytes
        guard bytes.count > 65_536, case .object(var members) = self.outcome else { return bytes }
        members["addresses"] = .array([])
        members["truncated"] = true
        return JSON.object(members).canonicalBytes
    }
}
