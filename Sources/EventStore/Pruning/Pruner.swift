import Pinning
package import Postgres
import TransparencyLog

/// Replaces a partition of the ledger by one without its entries, which are in entry bundles, and back.
///
/// The connection's account MUST be one that may migrate, and its statements MUST NOT be limited in time. If the process dies,
/// the partition is as it was, and beside it may stand a copy, which the next call replaces.
package struct Pruner: Sendable {
    private let connection: PostgresConnection

    /// Makes the connection's session one of `pinledger_owner`, and the only one that prunes.
    ///
    /// - Throws: ``PruningObstacle/underWay``, or the database's error.
    package init(on connection: PostgresConnection) async throws {
        self.connection = connection
        // Functions in other schemas may be anyone's, and the account may be a superuser's.
        try await connection.execute(
            script: """
                SET search_path = pg_catalog; SET ROLE pinledger_owner; SET lock_timeout = '10s';
                SET default_transaction_isolation = 'read committed'
                """)
        guard try await connection.query("SELECT pg_try_advisory_lock(7809142021)").only.bool(0) else {
            throw PruningObstacle.underWay
        }
    }

    /// Throws what keeps a partition from being pruned, where a node can start at `start`.
    ///
    /// - Parameter start: The position of the snapshot that is to be kept.
    package func check(_ partition: EventPartition, startingAt start: Int64) async throws {
        if let obstacle = try await self.obstacles(to: partition).first { throw obstacle }
        guard start >= partition.end else { throw PruningObstacle.noSnapshot(end: partition.end) }
    }

    private func obstacles(to partition: EventPartition) async throws -> [PruningObstacle] {
        try await self.connection.query(
            "SELECT kind, detail FROM pinledger.pruning_obstacles($1)", [.int64(partition.end)]
        ).map { PruningObstacle(kind: try $0.text(0), detail: try $0.text(1)) }
    }

    /// Whether the nodes that record this ledger have no key-encryption key.
    package func isUnauthenticated() async throws -> Bool {
        try await self.connection.query("SELECT FROM pinledger.head WHERE mac IS NOT NULL").isEmpty
    }

    /// Keeps a snapshot, with its tag and signature as they are now, and no other of its form: nodes start from it that cannot read
    /// pruned events. One of the last form before stays, for the way back to an earlier program.
    ///
    /// - Parameter store: What verifies it once no account of a server can change these any more.
    /// - Throws: ``PruningObstacle/noSnapshot(end:)`` where it cannot be used. Then, others are kept as before.
    package func keepSnapshot(at position: Int64, verifiedBy store: SnapshotStore) async throws {
        let place: [PostgresValue] = [.int32(LedgerState.foldVersion), .int64(position)]
        try await self.connection.query(
            """
            UPDATE pinledger.snapshot SET kept_tag = tag, kept_signature = signature
            WHERE fold_version = $1 AND position = $2
            """, place)
        guard try await store.isKept(at: position) else { throw PruningObstacle.noSnapshot(end: position) }
        try await self.connection.query(
            """
            UPDATE pinledger.snapshot SET kept_tag = NULL, kept_signature = NULL
            WHERE kept_tag IS NOT NULL
              AND (fold_version = $1 AND position <> $2
                   OR fold_version < (SELECT max(fold_version) FROM pinledger.snapshot
                                       WHERE fold_version < $1 AND kept_tag IS NOT NULL))
            """, place)
    }

    /// Keeps no snapshot longer than others: where nothing is pruned, nodes need none.
    package func forgetSnapshot() async throws {
        try await self.connection.query(
            "UPDATE pinledger.snapshot SET kept_tag = NULL, kept_signature = NULL WHERE kept_tag IS NOT NULL")
    }

    /// Prunes a partition. Its bundles MUST have been verified.
    ///
    /// - Throws: ``PruningObstacle``, or the database's error.
    package func prune(_ partition: EventPartition) async throws {
        try await self.replace(partition, isPruned: true)
    }

    /// Puts the entries back that bundles hold, which MUST have been verified.
    ///
    /// - Throws: ``PruningObstacle/busy``, ``BundleDirectory/Unreadable``, or the database's error: SQLSTATE 23502 where an entry is
    ///   missing, XX001 where one does not have its recorded hash.
    package func restore(_ partition: EventPartition, from directory: BundleDirectory) async throws {
        try await self.connection.query("SELECT pinledger.prepare_restore($1)", [.int64(partition.first)])
        do {
            try await self.connection.perform { connection in
                let entries = RestoredEntries(bundles: partition.bundles, directory: directory)
                try connection.copyIn("COPY pinledger.restored_entry FROM STDIN (FORMAT binary)", rows: entries)
                if let failure = entries.failure { throw failure }
            }
            try await self.connection.execute(script: "ANALYZE pinledger.restored_entry")
            try await self.replace(partition, isPruned: false)
        } catch {
            await self.dropRestored()
            throw error
        }
        await self.dropRestored()
    }

    /// The next call that restores drops what is left over.
    private func dropRestored() async {
        try? await self.connection.execute(script: "DROP TABLE IF EXISTS pinledger.restored_entry")
    }

    /// How long to try, a second apart.
    private static let attempts = 90

    private func replace(_ partition: EventPartition, isPruned: Bool) async throws {
        try await self.connection.query(
            "SELECT pinledger.copy_partition($1, $2)", [.int64(partition.first), .bool(isPruned)])
        do {
            for _ in 0..<Self.attempts {
                if try await self.isReplaced(partition, isPruned) { return }
                try await Task.sleep(for: .seconds(1))
            }
            throw PruningObstacle.busy
        } catch {
            _ = try? await self.connection.query(
                "SELECT pinledger.drop_partition_copy($1)", [.int64(partition.first)])
            throw error
        }
    }

    /// Tries to put a copy in place; false where it has to wait for other sessions.
    private func isReplaced(_ partition: EventPartition, _ isPruned: Bool) async throws -> Bool {
        do {
            // Nothing changes these rows any more, so that they are never vacuumed again.
            try await self.connection.execute(script: "VACUUM (FREEZE, ANALYZE) pinledger.\(partition.name)_copy")
            guard
                try await self.connection.query(
                    "SELECT pinledger.is_copy_visible($1)", [.int64(partition.first)]
                ).only.bool(0)
            else { return false }
            try await self.connection.query(
                "SELECT pinledger.replace_partition($1, $2, $3)",
                [.int64(partition.first), .bool(isPruned), .int32(LedgerState.foldVersion)])
            return true
        } catch {
            switch error.sqlState {
            case "55P03": return false
            case "PL008":
                throw try await self.obstacles(to: partition).first ?? .noSnapshot(end: partition.end)
            default: throw error
            }
        }
    }
}

/// The entries of bundles with their positions, as rows. Ends early at a bundle that is missing or cannot be read.
private final class RestoredEntries: Sequence, IteratorProtocol {
    private var positions: Range<Int64>
    private let directory: BundleDirectory
    private var entries: [[UInt8]] = []
    /// What ended it.
    private(set) var failure: BundleDirectory.Unreadable?

    init(bundles: Range<Int64>, directory: BundleDirectory) {
        self.positions = bundles
        self.directory = directory
    }

    func next() -> [PostgresValue]? {
        guard let position = self.positions.first else { return nil }
        let (index, place) = position.quotientAndRemainder(dividingBy: Int64(Tile.fullWidth))
        if place == 0 {
            do throws(BundleDirectory.Unreadable) {
                guard let entries = try self.directory.entries(of: UInt64(index)) else { return nil }
                self.entries = entries
            } catch {
                self.failure = error
                return nil
            }
        }
        self.positions = position + 1..<self.positions.upperBound
        return [.int64(position), .bytes(self.entries[Int(place)])]
    }
}
