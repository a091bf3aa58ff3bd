import PinWire
import Pinning
import Postgres
import TransparencyLog

/// Compares stored snapshots, from which nodes start, with the ledger that an audit recomputes. A pure value.
///
/// Snapshots of other fold versions are for other programs, which make them again where they are wrong.
struct SnapshotCheck: Sendable {
    /// A snapshot as it is stored.
    struct Row: Sendable {
        var position: Int64
        var frontier: [UInt8]
        var digests: [UInt8]
        /// The tag and signature that nodes may change, and those that were kept.
        var marks: [(tag: [UInt8]?, signature: [UInt8]?)]
        /// SHA-256 of each part that is stored, by number.
        var parts: [Int32: [UInt8]]

        /// Every snapshot of this program's fold version.
        static func all(_ connection: isolated PostgresConnection) throws -> [Row] {
            let version = PostgresValue.int32(LedgerState.foldVersion)
            var parts: [Int64: [Int32: [UInt8]]] = [:]
            for row in try connection.query(
                "SELECT position, number, sha256(body) FROM pinledger.snapshot_part WHERE fold_version = $1", [version])
            { parts[try row.int64(0), default: [:]][try row.int32(1)] = try row.bytes(2) }
            return try connection.query(
                """
                SELECT position, frontier, digests, tag, signature, kept_tag, kept_signature FROM pinledger.snapshot
                WHERE fold_version = $1 ORDER BY position
                """, [version]
            ).map { row in
                let position = try row.int64(0)
                return Row(
                    position: position, frontier: try row.bytes(1), digests: try row.bytes(2),
                    marks: [
                        (try row.optionalBytes(3), try row.optionalBytes(4)),
                        (try row.optionalBytes(5), try row.optionalBytes(6)),
                    ], parts: parts[position] ?? [:])
            }
        }

        var seal: SnapshotSeal { SnapshotSeal(position: self.position, frontier: self.frontier, digests: self.digests) }
    }

    private(set) var findings: [LedgerFinding] = []
    /// The snapshots to compare with the fold, the first last.
    private var waiting: [Row]

    /// - Parameters:
    ///   - rows: In the order of their positions.
    ///   - key: What authenticates snapshots; nil where their tags are not checked.
    ///   - verifiers: What verifies their signatures where there is no key; none where they are not checked.
    init(rows: [Row] = [], key: SnapshotKey? = nil, verifiers: [BatchVerifier] = []) {
        self.waiting = []
        for row in rows {
            if let defect = Self.defect(of: row, key, verifiers) {
                self.add(row, "cannot be used: \(defect)")
            } else {
                self.waiting.insert(row, at: 0)
            }
        }
    }

    /// Why a node would not start from a snapshot, by what is stored of it alone; nil where it would.
    private static func defect(
        of row: Row, _ key: SnapshotKey?, _ verifiers: [BatchVerifier]
    ) -> SnapshotSeal.Unusable? {
        let seal = row.seal
        let stored = (0..<Int32(LedgerState.snapshotPartCount)).flatMap { row.parts[$0] ?? [] }
        guard stored == row.digests, row.parts.count == LedgerState.snapshotPartCount else { return .damaged }
        if let key {
            return row.marks.contains { key.accepts($0.tag, of: seal.bytes) } ? nil : .notAuthentic
        }
        let isSigned = row.marks.contains { mark in
            verifiers.contains { $0.isRight(mark.signature, ofSnapshot: seal.bytes) }
        }
        return verifiers.isEmpty || isSigned ? nil : .notAuthentic
    }

    /// The position of the next snapshot to compare; nil where none is left.
    var next: Int64? { self.waiting.last?.position }

    /// Compares the snapshots at a position with the ledger up to there.
    ///
    /// - Parameter state: The fold; nil where damage before makes it unreliable.
    mutating func take(_ frontier: MerkleFrontier, _ state: LedgerState?, at position: Int64) {
        while let row = self.waiting.last, row.position <= position {
            self.waiting.removeLast()
            guard row.position == position else { continue }
            guard row.frontier == frontier.encoded else {
                self.add(row, "cannot be used: \(SnapshotSeal.Unusable.foreign)")
                continue
            }
            guard let state else { continue }
            let made = (0..<LedgerState.snapshotPartCount).flatMap { sha256(state.snapshotPart($0)) }
            if made != row.digests { self.add(row, "is not what the ledger's events make") }
        }
    }

    /// Names the snapshots behind the end of the ledger.
    mutating func finish(end: Int64) {
        for row in self.waiting.reversed() where row.position > end {
            self.add(row, "is of more events than the ledger has")
        }
    }

    private mutating func add(_ row: Row, _ what: String) {
        self.findings.append(
            LedgerFinding(
                .snapshotWrong, at: row.position, of: "snapshot", "the snapshot at position \(row.position) \(what)"))
    }
}
