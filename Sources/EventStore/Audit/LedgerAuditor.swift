package import PinWire
package import Pinning
package import Postgres
package import TransparencyLog

/// Reads a whole ledger from the database, at one instant, and recomputes it.
///
/// Needs only the rights of `pinledger_reader`, changes nothing and takes no lock, so it may run beside servers. Memory
/// grows with the state, the streams and the idempotency keys, not with the entries.
package struct LedgerAuditor: Sendable {
    /// What is known outside the database, with which the ledger is compared.
    package struct Expectations: Sendable {
        package var acknowledged: [AcknowledgedCommand] = []
        package var previous: AuditReport?
        /// What authenticates batches; nil where their MACs are not to be checked.
        package var key: BatchKey?
        /// The key that authenticates snapshots; nil where their tags are not to be checked.
        package var snapshotKey: SnapshotKey?
        /// The public keys of batches' signatures, and of those of snapshots; none where they are not to be checked.
        package var verifiers: [BatchVerifier] = []
        /// What verifies approvers' signatures; nil where they are not to be checked.
        package var approvals: ApprovalVerifier?
        /// Where the entries of pruned events are; nil where there are none.
        package var bundles: BundleDirectory?
        /// The time by the auditor's clock; nil where events may have any.
        package var time: Timestamp?

        package init() {}
    }

    /// The result.
    package struct Outcome: Sendable {
        package var findings: LedgerFindings
        /// The fold of what could be read.
        package var state: LedgerState
        /// Streams whose fold is not reliable.
        package var damagedStreams: Set<String>
        /// Where the ledger ends by its head.
        package var position: Int64
        /// The tree's root over the entries as they are; nil where some are missing.
        package var root: LogHash?
        /// How many events were read.
        package var events: Int64
        /// The last readable event of each stream.
        package var ends: [StreamID: StreamEnd]
    }

    /// Where a stream ends by its events.
    package struct StreamEnd: Hashable, Sendable {
        package var version: Int64
        /// The position of its last event.
        package var position: Int64
        /// When that event was recorded.
        package var time: Timestamp

        package init(version: Int64, position: Int64, time: Timestamp) {
            self.version = version
            self.position = position
            self.time = time
        }
    }

    private let expectations: Expectations
    private let noting: @Sendable (_ events: Int64, _ end: Int64) -> Void

    /// - Parameter noting: Called now and then with the number of events that were read, and that of all.
    package init(
        expectations: Expectations = Expectations(),
        noting: @escaping @Sendable (_ events: Int64, _ end: Int64) -> Void = { _, _ in }
    ) {
        self.expectations = expectations
        self.noting = noting
    }

    /// Audits the ledger that `connection` leads to, and reads with `also` further data of the same instant.
    ///
    /// - Throws: The database's error, where the ledger cannot be read at all.
    package func run<R: Sendable>(
        on connection: PostgresConnection, also: @escaping @Sendable (isolated PostgresConnection) throws -> R
    ) async throws -> (Outcome, R) {
        let bundles = self.expectations.bundles
        return try await self.audit(on: connection) { connection, send in
            try connection.transaction(isolation: .repeatableRead, readOnly: true) { @Sendable connection in
                try connection.withStatementTimeout(nil) { connection in
                    try Self.read(connection, bundles: bundles, send)
                    return try also(connection)
                }
            }
        }
    }

    /// One part of what is read, in the order in which the check takes it.
    package enum Part: Sendable {
        case beginning(Beginning)
        case events(PostgresRows)
        case ending(Ending)
    }

    /// What the check has to know before the first event.
    package struct Beginning: Sendable {
        /// The rows of `pinledger.head`.
        fileprivate let heads: PostgresRows
        /// Where the ledger ends by the head; where the head is missing, by the events.
        fileprivate let end: Int64
        fileprivate let nodes: [TileRoot]
        /// Findings on malformed rows of the tree.
        fileprivate let unreadable: [LedgerFinding]
        fileprivate let commands: [CommandCheck.Row]
        fileprivate let pruned: PrunedPositions
        fileprivate let snapshots: [SnapshotCheck.Row]
    }

    /// What the check compares its results with.
    package struct Ending: Sendable {
        fileprivate let streams: [LedgerCheck.StreamRow]
        fileprivate let guards: [LedgerFinding]
        /// The signature that is stored with the last event.
        fileprivate let signature: [UInt8]?
        /// Whether a MAC is stored with it.
        fileprivate let hasMAC: Bool
    }

    private enum Page: Sendable {
        case beginning(Beginning)
        case events(AuditPage)
        case ending(Ending)
    }

    /// Audits what `read` sends, which is what ``read(_:_:)`` sends in a transaction of the connection.
    package func audit<R: Sendable>(
        on connection: PostgresConnection,
        read: @escaping @Sendable (isolated PostgresConnection, @escaping @Sendable (Part) throws -> Void) throws -> R
    ) async throws -> (Outcome, R) {
        var check: LedgerCheck?
        var (beginning, ending): (Beginning?, Ending?)
        let pipeline = PagePipeline<Part, Page> { part in
            switch part {
            case .beginning(let beginning): .beginning(beginning)
            case .events(let rows): .events(AuditPage(rows))
            case .ending(let ending): .ending(ending)
            }
        }
        let answer = try await pipeline.run(on: connection, read: read) { page in
            switch page {
            case .beginning(let found):
                beginning = found
                check = LedgerCheck(
                    end: max(0, found.end), stored: found.nodes, pruned: found.pruned,
                    commands: CommandCheck(rows: found.commands, acknowledged: self.expectations.acknowledged),
                    snapshots: SnapshotCheck(
                        rows: found.snapshots, key: self.expectations.snapshotKey,
                        verifiers: self.expectations.verifiers),
                    previous: self.expectations.previous, key: self.expectations.key,
                    approvals: self.expectations.approvals, at: self.expectations.time)
            case .events(let page):
                try check?.take(page)
                if let check, let beginning { self.noting(check.count, beginning.end) }
            case .ending(let found): ending = found
            }
        }
        guard let check, let beginning, let ending else { throw CancellationError() }
        var outcome = Self.outcome(of: check, beginning, ending)
        // Where MACs are wrong, they say more.
        if !outcome.findings.kept.contains(where: { $0.code == .macWrong }),
            let finding = self.unsigned(check, ending)
        {
            outcome.findings.add(finding)
        }
        return (outcome, answer)
    }

    /// Reads everything that an audit takes, in the connection's transaction.
    package static func read(
        _ connection: isolated PostgresConnection, bundles: BundleDirectory? = nil, _ send: (Part) throws -> Void
    ) throws {
        let heads = try connection.query(
            "SELECT next_position, frontier, last_time, mac, raised_by FROM pinledger.head")
        let end =
            heads.count == 1
            ? try heads[0].int64(0)
            : try connection.query("SELECT coalesce(max(position), -1) FROM pinledger.event").only.int64(0) &+ 1
        let (nodes, unreadable) = try self.tree(connection)
        let pruned = try PrunedPositions(on: connection)
        try send(
            .beginning(
                Beginning(
                    heads: heads, end: end, nodes: nodes, unreadable: unreadable,
                    commands: try self.commands(connection), pruned: pruned,
                    snapshots: try SnapshotCheck.Row.all(connection))))
        try connection.copyRows(
            "COPY (SELECT \(AuditPage.columns) FROM pinledger.event ORDER BY position) TO STDOUT (FORMAT binary)",
            batch: Int(BulkReader.pageSize)
        ) { rows in
            guard let bundles, rows.firstPruned(entry: AuditPage.entryColumn) != nil else {
                return try send(.events(rows))
            }
            // An entry that is missing although it was not pruned is damage, whether a bundle has it or not.
            let filled = try? bundles.fill(rows, entry: AuditPage.entryColumn, hash: AuditPage.hashColumn) {
                cells, row in
                guard let position = cells.int64(row, 0), let stream = cells[row, 1] else { return false }
                return pruned.holds(position, of: stream)
            }
            try send(.events(filled ?? rows))
        }
        let streams = try connection.query("SELECT name, version, last_position FROM pinledger.stream ORDER BY name")
        let last = try connection.query(
            "SELECT signature, mac IS NOT NULL FROM pinledger.event WHERE position = $1", [.int64(end &- 1)]
        ).first
        try send(
            .ending(
                Ending(
                    streams: try streams.map {
                        LedgerCheck.StreamRow(
                            name: try $0.text(0), version: try $0.int64(1), lastPosition: try $0.int64(2))
                    }, guards: try self.guards(connection),
                    signature: try last?.optionalBytes(0), hasMAC: try last?.bool(1) ?? false)))
    }

    /// What is wrong with the signature of the ledger's end, by the events as they are; nil where nothing is, or none is asked for.
    /// A right one vouches for all events before it.
    private func unsigned(_ check: LedgerCheck, _ ending: Ending) -> LedgerFinding? {
        guard let frontier = check.frontier, frontier.size > 0, !self.expectations.verifiers.isEmpty else { return nil }
        let end = Head(
            position: Int64(frontier.size), frontier: frontier, lastTime: Timestamp(microseconds: 0))
        guard let defect = self.expectations.verifiers.defect(of: ending.signature, beside: end) else { return nil }
        // The end of a ledger that got its key, or another one, since its last event is signed with the next.
        if self.expectations.key != nil, defect == .otherKey || !ending.hasMAC { return nil }
        return LedgerFinding(
            .signatureWrong, at: end.position - 1, of: "event",
            "the ledger's end, after \(end.position) events, is not signed with a batch key that is given: \(defect)")
    }

    private static func outcome(of check: LedgerCheck, _ beginning: Beginning, _ ending: Ending) -> Outcome {
        var check = check
        let head = beginning.heads.count == 1 ? beginning.heads.first : nil
        // Its hashes do not fit its position where it cannot be read.
        let stored = try? StoredEnd(beginning.heads)
        check.finish(end: stored, streams: ending.streams)
        var findings = check.findings
        if head == nil {
            findings.add(
                LedgerFinding(
                    .treeWrong, of: "head", "the head has \(beginning.heads.count) rows instead of one"))
        } else if stored == nil {
            findings.add(
                LedgerFinding(.treeWrong, of: "head", "the head's hashes do not fit its position, \(beginning.end)"))
        }
        if let raised = try? head?.int64(4), raised != check.events.state.fleet.raisedBy,
            !check.events.damagedStreams.contains("fleet")
        {
            findings.add(
                LedgerFinding(
                    .columnsDiffer, of: "head",
                    "the head says that versions are raised by \(raised), and events raise them by \(check.events.state.fleet.raisedBy)"
                ))
        }
        for finding in beginning.unreadable + ending.guards { findings.add(finding) }
        return Outcome(
            findings: findings, state: check.events.state, damagedStreams: check.events.damagedStreams,
            position: max(0, beginning.end), root: check.frontier?.root, events: check.count, ends: check.events.ends)
    }

    /// The stored nodes of the tree, and the findings on malformed rows.
    private static func tree(
        _ connection: isolated PostgresConnection
    ) throws -> (nodes: [TileRoot], unreadable: [LedgerFinding]) {
        var nodes: [TileRoot] = []
        var unreadable: [LedgerFinding] = []
        for row in try connection.query("SELECT level, index, hash FROM pinledger.tree_node") {
            let (level, index) = (Int(try row.int16(0)), try row.int64(1))
            guard let hash = LogHash(try row.bytes(2)), let place = UInt64(exactly: index), level >= 0 else {
                unreadable.append(
                    LedgerFinding(
                        .treeWrong, of: "tree_node",
                        "the node at level \(level), index \(index) has no 32 bytes, or a number below zero"))
                continue
            }
            nodes.append(TileRoot(level: level, index: place, hash: hash))
        }
        return (nodes, unreadable)
    }

    private static func commands(_ connection: isolated PostgresConnection) throws -> [CommandCheck.Row] {
        var commands: [CommandCheck.Row] = []
        try connection.copyRows(
            """
            COPY (SELECT left(regexp_replace(actor, '[^ -~]', '?', 'g'), 1000), left(regexp_replace(key, '[^ -~]', '?', 'g'), 1000),
                         first_position, event_count
                  FROM pinledger.command) TO STDOUT (FORMAT binary)
            """
        ) { rows in
            for row in rows {
                commands.append(
                    CommandCheck.Row(
                        key: CommandKey(actor: try row.text(0), key: try row.text(1)), first: try row.int64(2),
                        count: Int64(try row.int32(3))
                    )
                )
            }
        }
        return commands
    }

    /// Checks that the triggers that refuse UPDATE, DELETE and TRUNCATE stand on every table of the ledger, and cannot
    /// be bypassed by session settings.
    private static func guards(_ connection: isolated PostgresConnection) throws -> [LedgerFinding] {
        let rows = try connection.query(
            """
            SELECT c.relname, w.name, t.tgenabled IS NOT NULL
            FROM pg_class c
            CROSS JOIN (VALUES ('refuse_change'), ('refuse_truncate')) w (name)
            LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = w.name AND t.tgenabled = 'A'
            WHERE c.oid IN ('pinledger.event'::regclass, 'pinledger.tree_node'::regclass, 'pinledger.head'::regclass)
               OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'pinledger.event'::regclass)
            """
        )
        return try rows.compactMap { row in
            guard try !row.bool(2) else { return nil }
            let table = try row.text(0)
            return LedgerFinding(
                .guardMissing, of: table, "the trigger \(try row.text(1)) on \(table) is missing or not always enabled")
        }
    }
}
