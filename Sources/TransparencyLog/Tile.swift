/// The coordinate of a tile or an entry bundle of the log (C2SP tlog-tiles).
///
/// A full tile is 256 hashes, 8,192 bytes. A partial one is named by its width and replaced by the full one when the
/// tree has grown; both are immutable.
package struct Tile: Hashable, Sendable {
    /// The contents of a tile.
    package enum Content: Hashable, Sendable {
        /// Hashes of level `8 × level` of the tree, level being 0 to 63.
        case hashes(level: Int)
        /// The entries themselves, each after its length.
        case entries
    }

    /// The number of hashes or entries of a full tile.
    package static let fullWidth = 256

    /// The contents of the tile.
    package let content: Content

    /// The tile's index among its kind, from 0.
    package let index: UInt64

    /// The number of hashes or entries: 1 to 256.
    package let width: Int

    /// Names a tile; `nil` for a level outside 0…63, a width outside 1…256, or an index beyond any tree's.
    package init?(_ content: Content, index: UInt64, width: Int = Tile.fullWidth) {
        if case .hashes(let level) = content, !(0...63).contains(level) { return nil }
        guard (1...Self.fullWidth).contains(width), index <= Self.maximumIndex else { return nil }
        self.content = content
        self.index = index
        self.width = width
    }

    /// The largest index of a tile whose last leaf is inside ``MerkleTree/maximumSize``.
    private static let maximumIndex = MerkleTree.maximumSize / UInt64(fullWidth) - 1

    /// Whether the tile has fewer hashes than a full one.
    package var isPartial: Bool { self.width < Self.fullWidth }

    /// The most bytes that its file may have.
    package var maximumByteCount: Int {
        switch self.content {
        case .hashes: self.width * LogHash.byteCount
        case .entries: self.width * (2 + EntryBundle.maximumEntrySize)
        }
    }

    /// The stored hashes that the tile is made of; for a bundle, the leaf hashes of its entries.
    package var hashes: HashRange {
        let start = self.index * UInt64(Self.fullWidth)
        return HashRange(level: self.level * TileRoot.levelsPerTile, indices: start..<start + UInt64(self.width))
    }

    /// Whether a tree of this size has all of the tile's contents. Anything else is "not found".
    package func isCovered(by treeSize: UInt64) -> Bool {
        self.hashes.indices.upperBound <= Self.nodeCount(level: self.level, treeSize: treeSize)
    }

    /// The number of full tiles of a tile level in a tree.
    package static func fullCount(level: Int, treeSize: UInt64) -> UInt64 {
        self.nodeCount(level: level, treeSize: treeSize) / UInt64(self.fullWidth)
    }

    /// The width of the partial tile after the full ones; 0 means that there is none and none is served.
    package static func partialWidth(level: Int, treeSize: UInt64) -> Int {
        Int(self.nodeCount(level: level, treeSize: treeSize) % UInt64(self.fullWidth))
    }

    /// The tiles, or bundles, of one kind in a tree: full ones, then the partial one. Made one by one: the size may be any
    /// number.
    package static func all(_ content: Content, of treeSize: UInt64) -> some Sequence<Tile> {
        let level = if case .hashes(let level) = content { level } else { 0 }
        let full = self.fullCount(level: level, treeSize: treeSize)
        let hasPartial = self.partialWidth(level: level, treeSize: treeSize) > 0
        return (0..<full + (hasPartial ? 1 : 0)).lazy.compactMap { Tile(content, index: $0, of: treeSize) }
    }

    /// The tile or bundle with that index, as wide as it is in a tree of that size; nil where the tree has none.
    package init?(_ content: Content, index: UInt64, of treeSize: UInt64) {
        let level = if case .hashes(let level) = content { level } else { 0 }
        let full = Self.fullCount(level: level, treeSize: treeSize)
        let partial = Self.partialWidth(level: level, treeSize: treeSize)
        guard index < full || (index == full && partial > 0) else { return nil }
        self.init(content, index: index, width: index < full ? Self.fullWidth : partial)
    }

    /// The number of complete nodes at a tile level: floor(treeSize / 256^level).
    private static func nodeCount(level: Int, treeSize: UInt64) -> UInt64 {
        // Shifting by 64 bits or more gives 0, which is what a level beyond any tree holds.
        (0...63).contains(level) ? treeSize >> UInt64(level * TileRoot.levelsPerTile) : 0
    }

    private var level: Int {
        switch self.content {
        case .hashes(let level): level
        case .entries: 0
        }
    }
}

extension Tile {
    /// The path below the log's prefix, such as `tile/0/x001/x234/067` or `tile/entries/000.p/7`.
    package var path: String {
        var groups: [String] = []
        var rest = self.index
        repeat {
            let digits = String(rest % 1000)
            groups.append(String(repeating: "0", count: 3 - digits.count) + digits)
            rest /= 1000
        } while rest > 0
        let index = groups.enumerated().reversed().map { $0.offset == 0 ? $0.element : "x" + $0.element }
        let kind =
            switch self.content {
            case .hashes(let level): String(level)
            case .entries: "entries"
            }
        let partial = self.isPartial ? ".p/\(self.width)" : ""
        return "tile/\(kind)/" + index.joined(separator: "/") + partial
    }

    /// Reads a path; `nil` unless it is exactly what ``path`` writes, so that every tile has one address.
    package init?(path: some StringProtocol) {
        // Longer than any path there is: nothing below works on more.
        guard path.utf8.count <= 64 else { return nil }
        var parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 3, parts.removeFirst() == "tile" else { return nil }
        let kind = parts.removeFirst()
        guard let content: Content = kind == "entries" ? .entries : Int(kind).map({ .hashes(level: $0) }) else {
            return nil
        }
        var width = Self.fullWidth
        if parts.count >= 2, parts[parts.count - 2].hasSuffix(".p") {
            guard let partial = Int(parts.removeLast()), partial < Self.fullWidth else { return nil }
            width = partial
            parts[parts.count - 1].removeLast(2)
        }
        var index: UInt64 = 0
        for part in parts {
            let digits = part.hasPrefix("x") ? part.dropFirst() : part
            guard digits.utf8.count == 3, let group = UInt64(digits) else { return nil }
            let (scaled, overflow) = index.multipliedReportingOverflow(by: 1000)
            let (sum, carry) = scaled.addingReportingOverflow(group)
            guard !overflow, !carry else { return nil }
            index = sum
        }
        self.init(content, index: index, width: width)
        // Catches signs, leading zeros, misplaced x groups and digits that are not ASCII.
        guard self.path == String(path) else { return nil }
    }
}
