import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// The signatures of batches as they are stored.
extension LedgerReader {
    /// The signature that is stored with the last event before an end of the ledger; nil for none.
    package static func signature(
        before end: Int64, on connection: isolated PostgresConnection
    ) throws -> [UInt8]? {
        try connection.query(Statements.signature.sql, [.int64(end &- 1)]).first?.optionalBytes(0)
    }

    /// The same, as this reader reads.
    ///
    /// - Throws: As ``absence(of:)`` says where the event is not there.
    func signature(before end: Int64) async throws -> [UInt8]? {
        guard let row = try await self.read(Statements.signature.sql, [.int64(end &- 1)]).first else {
            throw try await self.absence(of: end &- 1)
        }
        return try row.optionalBytes(0)
    }

    /// The end of the ledger behind the last event that is there, as the stored hashes make it; nil where there is none.
    func lastEnd() async throws -> Head? {
        let rows = try await self.read(
            """
            SELECT position, recorded_at FROM pinledger.event WHERE position < (SELECT next_position FROM pinledger.head)
            ORDER BY position DESC LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        let position = try row.natural(0) + 1
        guard let frontier = try await self.knownFrontier(at: position) else { return nil }
        return Head(position: position, frontier: frontier, lastTime: Timestamp(microseconds: try row.timestamp(1)))
    }

    /// The last end of the ledger that one of `verifiers` shows to be signed, of batches that end at `positions`, as the stored
    /// hashes make it; nil for none.
    ///
    /// - Returns: Also what was looked at without finding one, up to the upper bound. It may be less than all: each call costs a
    ///   limited time, whatever was stored to make it cost more.
    /// - Throws: As ``absence(of:)`` says where an event is not there, or the database's error.
    func signedEnd(
        at positions: Range<Int64>, by verifiers: [BatchVerifier]
    ) async throws -> (end: Head?, searched: Range<Int64>) {
        let ids = PostgresValue.bytesArray(verifiers.map(\.id))
        var bound = positions.upperBound
        var (parts, candidates) = (0, 0)
        while bound > positions.lowerBound, parts < Self.partLimit, candidates < Self.candidateLimit {
            let start = max(positions.lowerBound, bound - Self.partWidth)
            let rows = try await self.read(
                Statements.signedEnds.sql, [.int64(start), .int64(bound), ids, .int64(Int64(Self.candidateLimit))])
            guard let last = rows.first, try last.int64(0) == bound - 1 else {
                throw try await self.absence(of: bound - 1)
            }
            for row in rows {
                let position = try row.natural(0) + 1
                guard let signature = try row.optionalBytes(2),
                    let frontier = try await self.knownFrontier(at: position)
                else { continue }
                let end = Head(
                    position: position, frontier: frontier, lastTime: Timestamp(microseconds: try row.timestamp(1)))
                if verifiers.defect(of: signature, beside: end) == nil { return (end, position..<positions.upperBound) }
            }
            // A damaged index may give rows out of order.
            let next = rows.count < Self.candidateLimit ? start : try rows[rows.count - 1].int64(0)
            bound = min(max(start, next), bound - 1)
            parts += 1
            candidates += rows.count
        }
        return (nil, bound..<positions.upperBound)
    }

    /// The number of events that one statement looks at.
    private static let partWidth: Int64 = 65_536
    private static let partLimit = 16
    private static let candidateLimit = 200
}
