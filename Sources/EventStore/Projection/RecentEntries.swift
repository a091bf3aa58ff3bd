package import TransparencyLog

/// The last entries that a node has taken in, held in memory until they are kept outside the database: the database may lose them
/// in the moment after they were recorded.
package struct RecentEntries: Sendable {
    /// The right edge of the tree before the first entry.
    package private(set) var start: MerkleFrontier
    /// The entries as they are hashed.
    package private(set) var entries: [[UInt8]] = []
    private var size = 0
    private let sizeLimit: Int

    /// - Parameter sizeLimit: The most bytes of entries, above which the older half is dropped.
    init(after start: MerkleFrontier, sizeLimit: Int = 16 << 20) {
        self.start = start
        self.sizeLimit = sizeLimit
    }

    /// Takes in the entries between two ends of the ledger.
    ///
    /// - Parameter new: The entries; nil where they were not held when they were read, so that this begins again behind them.
    mutating func take(_ new: [[UInt8]]?, from base: Head, to end: Head) {
        guard let new, base.position == Int64(self.start.size) + Int64(self.entries.count),
            end.position == base.position + Int64(new.count)
        else {
            self = RecentEntries(after: end.frontier, sizeLimit: self.sizeLimit)
            return
        }
        self.entries += new
        self.size += new.reduce(0) { $0 + $1.count }
        guard self.size > self.sizeLimit else { return }
        var rest = self.size - self.sizeLimit / 2
        let older = self.entries.prefix { entry in
            defer { rest -= entry.count }
            return rest > 0
        }
        var start = self.start
        for entry in older { start.append(leaf: MerkleTree.leafHash(entry)) }
        self.drop(older.count, before: start)
    }

    /// Drops the entries before `end`, which are kept elsewhere.
    mutating func drop(before end: MerkleFrontier) {
        guard end.size > self.start.size else { return }
        let count = end.size - self.start.size
        guard count <= UInt64(self.entries.count) else { return }
        self.drop(Int(count), before: end)
    }

    private mutating func drop(_ count: Int, before start: MerkleFrontier) {
        self.size -= self.entries.prefix(count).reduce(0) { $0 + $1.count }
        self.entries.removeFirst(count)
        self.start = start
    }
}

extension Ledger {
    /// The parts of a node's ledger that are kept outside the database, of one moment.
    package struct Recollection: Sendable {
        package var view: LedgerView
        package var fault: LedgerFault?
        /// The entries that end at the view; nil where they are not held.
        package var recent: RecentEntries?
    }
}
