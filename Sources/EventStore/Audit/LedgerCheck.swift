import PinWire
import Pinning
import Postgres
import TransparencyLog

/// Recomputes a ledger row by row and gathers all mismatches. A pure value.
///
/// A node stops at the first fault; this check goes on after each as well as it can, so that one report names all the
/// damage. It leaves out consequences of damage already named, where it can tell.
struct LedgerCheck: Sendable {
    /// One row of `pinledger.event`.
    struct Row: Sendable {
        var position: Int64
        var stream: String
        var streamVersion: Int64
        var time: Timestamp
        var type: String
        var actorKind: String
        var actorID: String
        var entry: [UInt8]
        var leafHash: [UInt8]
        var mac: [UInt8]?
    }

    /// One row of `pinledger.stream`.
    struct StreamRow: Sendable {
        var name: String
        var version: Int64
        var lastPosition: Int64
    }

    private(set) var findings = LedgerFindings()
    private(set) var events: EventCheck
    /// The right edge over the entries as they are; nil once a position is missing.
    private(set) var frontier: MerkleFrontier? = MerkleFrontier()
    /// The number of rows so far.
    private(set) var count: Int64 = 0
    private(set) var commands: CommandCheck
    private let end: Int64
    private let pruned: PrunedPositions
    private let previous: AuditReport?
    private var macs: MACCheck?
    private var tree: TreeCheck
    private var snapshots: SnapshotCheck
    private var next: Int64 = 0

    /// - Parameters:
    ///   - end: The number of events by the head.
    ///   - stored: Every stored node of the tree.
    ///   - key: What authenticates batches; nil where their MACs cannot be checked.
    ///   - pruned: Where entries may be missing.
    ///   - now: The time by the auditor's clock; nil where events may have any.
    init(
        end: Int64, stored: [TileRoot], pruned: PrunedPositions, commands: CommandCheck, snapshots: SnapshotCheck,
        previous: AuditReport?, key: BatchKey?, approvals: ApprovalVerifier? = nil, at now: Timestamp? = nil
    ) {
        self.events = EventCheck(approvals: approvals, at: now)
        self.macs = key.map { MACCheck(key: $0) }
        self.end = end
        self.pruned = pruned
        self.tree = TreeCheck(stored: stored)
        self.commands = commands
        self.snapshots = snapshots
        self.previous = previous
        self.compareWithPrevious()
    }

    /// Takes the next rows in the order of positions.
    mutating func take(_ page: AuditPage) throws(PostgresError) {
        guard let sound = page.sound, let first = sound.steps.first, let last = sound.steps.last,
            first.position == self.next, last.position < self.end, self.frontier != nil, self.events.isSound,
            // The root at the earlier report's end is known only where the page is taken row by row.
            self.previous.map({ !(first.position...last.position).contains($0.position - 1) }) ?? true,
            // So are the fold and the root at a snapshot, unless the page ends there.
            self.snapshots.next.map({ !(first.position..<last.position).contains($0 - 1) }) ?? true
        else {
            for row in page.rows { self.take(try Row(row)) }
            return
        }
        self.count += Int64(sound.steps.count)
        self.next = last.position + 1
        self.tree.take(sound.leaves, from: first.position, subtree: sound.subtree)
        self.append(sound)
        let fitting = self.events.fold(sound.steps, ends: sound.ends)
        for (place, key) in sound.keys.prefix(while: { $0.place < fitting }) {
            self.commands.take(key, at: sound.steps[place].position, time: sound.steps[place].time)
        }
        // Says what is wrong with the first that does not fit.
        for row in page.rows[fitting...] { self.read(try Row(row)) }
        self.compareWithSnapshots()
    }

    /// Appends a page's leaves to the right edge, and compares the MACs on the way.
    private mutating func append(_ page: AuditPage.Sound) {
        guard var frontier else { return }
        defer { self.frontier = frontier }
        var macs = self.macs == nil ? [] : page.macs[...]
        if macs.isEmpty, let subtree = page.subtree, frontier.append(subtree: subtree) { return }
        for (place, leaf) in page.leaves.enumerated() {
            frontier.append(leaf: leaf)
            guard let mac = macs.first, mac.place == place else { continue }
            macs.removeFirst()
            let step = page.steps[place]
            self.macs?.take(mac.mac, beside: Head(position: step.position + 1, frontier: frontier, lastTime: step.time))
        }
    }

