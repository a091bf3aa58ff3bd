import PinWire
import Pinning
import Postgres
import TransparencyLog

/// A stretch of the ledger as it was read: every entry has the hash recorded for it, and is one that this program knows.
///
/// Pages are made beside the fold, several at a time: all work that does not depend on earlier pages is done here.
struct LedgerPage: Sendable {
    private(set) var steps: [ReplayedEvent] = []
    /// The leaf hashes of ``steps``.
    private(set) var leaves: [LogHash] = []
    /// The entries of ``steps`` as they are hashed; none where they are not held.
    private(set) var entries: [[UInt8]] = []
    /// The tree over ``leaves`` alone, where they are a power of two.
    private(set) var subtree: MerkleFrontier?
    /// The error that stopped the reading after ``steps``.
    private(set) var fault: LedgerFault?

    /// The columns that a page is read from.
    static let columns = "position, entry, leaf_hash"

    /// Reads rows of ``columns``.
    ///
    /// - Parameters:
    ///   - level: The highest ``FeatureLevel`` that the program knows.
    ///   - holdsEntries: Whether ``entries`` are wanted.
    init(_ rows: PostgresRows, knowing level: Int64, holdsEntries: Bool = false) {
        self.steps.reserveCapacity(rows.count)
        self.leaves.reserveCapacity(rows.count)
        var names = RecentNames()
        rows.withCells { cells in
            for row in 0..<cells.count {
                do throws(LedgerFault) { try self.take(row, of: cells, &names, knowing: level) } catch {
                    self.fault = error
                    return
                }
                if holdsEntries, let entry = cells[row, 1] { self.entries.append(Array(entry)) }
            }
        }
        let count = self.leaves.count
        if count > 1, count & (count - 1) == 0 { self.subtree = MerkleFrontier(leaves: self.leaves) }
    }

    private mutating func take(
        _ row: Int, of cells: PostgresCells, _ names: inout RecentNames, knowing level: Int64
    ) throws(LedgerFault) {
        guard let position = cells.int64(row, 0) else { throw .unreadable(position: -1, "it has no position") }
        guard let entry = cells[row, 1], let recorded = cells[row, 2] else {
            throw .unreadable(position: position, "it is not there")
        }
        guard !entry.isEmpty else { throw .pruned(position: position, file: nil) }
        let hash = MerkleTree.leafHash(entry)
        guard hash == LogHash(bytes: recorded) else { throw .leafHash(position: position) }
        let step: ReplayedEvent
        do { step = try ReplayedEvent(bytes: entry, names: &names) } catch {
            if let later = LaterProgram(unread: Array(entry)) { throw .needsUpgrade(position: position, later) }
            throw .unreadable(position: position, error.description)
        }
        guard step.position == position else { throw .leafHash(position: position) }
        if case .fleet(.featureLevelRaised(let raised)) = step.event, raised > level {
            throw .needsUpgrade(position: position, .featureLevel(raised, known: level))
        }
        self.steps.append(step)
        self.leaves.append(hash)
    }
}

extension LedgerView {
    /// Takes in a page of the entries before `head`, which this view has not reached.
    ///
    /// - Throws: ``LedgerFault`` where it does not fit, or is empty.
    mutating func apply(_ page: LedgerPage, before head: Head) throws(LedgerFault) {
        try self.apply(page)
        guard !page.steps.isEmpty else { throw .position(expected: self.head.position, found: head.position) }
    }

    /// Takes in a page that begins where the view ends.
    ///
    /// - Throws: ``LedgerFault`` where it does not fit. The view is then unusable: a caller that needs the earlier one
    ///   keeps a copy. Only after ``LedgerFault/needsUpgrade(position:_:)`` it is the one before that position.
    mutating func apply(_ page: LedgerPage) throws(LedgerFault) {
        for step in page.steps {
            guard step.position == self.head.position else {
                throw .position(expected: self.head.position, found: step.position)
            }
            guard step.time >= self.head.lastTime else { throw .time(position: step.position) }
            switch self.state.apply(step.event, of: step.stream, version: step.streamVersion, at: step.effectiveAt) {
            case .applied: break
            case .notNext: throw .streamVersion(position: step.position)
            case .unfit: throw .unfit(position: step.position)
            }
            self.head.position += 1
            self.head.lastTime = step.time
        }
        if let subtree = page.subtree, self.head.frontier.append(subtree: subtree) {
            // All of them at once.
        } else {
            for leaf in page.leaves { self.head.frontier.append(leaf: leaf) }
        }
        self.lastLeaf = page.leaves.last ?? self.lastLeaf
        if let fault = page.fault { throw fault }
    }
}
