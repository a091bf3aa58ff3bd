package import PinWire
import Pinning
package import Postgres

/// Observations in the database, where every node finds what any of them has seen.
package struct ObservationStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) { self.pool = pool }

    /// Records what a probe found.
    ///
    /// - Parameter failures: Attempts in a row without an answer, this one included.
    func record(_ observation: Observation, failures: Int) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.record_probe($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .text(observation.endpoint.description), .text(observation.vantage),
                .timestamp(observation.at.microseconds), .int32(Int32(clamping: failures)),
                .bytes(observation.storedOutcome), .textArray(observation.sights.map(\.address)),
                .bytesArray(observation.sights.map(\.chainDigest)),
                .bytesArray(observation.sights.map { JSON.array($0.certificates.map(\.json)).canonicalBytes }),
            ]
        )
    }

    /// A chain as it is stored.
    struct Row: Sendable {
        var endpoint: Endpoint
        var digest: [UInt8]
        var chain: Pinning.ServedChain
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

    /// The chains that were seen after `time`; all there are without it. A row that cannot be read, as a later program may
    /// have written it, is passed over: it is evidence, and will be seen again.
    func chains(after time: Timestamp?) async throws -> [Row] {
        let rows = try await self.pool.read(
            """
            SELECT endpoint, vantage, address, chain_sha256, certificates, first_seen, last_seen
              FROM pinledger.observation WHERE last_seen > $1 ORDER BY last_seen DESC LIMIT 100000
            """, [.timestamp((time ?? Timestamp(microseconds: 0)).microseconds)]
        )
        return try rows.compactMap { row in
            guard let endpoint = try? Endpoint(try row.text(0)),
                let json = try? JSON(parsing: try row.bytes(4), limits: JSONLimits(depth: 16, nodes: 100_000)),
                let certificates = try? JSONField(json).elements(atMost: 100).map({ try CertificateFacts($0) })
            else { return nil }
            return Row(
                endpoint: endpoint, digest: try row.bytes(3),
                chain: Pinning.ServedChain(
                    pins: certificates.map(\.key.pin), certificates: certificates, address: try row.text(2),
                    vantage: try row.text(1), firstSeen: Timestamp(microseconds: try row.timestamp(5)),
                    lastSeen: Timestamp(microseconds: try row.timestamp(6)), isCurrent: false
                )
            )
        }
    }

    /// The probes that were made after `time`; all there are without it. What cannot be read is passed over.
    func attempts(after time: Timestamp?) async throws -> [Attempt] {
        let rows = try await self.pool.read(
            """
            SELECT endpoint, vantage, last_attempt, last_success, failures, outcome
              FROM pinledger.probe WHERE last_attempt > $1 ORDER BY last_attempt DESC LIMIT 100000
            """, [.timestamp((time ?? Timestamp(microseconds: 0)).microseconds)]
        )
        return try rows.compactMap { row in
            guard let endpoint = try? Endpoint(try row.text(0)),
                let outcome = try? JSON(parsing: try row.bytes(5), limits: JSONLimits(depth: 32, nodes: 100_000))
            else { return nil }
            return Attempt(
                endpoint: endpoint, vantage: try row.text(1),
                lastAttempt: Timestamp(microseconds: try row.timestamp(2)),
                lastSuccess: try row.optionalTimestamp(3).map { Timestamp(microseconds: $0) },
                failures: Int(try row.int32(4)),
                outcome: outcome
            )
        }
    }

    /// Forgets what was last seen before `time`, but nothing of the last thirty days.
    package func forget(before time: Timestamp) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.forget_observations($1)", [.timestamp(time.microseconds)])
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
