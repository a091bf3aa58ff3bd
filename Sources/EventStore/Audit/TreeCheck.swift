import TransparencyLog

/// Compares leaf hashes with the stored nodes of the Merkle tree, tile by tile, so that damage in one place is named
/// there and nowhere else. A pure value.
///
/// Each leaf is known twice: hashed from its entry, and as recorded. Where the two differ the caller has reported it
/// already, and the tile counts as right if either makes its root. The remaining findings are entries that were changed
/// together with their hash, and nodes that were changed themselves.
struct TreeCheck: Sendable {
    /// One tile's or the head's leaves so far, by both readings.
    private struct Leaves {
        var first: Int64
        var hashed = MerkleFrontier()
        var recorded = MerkleFrontier()
        var isWhole = true
    }

    private static let width: Int64 = 256
    /// The stored nodes: level / 8 to index to hash.
    private let stored: [Int: [UInt64: LogHash]]
    private var tile = Leaves(first: 0)
    private var next: Int64 = 0
    private(set) var findings: [LedgerFinding] = []

    init(stored: [TileRoot]) {
        var levels: [Int: [UInt64: LogHash]] = [:]
        for root in stored { levels[root.level / TileRoot.levelsPerTile, default: [:]][root.index] = root.hash }
        self.stored = levels
    }

    /// Takes the leaf at `position`, which is not before the last one.
    mutating func take(position: Int64, hashed: LogHash, recorded: LogHash) {
        if position >= self.tile.first + Self.width { self.closeTile() }
        // A tile without any entry left is named by all its positions.
        if position >= self.tile.first + Self.width {
            self.tile = Leaves(first: position / Self.width * Self.width)
            self.next = self.tile.first
        }
        if position != self.next { self.tile.isWhole = false }
        self.tile.hashed.append(leaf: hashed)
        self.tile.recorded.append(leaf: recorded)
        self.next = position + 1
    }

    /// Takes the leaves from `position` on, which are as recorded and not before the last one.
    ///
    /// - Parameter subtree: The tree over them alone, where it is known.
    mutating func take(_ leaves: [LogHash], from position: Int64, subtree: MerkleFrontier?) {
        if let subtree, subtree.size == UInt64(Self.width), position.isMultiple(of: Self.width) {
            if position >= self.tile.first + Self.width { self.closeTile() }
            self.tile = Leaves(first: position, hashed: subtree, recorded: subtree)
            self.next = position + Self.width
        } else {
            for (place, leaf) in leaves.enumerated() {
                self.take(position: position + Int64(place), hashed: leaf, recorded: leaf)
            }
        }
    }

    private mutating func closeTile() {
        let end = self.tile.first + Self.width
        let index = UInt64(self.tile.first / Self.width)
        if self.next != end { self.tile.isWhole = false }
        let root = self.stored[1]?[index]
        if root == nil {
            self.findings.append(
                LedgerFinding(
                    .treeWrong, at: self.tile.first, through: end - 1, of: "tree_node",
                    "the root of the tile over positions \(self.tile.first) to \(end - 1) is not stored"
                )
            )
        } else if self.tile.isWhole, root != self.tile.hashed.root, root != self.tile.recorded.root {
            self.findings.append(
                LedgerFinding(
                    .treeWrong, at: self.tile.first, through: end - 1,
                    """
                    the entries at positions \(self.tile.first) to \(end - 1) do not make the stored root of their \
                    tile: an entry was changed together with its hash, or the root was
                    """
                )
            )
        }
        self.tile = Leaves(first: end)
        self.next = end
    }

    /// Compares the rest with the head: the tiles of tiles, and the right edge.
    mutating func finish(size: Int64, frontier: MerkleFrontier) {
        if size - self.tile.first >= Self.width { self.closeTile() }
        if self.next != size { self.tile.isWhole = false }
        self.checkUpperLevels(size: UInt64(size))
        guard frontier.size == UInt64(size) else { return }
        var first: UInt64 = 0
        for (bit, root) in zip(Self.bits(of: UInt64(size)), frontier.subtreeRoots) {
            let width = UInt64(1) << UInt64(bit)
            if !self.isRight(root, from: first, bit: bit) {
                self.findings.append(
                    LedgerFinding(
                        .treeWrong, at: Int64(first), through: Int64(first + width) - 1, of: "head",
                        """
                        the entries at positions \(first) to \(first + width - 1) do not make the hash that the head \
                        holds for them
                        """
                    )
                )
            }
            first += width
        }
    }

    /// Nodes above the tiles are judged by the stored nodes below them.
    private mutating func checkUpperLevels(size: UInt64) {
        for level in 1...7 {
            let count = size >> UInt64(8 * level)
            let nodes = self.stored[level] ?? [:]
            for index in nodes.keys.filter({ $0 >= count }).sorted() {
                self.findings.append(
                    LedgerFinding(
                        .treeWrong, of: "tree_node", "node \(index) of level \(8 * level) lies beyond the ledger's end")
                )
            }
            guard level > 1 else { continue }
            // Only nodes with a node below them: the loop does not count up to the ledger's end, which may be any
            // number.
            let below = self.stored[level - 1] ?? [:]
            for index in Set(below.keys.map { $0 / 256 }).sorted() where index < count {
                let below = (index * 256..<(index + 1) * 256).compactMap { below[$0] }
                let first = Int64(index << UInt64(8 * level))
                guard below.count == 256 else { continue }
                if nodes[index] != MerkleFrontier(leaves: below).root {
                    self.findings.append(
                        LedgerFinding(
                            .treeWrong, at: first, of: "tree_node",
                            "node \(index) of level \(8 * level) is not the root of the stored nodes below it"
                        )
                    )
                }
            }
        }
    }

    /// Whether `root` is that of the 2^bit leaves from `first` on. True where leaves are missing, which is reported
    /// already.
    private func isRight(_ root: LogHash, from first: UInt64, bit: Int) -> Bool {
        guard bit >= TileRoot.levelsPerTile else {
            guard self.tile.isWhole else { return true }
            // The last tile's own right edge has the same small subtrees as the head's.
            let place = Self.bits(of: self.tile.hashed.size).firstIndex(of: bit)
            guard let place else { return false }
            return root == self.tile.hashed.subtreeRoots[place] || root == self.tile.recorded.subtreeRoots[place]
        }
        let level = bit / TileRoot.levelsPerTile
        let shift = UInt64(8 * level)
        let range = (first >> shift)..<((first + 1 << UInt64(bit)) >> shift)
        let nodes = range.compactMap { self.stored[level]?[$0] }
        guard nodes.count == range.count else { return true }
        return MerkleFrontier(leaves: nodes).root == root
    }

    /// The set bits of a number, from the highest.
    private static func bits(of number: UInt64) -> [Int] {
        (0..<64).reversed().filter { number >> UInt64($0) & 1 == 1 }
    }
}
