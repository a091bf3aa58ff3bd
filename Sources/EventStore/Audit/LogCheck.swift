import PinWire
import Pinning
import TransparencyLog

/// Recomputes a log from what its server, or a copy of it, holds: entries, hashes, tiles, root, streams and fold. A pure value.
///
/// It goes on after each mismatch as well as it can, so that one report names all the damage.
struct LogCheck: Sendable {
    private(set) var findings = LedgerFindings()
    private(set) var events: EventCheck
    /// The right edge over the entries; nil once a hash is missing.
    private(set) var frontier: MerkleFrontier? = MerkleFrontier()
    /// How many entries were there.
    private(set) var count: Int64 = 0
    /// The roots of the full tiles of level 0, from the entries; nil once one is missing.
    private var roots: [LogHash]? = []
    /// The hashes of the tiles of level 1, 2 and so on, from the entries.
    private var levels: [[LogHash]] = []
    /// The nodes above a place that is named already, by their level / 8: what is wrong with them is its consequence.
    private var consequences: [Int: Set<UInt64>] = [:]
    /// Earlier states that this log has to continue.
    private let earlier: [AuditReport]

    init(earlier: [AuditReport], approvals: ApprovalVerifier? = nil) {
        self.events = EventCheck(approvals: approvals)
        self.earlier = earlier
        self.compareWithEarlier()
    }

    /// Takes the next page in the order of positions.
    mutating func take(_ page: LogPage) {
        let last = page.first + Int64(page.width) - 1
        self.compare(page, through: last)
        // Where entries are missing, their hashes lead on through the tree.
        self.append(page.entries == nil ? page.recorded : page.leaves, of: page)
        guard let entries = page.entries else {
            self.findings.add(
                LedgerFinding(
                    .positionMissing, at: page.first, through: last,
                    "there is no bundle of the \(page.width) entries from position \(page.first) on, or it is malformed"
                ))
            return self.events.miss(through: last)
        }
        self.count += Int64(entries.count)
        var fitting = 0
        if let sound = page.sound, self.events.isSound {
            fitting = self.events.fold(sound.steps, ends: sound.ends)
        }
        for place in fitting..<entries.count { self.read(Array(entries[place]), at: page.first + Int64(place)) }
    }

    /// Compares the entries' hashes with those of their tile.
    private mutating func compare(_ page: LogPage, through last: Int64) {
        guard let recorded = page.recorded else {
            return self.findings.add(
                LedgerFinding(
                    .treeWrong, at: page.first, through: last, of: "tile/0",
                    "there is no tile of the \(page.width) hashes from position \(page.first) on, or it is malformed"))
        }
        guard page.entries != nil, page.leaves != recorded else { return }
        for place in page.leaves.indices where page.leaves[place] != recorded[place] {
            self.mark(UInt64(page.first) + UInt64(place), level: 0)
            self.findings.add(
                LedgerFinding(
                    .leafHashWrong, at: page.first + Int64(place), of: "tile/0",
                    "the entry does not have the hash that its tile holds for it: one of them was altered"))
        }
    }

    private mutating func append(_ leaves: [LogHash]?, of page: LogPage) {
        guard let leaves, self.frontier != nil else {
            self.frontier = nil
            self.roots = nil
            return
        }
        for leaf in leaves {
            self.frontier?.append(leaf: leaf)
            if let next = self.frontier?.size, self.earlier.contains(where: { UInt64($0.position) == next }) {
                self.compareWithEarlier()
            }
        }
        if page.width == Tile.fullWidth { self.roots?.append(MerkleFrontier(leaves: leaves).root) }
    }

    private mutating func compareWithEarlier() {
        guard let frontier else { return }
        for report in self.earlier where frontier.size == UInt64(report.position) && frontier.root != report.root {
            self.findings.add(
                LedgerFinding(
                    .historyRewritten, at: 0, through: max(0, report.position - 1),
                    "the first \(report.position) entries are not those of the earlier checkpoint: the root differs"))
        }
    }

