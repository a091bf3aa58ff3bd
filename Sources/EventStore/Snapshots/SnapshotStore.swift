import LogLines
package import Logging
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Folds of the ledger stored in the database, so that a node starts without reading all of it.
///
/// A snapshot is never an authority. A snapshot of another fold version is not read. One that is damaged, was not made
/// with the node's key, or whose tree is not the ledger's is skipped in favour of the one before it, and finally of the
/// ledger itself. The snapshot from which a node starts is checked against the ledger afterwards (``SnapshotAudit``). A
/// node without the key checks the signature, where it knows a key for that, and else everything except the author.
package struct SnapshotStore: Sendable {
    private let pool: PostgresPool
    private let key: SnapshotKey?
    private let verifiers: [BatchVerifier]
    private let knownLevel: Int64
    private let logger: Logger

    /// - Parameters:
    ///   - verifiers: What verifies signatures on a node without a key; none where it takes snapshots of everyone.
    ///   - knownLevel: The highest ``FeatureLevel`` of a fold to start from.
    package init(
        pool: PostgresPool, key: SnapshotKey? = nil, verifiers: [BatchVerifier] = [],
        knownLevel: Int64 = FeatureLevel.known, logger: Logger
    ) {
        self.pool = pool
        self.key = key
        self.verifiers = verifiers
        self.knownLevel = knownLevel
        self.logger = logger
    }

    /// The state from which a node starts.
    package struct Start: Sendable {
        /// The fold; the empty one where no snapshot could be used.
        package var view: LedgerView
        /// The digest of the state of ``view``, where it comes from a snapshot.
        var stateDigest: [UInt8]?
        /// The number of snapshots that could not be used.
        package var unusable: Int
    }

    /// The newest usable fold.
    package func load() async throws -> Start {
        let rows = try await self.pool.read(Statements.snapshotPositions.sql, [.int32(LedgerState.foldVersion)])
        var start = Start(view: LedgerView(), stateDigest: nil, unusable: 0)
        for position in try rows.map({ try $0.natural(0) }) {
            do {
                (start.view, start.stateDigest) = try await self.load(at: position)
                return start
            } catch let error as PostgresError where error.code != .decoding {
                throw error
            } catch {
                start.unusable += 1
                self.logger.log(.snapshotUnusable, ["position": "\(position)", "error": "\(error)"])
            }
        }
        return start
    }

    /// Whether the snapshot at a position can be used by what was kept of it: with every key that this store has.
    package func isKept(at position: Int64) async throws -> Bool {
        do {
            _ = try await self.load(at: position, onlyKept: true)
            return true
        } catch let error as PostgresError where error.code != .decoding {
            throw error
        } catch {
            self.logger.log(.snapshotUnusable, ["position": "\(position)", "error": "\(error)"])
            return false
        }
    }

    private func load(at position: Int64, onlyKept: Bool = false) async throws -> (LedgerView, [UInt8]) {
        let row = try await self.pool.read(
            Statements.snapshot.sql, [.int32(LedgerState.foldVersion), .int64(position)]
        ).only
        let seal = SnapshotSeal(position: position, frontier: try row.bytes(0), digests: try row.bytes(1))
        guard seal.digests.count == 32 * LedgerState.snapshotPartCount else { throw SnapshotSeal.Unusable.damaged }
        // The snapshot's tree must be the one that the ledger's own hashes make.
        guard (1...JSON.largestInteger).contains(position), let size = UInt64(exactly: position) else {
            throw SnapshotSeal.Unusable.foreign
        }
        let frontier = try MerkleFrontier(size: size, encoded: seal.frontier)
        let stored = try await LedgerReader(pool: self.pool).onServer(with: position) { reader in
            try await reader.frontier(at: frontier.size)
        }
        guard stored == frontier else { throw SnapshotSeal.Unusable.foreign }
        // What a server's account may change, and what it may not.
        let columns = onlyKept ? [(4, 5)] : [(2, 3), (4, 5)]
        let marks = try columns.map { (tag: try row.optionalBytes($0.0), signature: try row.optionalBytes($0.1)) }
        if let key {
            guard marks.contains(where: { key.accepts($0.tag, of: seal.bytes) }) else {
                throw SnapshotSeal.Unusable.notAuthentic
            }
        }
        if self.key == nil || onlyKept, !self.verifiers.isEmpty {
            guard
                marks.contains(where: { mark in
                    self.verifiers.contains { $0.isRight(mark.signature, ofSnapshot: seal.bytes) }
                })
            else { throw SnapshotSeal.Unusable.notAuthentic }
        }
        let last = try await self.pool.read(Statements.leafHash.sql, [.int64(position - 1)])
        var view = LedgerView()
        view.head = Head(
            position: position, frontier: frontier, lastTime: Timestamp(microseconds: try last.only.timestamp(1))
        )
        view.lastLeaf = LogHash(try last.only.bytes(0))
        view.state = try await self.state(of: seal)
        guard view.state.fleet.featureLevel <= self.knownLevel else { throw SnapshotSeal.Unusable.later }
        return (view, seal.stateDigest)
    }

    /// The most parts read in one statement, and the bytes that they may have together: so much is in memory twice.
    private static let partsAtOnce = 16
    private static let bytesAtOnce: Int64 = 64 << 20

    private func state(of seal: SnapshotSeal) async throws -> LedgerState {
        var state = LedgerState()
        var number = 0
        while number < LedgerState.snapshotPartCount {
            let rows = try await self.pool.read(
                Statements.snapshotParts.sql,
                [
                    .int32(seal.foldVersion), .int64(seal.position), .int32(Int32(number)),
                    .int32(Int32(min(number + Self.partsAtOnce, LedgerState.snapshotPartCount))),
                    .int64(Self.bytesAtOnce),
                ])
            guard rows.count > 0 else { throw SnapshotSeal.Unusable.damaged }
            for row in rows {
                guard try row.int32(0) == Int32(number) else { throw SnapshotSeal.Unusable.damaged }
                try seal.restore(part: number, from: try row.bytes(1), in: &state)
                number += 1
                await Task.yield()
            }
        }
        return state
    }

    /// Stores a fold: all of it or nothing.
    ///
    /// The connection's thread serializes the state, part by part.
    package func store(_ view: LedgerView) async throws {
        let (key, frontier) = (self.key, view.head.frontier.encoded)
        try await self.pool.transaction { connection in
            let place: [PostgresValue] = [.int32(LedgerState.foldVersion), .int64(view.head.position)]
            var digests: [UInt8] = []
            for number in 0..<LedgerState.snapshotPartCount {
                let part = view.state.snapshotPart(number)
                digests += sha256(part)
                _ = try connection.query(
                    prepared: Statements.storeSnapshotPart, place + [.int32(Int32(number)), .bytes(part)])
            }
            let seal = SnapshotSeal(position: view.head.position, frontier: frontier, digests: digests).bytes
            _ = try connection.query(
                prepared: Statements.storeSnapshot,
                place + [
                    .bytes(frontier), .bytes(digests), .bytes(key?.tag(of: seal) ?? seal),
                    key?.signature(of: seal).map { .bytes($0) } ?? .null,
                ])
        }
    }

    /// The snapshots that a change of the key was about.
    package struct Retagged: Sendable {
        /// The number that the new key authenticates from now on.
        package var count = 0
        /// The number whose part that is kept for pruned ledgers is still the old key's: only an account that may migrate changes it.
        package var left = 0
    }

    /// Authenticates with a new key the snapshots that `old` authenticates, within the connection's transaction; and what is kept of them,
    /// where the connection's account may change that.
    package static func retag(
        from old: SnapshotKey, to new: SnapshotKey, on connection: isolated PostgresConnection
    ) throws -> Retagged {
        var retagged = Retagged()
        let mayKeep = try connection.query("SELECT has_table_privilege('pinledger.snapshot', 'UPDATE')").only.bool(0)
        for row in try connection.query(prepared: Statements.snapshotTags) {
            let (fold, position, tag) = (try row.int32(0), try row.int64(1), try row.bytes(4))
            let seal = SnapshotSeal(
                foldVersion: fold, position: position, frontier: try row.bytes(2), digests: try row.bytes(3)
            ).bytes
            let place: [PostgresValue] = [.int32(fold), .int64(position)]
            let mark: [PostgresValue] = [
                .bytes(new.tag(of: seal)), new.signature(of: seal).map { .bytes($0) } ?? .null,
            ]
            if try row.optionalBytes(5) == old.tag(of: seal) {
                if mayKeep {
                    try connection.query(
                        """
                        UPDATE pinledger.snapshot SET kept_tag = $3, kept_signature = $4
                        WHERE fold_version = $1 AND position = $2
                        """, place + mark)
                } else {
                    retagged.left += 1
                }
            }
            guard tag == old.tag(of: seal) else { continue }
            let isChanged = try connection.query(
                prepared: Statements.retagSnapshot, place + [.bytes(tag)] + mark
            ).only.bool(0)
            if isChanged { retagged.count += 1 }
        }
        return retagged
    }

    /// The position and the age of the newest snapshot; nil where there is none.
    func newest() async throws -> (position: Int64, age: Duration)? {
        let rows = try await self.pool.read(Statements.newestSnapshot.sql, [.int32(LedgerState.foldVersion)])
        guard let row = rows.first else { return nil }
        return (try row.int64(0), .microseconds(try row.timestamp(2)) - .microseconds(try row.timestamp(1)))
    }
}
