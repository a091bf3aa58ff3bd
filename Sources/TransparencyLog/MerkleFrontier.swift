/// The right edge of a Merkle tree: the data needed to append to it and to know its root.
///
/// It holds the root of one complete subtree for every bit set in ``size``, so never more than 64 hashes. The ledger's
/// head row keeps it as bytes beside the size.
package struct MerkleFrontier: Hashable, Sendable {
    /// The number of leaves appended so far.
    package private(set) var size: UInt64

    /// The roots of the complete subtrees, from left to right, which is from the largest to the smallest.
    package private(set) var subtreeRoots: [LogHash]

    /// The frontier of the tree without leaves.
    package init() {
        self.size = 0
        self.subtreeRoots = []
    }

    /// The frontier after appending every leaf hash of `leaves`.
    package init(leaves: some Sequence<LogHash>) {
        self.init()
        for leaf in leaves {
            self.append(leaf: leaf)
        }
    }

    /// Reads what ``encoded`` gave, for the size that was stored beside it.
    ///
    /// - Throws: ``LogError/malformedFrontier(size:byteCount:)`` unless there are 32 bytes for every bit set in `size`,
    ///   ``LogError/treeTooLarge(size:)`` beyond ``MerkleTree/maximumSize``. Wrong hashes of the right number cannot be
    ///   noticed here; the root they give can.
    package init(size: UInt64, encoded: some Collection<UInt8>) throws(LogError) {
        guard size <= MerkleTree.maximumSize else { throw .treeTooLarge(size: size) }
        let bytes = [UInt8](encoded)
        guard bytes.count == size.nonzeroBitCount * LogHash.byteCount else {
            throw .malformedFrontier(size: size, byteCount: bytes.count)
        }
        self.size = size
        self.subtreeRoots = stride(from: 0, to: bytes.count, by: LogHash.byteCount).compactMap { start in
            LogHash(bytes[start..<start + LogHash.byteCount])
        }
    }

    /// Makes a frontier of as many roots as `size` has bits set, as ``HashPlan`` assembles them.
    init(size: UInt64, subtreeRoots: [LogHash]) {
        self.size = size
        self.subtreeRoots = subtreeRoots
    }

    /// The hashes one after the other: 32 bytes for every bit set in ``size``.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.subtreeRoots.count * LogHash.byteCount)
        for root in self.subtreeRoots {
            root.withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The root of the whole tree; ``MerkleTree/emptyRoot`` at size 0.
    package var root: LogHash {
        guard var hash = self.subtreeRoots.last else { return MerkleTree.emptyRoot }
        for left in self.subtreeRoots.dropLast().reversed() {
            hash = MerkleTree.nodeHash(left, hash)
        }
        return hash
    }

    /// Appends one leaf hash and returns the completed nodes that are to be stored.
    ///
    /// Only interior nodes at levels 8, 16, 24, … are stored, the roots of full 256-wide tiles; every other node is at
    /// most 255 hashings away. Most appends complete none, one in 256 completes one.
    @discardableResult
    package mutating func append(leaf: LogHash) -> [TileRoot] {
        var completed: [TileRoot] = []
        var node = leaf
        // Appending is adding one in binary: every trailing 1 of the size is a subtree to be merged.
        for level in 0..<self.size.trailingOnes {
            node = MerkleTree.nodeHash(self.subtreeRoots.removeLast(), node)
            if (level + 1).isMultiple(of: TileRoot.levelsPerTile) {
                completed.append(TileRoot(level: level + 1, index: self.size >> UInt64(level + 1), hash: node))
            }
        }
        self.subtreeRoots.append(node)
        self.size += 1
        return completed
    }

    /// Appends a tree that stands alone: its number of leaves is a power of two, and its index a multiple of it.
    ///
    /// It does not return the nodes that this completes: it is for a reader that has hashed a stretch of leaves beside
    /// the fold, and not for a writer.
    ///
    /// - Returns: False, and nothing is appended, where the sizes do not fit.
    package mutating func append(subtree: MerkleFrontier) -> Bool {
        guard subtree.subtreeRoots.count == 1, let root = subtree.subtreeRoots.first,
            self.size.isMultiple(of: subtree.size)
        else { return false }
        var node = root
        for _ in 0..<(self.size / subtree.size).trailingOnes {
            node = MerkleTree.nodeHash(self.subtreeRoots.removeLast(), node)
        }
        self.subtreeRoots.append(node)
        self.size += subtree.size
        return true
    }
}

/// The root of a full tile, or of a full tile of tiles: an interior node that the ledger stores.
package struct TileRoot: Hashable, Sendable {
    /// The height of a tile (C2SP tlog-tiles): 2^8 = 256 hashes wide.
    package static let levelsPerTile = 8

    /// The level of the node above the leaves: 8, 16, 24, ….
    package var level: Int

    /// The index of the node within its level, from 0; it covers the leaves from `index << level` on.
    package var index: UInt64

    /// The node's hash.
    package var hash: LogHash

    /// Names a stored node.
    package init(level: Int, index: UInt64, hash: LogHash) {
        self.level = level
        self.index = index
        self.hash = hash
    }
}

extension UInt64 {
    /// The number of ones below the lowest zero.
    fileprivate var trailingOnes: Int {
        (~self).trailingZeroBitCount
    }
}