    /// Takes the next row in the order of positions.
    private mutating func take(_ row: Row) {
        self.count += 1
        guard (0..<self.end).contains(row.position) else {
            self.findings.add(
                LedgerFinding(
                    .positionBeyondHead, at: row.position, "the head says that the ledger ends at \(self.end)")
            )
            return
        }
        if row.position != self.next {
            self.findings.add(
                LedgerFinding(
                    .positionMissing, at: self.next, through: row.position - 1,
                    "there is no event at \(Self.span(self.next, row.position - 1))"
                )
            )
            self.frontier = nil
            self.events.miss(through: row.position - 1)
        }
        self.next = row.position + 1
        var hashed = MerkleTree.leafHash(row.entry)
        if row.entry.isEmpty {
            let isPruned = self.pruned.holds(row.position, of: row.stream.utf8)
            self.findings.add(
                LedgerFinding(
                    isPruned ? .bundleMissing : .entryMissing, at: row.position, of: row.stream,
                    isPruned
                        ? "the event is pruned, and no bundle that was given holds its entry"
                        : "the entry is empty, and the event is not pruned"))
            // The rest of the tree can still be compared.
            hashed = LogHash(row.leafHash) ?? hashed
        } else if hashed.bytes != row.leafHash {
            self.findings.add(
                LedgerFinding(
                    .leafHashWrong, at: row.position, of: row.stream, "the entry does not have the hash recorded for it"
                )
            )
        }
        self.tree.take(position: row.position, hashed: hashed, recorded: LogHash(row.leafHash) ?? hashed)
        self.frontier?.append(leaf: hashed)
        self.compareWithPrevious()
        if let mac = row.mac, let frontier {
            self.macs?.take(mac, beside: Head(position: self.next, frontier: frontier, lastTime: row.time))
        }
        self.read(row)
        self.compareWithSnapshots()
    }

    private mutating func compareWithSnapshots() {
        guard self.snapshots.next == self.next, let frontier else { return }
        let isWhole = self.events.isSound && self.events.lastMissing < 0
        self.snapshots.take(frontier, isWhole ? self.events.state : nil, at: self.next)
    }

    private mutating func read(_ row: Row) {
        guard !row.entry.isEmpty else {
            return self.events.skip(row.stream, version: row.streamVersion, position: row.position, time: row.time)
        }
        let entry: Entry
        do { entry = try Entry(bytes: row.entry) } catch {
            self.findings.add(
                LedgerFinding(.entryUnreadable, at: row.position, of: row.stream, "the entry cannot be read: \(error)"))
            self.events.skip(row.stream, version: row.streamVersion, position: row.position, time: row.time)
            return
        }
        if entry.bytes != row.entry {
            self.findings.add(
                LedgerFinding(.entryUnreadable, at: row.position, of: row.stream, "the entry is not canonical JSON"))
        }
        self.compareColumns(row, entry)
        for finding in self.events.take(entry, at: row.position) { self.findings.add(finding) }
        if let key = entry.origin.commandKey { self.commands.take(key, at: row.position, time: entry.time) }
    }

    private mutating func compareColumns(_ row: Row, _ entry: Entry) {
        let pairs: [(name: String, column: String, said: String)] = [
            ("position", "\(row.position)", "\(entry.position)"),
            ("stream", row.stream, entry.stream.text),
            ("stream_version", "\(row.streamVersion)", "\(entry.streamVersion)"),
            ("recorded_at", row.time.rfc3339, entry.time.rfc3339),
            ("type", row.type, entry.event.type),
            ("actor_kind", row.actorKind, entry.origin.actor.kind.rawValue),
            ("actor_id", row.actorID, entry.origin.actor.id),
        ]
        for pair in pairs where pair.column != pair.said {
            self.findings.add(
                LedgerFinding(
                    .columnsDiffer, at: row.position, of: row.stream,
                    "\(pair.name) is \(pair.column) in its column and \(pair.said) in the entry"
                )
            )
        }
    }

