import PinWire
import Pinning
import Postgres
import TransparencyLog

/// Every SQL text of this target.
enum Statements {
    static let append: PreparedStatement = """
        SELECT outcome FROM pinledger.append(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
            $25)
        """
    static let announce: PreparedStatement = "SELECT pg_notify('pinledger_position', $1)"
    static let lockHead: PreparedStatement = "SELECT next_position, frontier, last_time, mac FROM pinledger.lock_head()"
    /// A transaction of its own whose commit waits for a synchronous standby as any other does, and which locks nothing: once
    /// it is confirmed, a standby has every commit that was seen before. False where commits wait for no standby, and on a standby.
    static let confirm = """
        SELECT CASE WHEN NOT pg_is_in_recovery() AND (\(PostgresConfiguration.commitsWait))
            THEN pg_logical_emit_message(true, 'pinledger', '') IS NOT NULL ELSE false END
        """
    /// MUST NOT be prepared: a plan made while the table was small would read all its old versions.
    static let head = """
        SELECT next_position, frontier, last_time, mac FROM pinledger.head ORDER BY position_block DESC LIMIT 1
        """
    /// The same, and whether the server is a standby. MUST NOT be prepared either.
    static let headAndServer = """
        SELECT next_position, frontier, last_time, mac, pg_is_in_recovery()
        FROM pinledger.head ORDER BY position_block DESC LIMIT 1
        """
    static let authenticateHead: PreparedStatement = "SELECT pinledger.authenticate_head($1, $2, $3)"
    static let rehearseAppend: PreparedStatement = "SELECT pinledger.rehearse_append()"
    /// Where the ledger ends, the leaf hash of the event at $1 where there is one, and whether the server is a standby.
    static let headAndLeaf: PreparedStatement = """
        SELECT next_position, frontier, (SELECT leaf_hash FROM pinledger.event WHERE position = $1), pg_is_in_recovery()
        FROM pinledger.head ORDER BY position_block DESC LIMIT 1
        """
    /// The lock of ``AppendLease``, waited for half a second. The setting ends with the transaction, which is this
    /// statement.
    static let beginLease: PreparedStatement = """
        SELECT set_config('lock_timeout', '500', true), pg_advisory_lock(7809142018)
        """
    static let endLease: PreparedStatement = "SELECT pg_advisory_unlock(7809142018)"
    /// At most `$3` entries at positions [$1, $2).
    static let entries: PreparedStatement = """
        SELECT position, entry, leaf_hash FROM pinledger.event
        WHERE position >= $1 AND position < $2 ORDER BY position LIMIT $3
        """
    /// At most `$4` entries of a stream after its `$2`-th, before position `$3`.
    static let streamEntries: PreparedStatement = """
        SELECT position, entry, leaf_hash FROM pinledger.event
        WHERE stream = $1 AND stream_version > $2 AND position < $3 ORDER BY stream_version LIMIT $4
        """
    /// Whether the entry at a position is empty, and whether its partition is pruned.
    static let isPruned: PreparedStatement = """
        SELECT entry = '', EXISTS (SELECT FROM pinledger.pruned_partition WHERE first_position <= $1 AND end_position > $1)
        FROM pinledger.event WHERE position = $1
        """
    /// When the events at the positions $1 were recorded.
    static let times: PreparedStatement = """
        SELECT position, recorded_at FROM pinledger.event WHERE position = ANY($1) ORDER BY position
        """
    static let commands: PreparedStatement = """
        SELECT w.place, c.digest, c.first_position, c.event_count
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY w (actor, key, place)
        JOIN pinledger.command c USING (actor, key)
        """
    static let entryOfStream: PreparedStatement = """
        SELECT position, entry, leaf_hash FROM pinledger.event WHERE stream = $1 AND stream_version = $2
        """
    static let snapshotPositions: PreparedStatement = """
        (SELECT position FROM pinledger.snapshot WHERE fold_version = $1 ORDER BY position DESC LIMIT 3)
        UNION (SELECT position FROM pinledger.snapshot WHERE fold_version = $1 AND kept_tag IS NOT NULL) ORDER BY position DESC
        """
    static let snapshot: PreparedStatement = """
        SELECT frontier, digests, tag, signature, kept_tag, kept_signature FROM pinledger.snapshot WHERE fold_version = $1 AND position = $2
        """
    /// The parts [$3, $4) of a snapshot, as far as they have $5 bytes together, and at least the first.
    static let snapshotParts: PreparedStatement = """
        SELECT number, body FROM (
            SELECT number, body, sum(octet_length(body)) OVER (ORDER BY number) AS bytes FROM pinledger.snapshot_part
            WHERE fold_version = $1 AND position = $2 AND number >= $3 AND number < $4
        ) p WHERE number = $3 OR bytes <= $5 ORDER BY number
        """
    static let storeSnapshotPart: PreparedStatement = "SELECT pinledger.store_snapshot_part($1, $2, $3, $4)"
    static let newestSnapshot: PreparedStatement = """
        SELECT position, created_at, now() FROM pinledger.snapshot
        WHERE fold_version = $1 ORDER BY position DESC LIMIT 1
        """
    static let storeSnapshot: PreparedStatement = "SELECT pinledger.store_snapshot($1, $2, $3, $4, $5, $6)"
    static func forgetSnapshots(before fold: Int32) -> PreparedStatement {
        PreparedStatement("SELECT pinledger.forget_snapshots(\(fold))")
    }
    /// The tag of every snapshot and the columns that it authenticates.
    static let snapshotTags: PreparedStatement = """
        SELECT fold_version, position, frontier, digests, tag, kept_tag FROM pinledger.snapshot
        """
    static let retagSnapshot: PreparedStatement = "SELECT pinledger.retag_snapshot($1, $2, $3, $4, $5)"
    /// At most `$4` ends of batches at positions [$1, $2) whose MAC names the key $3, the last first.
    static let macs: PreparedStatement = """
        SELECT position, recorded_at, mac FROM pinledger.event
        WHERE position >= $1 AND position < $2 AND substr(mac, 1, 8) = $3 ORDER BY position DESC LIMIT $4
        """
    static let signature: PreparedStatement = "SELECT signature FROM pinledger.event WHERE position = $1"
    /// The events at positions [$1, $2) with a signature by one of the keys $3, the last first, and the very last event whatever it
    /// has; at most $4.
    static let signedEnds: PreparedStatement = """
        SELECT position, recorded_at, signature FROM pinledger.event
        WHERE position >= $1 AND position < $2 AND (substr(signature, 1, 8) = ANY($3) OR position = $2 - 1)
        ORDER BY position DESC LIMIT $4
        """
    static let leafHash: PreparedStatement = "SELECT leaf_hash, recorded_at FROM pinledger.event WHERE position = $1"
    static let leafHashes: PreparedStatement = """
        SELECT leaf_hash FROM pinledger.event WHERE position >= $1 AND position < $2 ORDER BY position
        """
    static let tileRoots: PreparedStatement = """
        SELECT hash FROM pinledger.tree_node WHERE index >= $1 AND index < $2 AND level = $3 ORDER BY index
        """
    static let ensurePartitions: PreparedStatement = "SELECT pinledger.ensure_partitions()"
    // Each table's comment in db/migrations says how long it keeps its rows. Operators set the time for outcomes.
    static let forgetCommands: PreparedStatement = "SELECT pinledger.forget_commands()"
    static let forgetAdoption: PreparedStatement = "SELECT pinledger.forget_adoption()"
    static func forgetOutcomes(days: Int) -> PreparedStatement {
        PreparedStatement("SELECT pinledger.forget_outcomes(now() - interval '\(days) days')")
    }
    static let forgetDeliveries: PreparedStatement = "SELECT pinledger.forget_deliveries()"
    static let forgetObservations: PreparedStatement = "SELECT pinledger.forget_observations()"
    static let forgetNodes: PreparedStatement = "SELECT pinledger.forget_nodes()"
    static let forgetTokenUses: PreparedStatement = "SELECT pinledger.forget_token_uses()"
}

extension Head {
    /// Reads the one row of next_position, frontier, last_time; further columns are ignored.
    ///
    /// - Throws: ``LedgerFault/head(position:)`` where it is missing or cannot be a ledger's end.
    init(_ rows: PostgresRows) throws {
        // A row of NULLs from the function also means that there is none.
        guard rows.count == 1, let row = rows.first, let position = try row.optionalInt64(0) else {
            throw LedgerFault.head(position: nil)
        }
        let encoded = try row.bytes(1)
        // No ledger is longer, and sums of positions stay within bounds.
        guard (0...JSON.largestInteger).contains(position), let size = UInt64(exactly: position),
            let frontier = try? MerkleFrontier(size: size, encoded: encoded)
        else { throw LedgerFault.head(position: position) }
        self.init(
            position: position, frontier: frontier, lastTime: Timestamp(microseconds: try row.timestamp(2))
        )
    }
}

extension StoredEnd {
    /// Reads the one row of next_position, frontier, last_time, mac.
    ///
    /// - Throws: ``LedgerFault/head(position:)`` where it is missing or cannot be a ledger's end.
    init(_ rows: PostgresRows) throws {
        self.init(head: try Head(rows), mac: try rows.only.optionalBytes(3))
    }
}