    private mutating func read(_ bytes: [UInt8], at position: Int64) {
        let entry: Entry
        do { entry = try Entry(canonical: bytes) } catch {
            self.findings.add(
                LedgerFinding(.entryUnreadable, at: position, "the entry cannot be read: \(error)"))
            return self.events.miss(through: position)
        }
        if entry.position != position {
            self.findings.add(
                LedgerFinding(
                    .positionWrong, at: position, of: entry.stream.text,
                    "the entry says that it stands at position \(entry.position)"))
        }
        for finding in self.events.take(entry, at: position) { self.findings.add(finding) }
    }

    /// Computes what the tiles above level 0 have to hold, after the last page.
    mutating func finishEntries() {
        guard var nodes = self.roots else { return }
        while !nodes.isEmpty {
            self.levels.append(nodes)
            nodes = stride(from: 0, to: nodes.count - nodes.count % Tile.fullWidth, by: Tile.fullWidth).map {
                MerkleFrontier(leaves: nodes[$0..<$0 + Tile.fullWidth]).root
            }
        }
    }

    /// The hashes that a tile above level 0 has to hold; nil where entries below it are missing.
    func hashes(of tile: Tile) -> [LogHash]? {
        guard case .hashes(let level) = tile.content, level > 0, self.levels.count >= level else { return nil }
        let nodes = self.levels[level - 1]
        let range = tile.hashes.indices
        guard range.upperBound <= UInt64(nodes.count) else { return nil }
        return Array(nodes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    /// Compares a tile above level 0 with the entries below it.
    mutating func take(_ bytes: [UInt8]?, of tile: Tile, _ level: Int) {
        guard let hashes = self.hashes(of: tile) else { return }
        let range = tile.hashes.indices
        let shift = UInt64(level * TileRoot.levelsPerTile)
        guard let bytes, bytes.count == hashes.count * LogHash.byteCount else {
            return self.findings.add(
                LedgerFinding(
                    .treeWrong, at: Int64(range.lowerBound << shift),
                    through: Int64(range.upperBound << shift) - 1, of: tile.path,
                    "the tile is missing, or does not have \(hashes.count) hashes"))
        }
        for (place, hash) in hashes.enumerated()
        where !bytes[place * LogHash.byteCount..<(place + 1) * LogHash.byteCount].elementsEqual(hash.bytes) {
            let index = range.lowerBound + UInt64(place)
            guard self.consequences[level]?.contains(index) != true else { continue }
            self.mark(index, level: level)
            let first = index << shift
            self.findings.add(
                LedgerFinding(
                    .treeWrong, at: Int64(first), through: Int64(first + (1 << shift)) - 1, of: tile.path,
                    "the tile holds another hash than the entries make: an entry was altered together with its hash, or the tile was"
                ))
        }
    }

    /// Notes that what is above a node cannot be right either.
    private mutating func mark(_ index: UInt64, level: Int) {
        for above in (level + 1)..<8 {
            self.consequences[above, default: []].insert(index >> UInt64((above - level) * TileRoot.levelsPerTile))
        }
    }

    /// Notes that all the entries of a range are missing.
    mutating func miss(from first: Int64, through last: Int64) {
        self.findings.add(
            LedgerFinding(
                .positionMissing, at: first, through: last,
                "the audit stops here: so many bundles and tiles in a row are missing or malformed"))
        self.frontier = nil
        self.roots = nil
        self.events.miss(through: last)
    }

    /// Compares what was recomputed with the checkpoint.
    mutating func finish(_ checkpoint: Checkpoint) {
        if let frontier, frontier.root != checkpoint.root {
            self.findings.add(
                LedgerFinding(
                    .treeWrong, of: "checkpoint",
                    "the log's \(checkpoint.size) entries do not make the root of its checkpoint"))
        }
        for report in self.earlier where UInt64(report.position) > checkpoint.size {
            self.findings.add(
                LedgerFinding(
                    .historyRewritten, at: Int64(checkpoint.size), through: report.position - 1,
                    "the earlier checkpoint knew \(report.position) entries, and now there are \(checkpoint.size)"))
        }
        guard self.events.isSound, self.events.lastMissing < 0 else { return }
        let origin = self.events.state.log.origin
        if origin != checkpoint.origin {
            let said = origin.map { "say that it is \($0)" } ?? "do not say that a log was opened"
            self.findings.add(
                LedgerFinding(
                    .checkpointWrong, of: "checkpoint",
                    "the checkpoint is of the log \(checkpoint.origin), and the entries \(said)"))
        }
    }
}