    private mutating func compareWithPrevious() {
        guard let previous, let frontier, frontier.size == UInt64(previous.position), frontier.root != previous.root
        else { return }
        self.findings.add(
            LedgerFinding(
                .historyRewritten, at: 0, through: max(0, previous.position - 1),
                "the first \(previous.position) events are not those of the earlier report: the root differs"
            )
        )
    }

    /// Compares the recomputed values with those of the database.
    ///
    /// - Parameter end: The ledger's end as its row states it; nil where that row is damaged, which other findings say.
    mutating func finish(end stored: StoredEnd?, streams rows: [StreamRow]) {
        if self.next < self.end {
            self.findings.add(
                LedgerFinding(
                    .positionMissing, at: self.next, through: self.end - 1,
                    "there is no event at \(Self.span(self.next, self.end - 1))"
                )
            )
            self.frontier = nil
            self.events.miss(through: self.end - 1)
        }
        if let previous, previous.position > self.end {
            self.findings.add(
                LedgerFinding(
                    .historyRewritten, at: self.end, through: previous.position - 1,
                    "the earlier report knew \(previous.position) events, and now there are \(self.end)"
                )
            )
        }
        // Missing events at the end are named: nodes over them are not looked for.
        self.tree.finish(size: self.end, frontier: stored?.head.frontier ?? MerkleFrontier())
        for finding in self.tree.findings { self.findings.add(finding) }
        self.snapshots.finish(end: self.end)
        for finding in self.snapshots.findings { self.findings.add(finding) }
        var streams = self.events.ends
        for row in rows {
            let counted = StreamID(text: row.name).flatMap { streams.removeValue(forKey: $0) }
            // A stream whose last events are missing is taken to be as long as its row says.
            if self.events.lastMissing >= 0, row.version > counted?.version ?? 0 {
                self.events.damage(row.name)
                continue
            }
            // Schema version 5 and before wrote the last position of the whole batch.
            guard let counted, counted.version == row.version,
                (counted.position..<self.end).contains(row.lastPosition)
            else {
                self.findings.add(
                    LedgerFinding(
                        .streamHeadWrong, at: counted?.position ?? row.lastPosition, of: row.name,
                        """
                        the stream is said to have \(row.version) events, the last at \(row.lastPosition); it has \
                        \(counted.map { "\($0.version), the last at \($0.position)" } ?? "none")
                        """
                    )
                )
                continue
            }
        }
        for (stream, counted) in streams.sorted(by: { $0.key.text < $1.key.text }) {
            self.findings.add(
                LedgerFinding(
                    .streamHeadWrong, at: counted.position, of: stream.text, "the stream's length is not recorded")
            )
        }
        if let stored, self.frontier == stored.head.frontier { self.macs?.finish(stored) }
        for finding in self.macs?.findings ?? [] { self.findings.add(finding) }
        for run in self.events.ahead {
            self.findings.add(
                LedgerFinding(
                    .timeAhead, at: run.lowerBound, through: run.upperBound,
                    "a clock was ahead when the events were recorded; the ledger's times lie in the future until \(self.events.lastTime)"
                ))
        }
        self.commands.finish(at: self.events.lastTime)
        for finding in self.commands.findings { self.findings.add(finding) }
    }

    private static func span(_ first: Int64, _ last: Int64) -> String {
        first == last ? "position \(first)" : "positions \(first) to \(last)"
    }
}

extension LedgerCheck.Row {
    /// Reads a row of ``AuditPage/columns``.
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            position: try row.int64(0), stream: try row.text(1), streamVersion: try row.int64(2),
            time: Timestamp(microseconds: try row.timestamp(3)), type: try row.text(4), actorKind: try row.text(5),
            actorID: try row.text(6), entry: try row.bytes(7), leafHash: try row.bytes(8),
            mac: try row.optionalBytes(9)
        )
    }
}
