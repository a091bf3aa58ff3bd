import Pinning
package import Postgres
import TransparencyLog

/// Replaces a partition of the ledger by one without its entries, which are in entry bundles, and back.
///
/// The connection's account MUST be one that may migrate, and its statements MUST NOT be limited in time. If the process dies, the partition is as it was, and beside it may
/// stand a copy, which the next call replaces.
package struct Pruner: Sendable {
    /// Why a partition may not be pruned now.
    package enum Obstacle: Error, Hashable, Sendable, CustomStringConvertible {
        case notFull
        case noSnapshot(end: Int64)
        case commands(Int64)
        case webhook(String)
        case node(String)
        /// Another session held a lock for too long.
        case locked
        /// Another `pinledger bundles` is at work.
        case underWay

        package var description: String {
            switch self {
            case .notFull: "the partition, or the last entry bundle of its events, is not full"
            case .noSnapshot(let end):
                "there is no snapshot of this program's form at or behind position \(end), from which a node could start"
            case .commands(let count):
                "\(count) recorded command\(count == 1 ? "" : "s") with idempotency keys lead\(count == 1 ? "s" : "") to its events"
            case .webhook(let id): "the webhook \(id) has deliveries of its events, or has not come so far"
            case .node(let name): "the node \(name) has not read so far"
            case .locked: "other sessions read events all the time: the partition could not be replaced"
            case .underWay: "another `pinledger bundles` is at work"
            }
        }

        /// What to do about it.
        package var advice: String {
            switch self {
            case .notFull: "Wait until the ledger has grown."
            case .noSnapshot: "Run a node of this version that records changes: it stores a snapshot from time to time."
            case .commands: "Wait: idempotency keys are kept for 30 days."
            case .webhook:
                "Wait until its deliveries are settled and forgotten, which takes 30 days, or delete the webhook."
            case .node: "Wait until it has, or stop it and wait for a minute."
            case .locked: "Try again when no dump, `pinledger fsck` or long query runs."
            case .underWay: "Wait until it has ended."
            }
        }
    }

    private let connection: PostgresConnection

    /// Makes the connection's session one of `pinledger_owner`, and the only one that prunes.
    ///
    /// - Throws: ``Obstacle/underWay``, or the database's error.
    package init(on connection: PostgresConnection) async throws {
        self.connection = connection
        try await connection.execute(script: "SET ROLE pinledger_owner; SET lock_timeout = '1s'")
        guard try await connection.query("SELECT pg_try_advisory_lock(7809142021)").only.bool(0) else {
            throw Obstacle.underWay
        }
    }

    /// Throws what keeps a partition from being pruned.
    package func check(_ partition: EventPartition) async throws {
        let row = try await self.connection.query(
            """
            SELECT (SELECT next_position FROM pinledger.head ORDER BY position_block DESC LIMIT 1),
                   EXISTS (SELECT FROM pinledger.snapshot WHERE fold_version = $2 AND position >= $1),
                   (SELECT count(*) FROM pinledger.command WHERE event_count > 0 AND first_position < $1),
                   coalesce((SELECT webhook FROM pinledger.webhook_feed WHERE cursor < $1 LIMIT 1),
                            (SELECT webhook FROM pinledger.webhook_delivery WHERE position < $1 LIMIT 1)),
                   (SELECT name FROM pinledger.node WHERE position < $1 AND seen_at > now() - interval '1 minute' LIMIT 1)
            """, [.int64(partition.end), .int32(LedgerState.foldVersion)]
        ).only
        guard try row.int64(0) >= partition.bundles.upperBound else { throw Obstacle.notFull }
        guard try row.bool(1) else { throw Obstacle.noSnapshot(end: partition.end) }
        let commands = try row.int64(2)
        guard commands == 0 else { throw Obstacle.commands(commands) }
        if let webhook = try row.optionalText(3) { throw Obstacle.webhook(webhook) }
        if let node = try row.optionalText(4) { throw Obstacle.node(node) }
    }

    /// Prunes a partition. Its bundles MUST have been verified, and nothing may keep it from being pruned.
    ///
    /// - Throws: ``Obstacle/locked``, or the database's error.
    package func prune(_ partition: EventPartition) async throws {
        try await self.replace(partition, isPruned: true)
    }

    /// Puts the entries back that bundles hold, which MUST have been verified.
    ///
    /// - Throws: ``Obstacle/locked``, or the database's error: SQLSTATE 23502 where an entry is missing, XX001 where one does not
    ///   have its recorded hash.
    package func restore(_ partition: EventPartition, from directory: BundleDirectory) async throws {
        try await self.connection.execute(
            script: """
                DROP TABLE IF EXISTS pg_temp.restored_entry;
                CREATE TEMPORARY TABLE restored_entry (position bigint PRIMARY KEY, entry bytea NOT NULL);
                ALTER TABLE restored_entry ALTER COLUMN entry SET STORAGE MAIN
                """)
        _ = try await self.connection.perform { connection in
            try connection.copyIn(
                "COPY restored_entry FROM STDIN (FORMAT binary)",
                rows: RestoredEntries(bundles: partition.bundles, directory: directory))
        }
        try await self.connection.execute(script: "ANALYZE pg_temp.restored_entry")
        try await self.replace(partition, isPruned: false)
        try await self.connection.execute(script: "DROP TABLE pg_temp.restored_entry")
    }

    private func replace(_ partition: EventPartition, isPruned: Bool) async throws {
        let parameters: [PostgresValue] = [.int64(partition.first), .bool(isPruned)]
        try await self.connection.query("SELECT pinledger.copy_partition($1, $2)", parameters)
        let digits = String(partition.first)
        let name = "event_" + String(repeating: "0", count: max(0, 14 - digits.count)) + digits
        // Nothing changes these rows any more, so this is the last time.
        try await self.connection.execute(script: "VACUUM (FREEZE, ANALYZE) pinledger.\(name)_copy")
        for _ in 0..<Self.attempts {
            if try await self.isReplaced(parameters) { return }
            try await Task.sleep(for: .seconds(2))
        }
        throw Obstacle.locked
    }

    private static let attempts = 30

    /// Tries to put a copy in place; false where a lock was not to be had.
    private func isReplaced(_ parameters: [PostgresValue]) async throws -> Bool {
        do {
            try await self.connection.query("SELECT pinledger.replace_partition($1, $2)", parameters)
            return true
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            return false
        }
    }
}

/// The entries of bundles with their positions, as rows. Ends early at a bundle that is missing.
private struct RestoredEntries: Sequence, IteratorProtocol {
    private var positions: Range<Int64>
    private let directory: BundleDirectory
    private var entries: [[UInt8]] = []

    init(bundles: Range<Int64>, directory: BundleDirectory) {
        self.positions = bundles
        self.directory = directory
    }

    mutating func next() -> [PostgresValue]? {
        guard let position = self.positions.first else { return nil }
        let (index, place) = position.quotientAndRemainder(dividingBy: Int64(Tile.fullWidth))
        if place == 0 {
            guard let entries = self.directory.entries(of: UInt64(index)) else { return nil }
            self.entries = entries
        }
        self.positions = position + 1..<self.positions.upperBound
        return [.int64(position), .bytes(self.entries[Int(place)])]
    }
}
