import PinWire
import Pinning
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
    /// The fold of what could be read.
    private(set) var state = LedgerState()
    /// The right edge over the entries as they are; nil once a position is missing.
    private(set) var frontier: MerkleFrontier? = MerkleFrontier()
    /// The number of rows so far.
    private(set) var count: Int64 = 0
    private(set) var commands: CommandCheck
    private let end: Int64
    private let previous: AuditReport?
    private var macs: MACCheck?
    private var tree: TreeCheck
    private var next: Int64 = 0
    private var lastTime = Timestamp(microseconds: 0)
    /// Where each stream ends, as far as it could be read.
    private(set) var ends: [String: LedgerAuditor.StreamEnd] = [:]
    /// Streams of which an event is damaged or missing: later mismatches in them are consequences.
    private(set) var damagedStreams: Set<String> = []
    /// The last position that was found missing.
    private var lastMissing: Int64 = -1

    /// - Parameters:
    ///   - end: The number of events by the head.
    ///   - stored: Every stored node of the tree.
    ///   - key: What authenticates batches; nil where their MACs cannot be checked.
    init(end: Int64, stored: [TileRoot], commands: CommandCheck, previous: AuditReport?, key: BatchKey?) {
        self.macs = key.map { MACCheck(key: $0) }
        self.end = end
        self.tree = TreeCheck(stored: stored)
        self.commands = commands
        self.previous = previous
        self.compareWithPrevious()
    }

    /// Takes the next row in the order of positions.
    mutating func take(_ row: Row) {
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
            self.lastMissing = row.position - 1
        }
        self.next = row.position + 1
        let hashed = MerkleTree.leafHash(row.entry)
        if hashed.bytes != row.leafHash {
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
    }

    private mutating func read(_ row: Row) {
        let entry: Entry
        do { entry = try Entry(bytes: row.entry) } catch {
            self.findings.add(
                LedgerFinding(.entryUnreadable, at: row.position, of: row.stream, "the entry cannot be read: \(error)"))
            self.ends[row.stream] = .init(version: row.streamVersion, position: row.position, time: row.time)
            self.damagedStreams.insert(row.stream)
            return
        }
        if entry.bytes != row.entry {
            self.findings.add(
                LedgerFinding(.entryUnreadable, at: row.position, of: row.stream, "the entry is not canonical JSON"))
        }
        self.compareColumns(row, entry)
        let before = self.ends[row.stream]
        let next = (before?.version ?? 0) &+ 1
        if entry.streamVersion > next, self.lastMissing > before?.position ?? -1 {
            // The events between are among those that are missing.
            self.damagedStreams.insert(row.stream)
        } else if entry.streamVersion != next {
            self.damagedStreams.insert(row.stream)
            self.findings.add(
                LedgerFinding(
                    .streamVersionWrong, at: row.position, of: row.stream,
                    "the event has version \(entry.streamVersion) of its stream, where \(next) is the next"
                )
            )
        }
        if entry.time < self.lastTime {
            self.findings.add(
                LedgerFinding(.timeFalls, at: row.position, "the event lies before the one before it"))
        }
        self.lastTime = max(self.lastTime, entry.time)
        self.ends[row.stream] = .init(version: entry.streamVersion, position: row.position, time: entry.time)
        if !self.state.apply(entry.event, of: entry.stream, at: entry.time),
            !self.damagedStreams.contains(row.stream)
        {
            self.damagedStreams.insert(row.stream)
            self.findings.add(
                LedgerFinding(
                    .eventUnfit, at: row.position, of: row.stream,
                    "\(entry.event.type) cannot follow on what came before it in the stream")
            )
        }
        self.commands.take(entry, at: row.position)
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
            self.lastMissing = self.end - 1
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
        var streams = self.ends
        for row in rows {
            // A stream whose last events are missing is taken to be as long as its row says.
            if self.lastMissing >= 0, row.version > streams[row.name]?.version ?? 0 {
                self.damagedStreams.insert(row.name)
                streams[row.name] = nil
                continue
            }
            let counted = streams.removeValue(forKey: row.name)
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
        for (name, counted) in streams.sorted(by: { $0.key < $1.key }) {
            self.findings.add(
                LedgerFinding(
                    .streamHeadWrong, at: counted.position, of: name, "the stream's length is not recorded")
            )
        }
        if let stored, self.frontier == stored.head.frontier { self.macs?.finish(stored) }
        for finding in self.macs?.findings ?? [] { self.findings.add(finding) }
        self.commands.finish()
        for finding in self.commands.findings { self.findings.add(finding) }
    }

    private static func span(_ first: Int64, _ last: Int64) -> String {
        first == last ? "position \(first)" : "positions \(first) to \(last)"
    }
}
