/// A proof that a leaf is in a tree at an index (RFC 6962 section 2.1.1, RFC 9162 section 2.1.3).
package struct InclusionProof: Hashable, Sendable {
    /// The leaf's index, from 0.
    package var leafIndex: UInt64

    /// The size of the tree the proof leads into.
    package var treeSize: UInt64

    /// The hashes beside the path from the leaf up to the root, from the bottom: at most 63.
    package var hashes: [LogHash]

    /// Assembles a proof from elsewhere; nothing is checked before ``verify(leaf:root:)``.
    package init(leafIndex: UInt64, treeSize: UInt64, hashes: [LogHash]) {
        self.leafIndex = leafIndex
        self.treeSize = treeSize
        self.hashes = hashes
    }

    /// Plans which stored hashes the proof needs; ``init(leafIndex:treeSize:plan:stored:)`` makes it of them.
    ///
    /// - Throws: ``LogError/leafOutsideTree(leafIndex:treeSize:)``, ``LogError/treeTooLarge(size:)``.
    package static func plan(leafIndex: UInt64, treeSize: UInt64) throws(LogError) -> HashPlan {
        guard treeSize <= MerkleTree.maximumSize else { throw .treeTooLarge(size: treeSize) }
        guard leafIndex < treeSize else { throw .leafOutsideTree(leafIndex: leafIndex, treeSize: treeSize) }
        var siblings: [Range<UInt64>] = []
        var tree = 0..<treeSize
        while tree.upperBound - tree.lowerBound > 1 {
            let middle = tree.lowerBound + MerkleTree.split(tree.upperBound - tree.lowerBound)
            if leafIndex < middle {
                siblings.append(middle..<tree.upperBound)
                tree = tree.lowerBound..<middle
            } else {
                siblings.append(tree.lowerBound..<middle)
                tree = middle..<tree.upperBound
            }
        }
        return HashPlan(siblings.reversed())
    }

    /// Makes the proof from what the store holds for each of the plan's ranges, in their order.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if the store gave another number of hashes.
    package init(leafIndex: UInt64, treeSize: UInt64, plan: HashPlan, stored: [[LogHash]]) throws(LogError) {
        self.init(leafIndex: leafIndex, treeSize: treeSize, hashes: try plan.results(from: stored))
    }

    /// Makes the proof, reading stored hashes through `read`, which is called once for each range needed.
    ///
    /// - Throws: ``LogError`` as ``plan(leafIndex:treeSize:)`` does, and whatever `read` throws.
    package init(
        leafIndex: UInt64,
        treeSize: UInt64,
        read: (_ level: Int, _ indices: Range<UInt64>) throws -> [LogHash]
    ) throws {
        let plan = try Self.plan(leafIndex: leafIndex, treeSize: treeSize)
        let stored = try plan.ranges.map { try read($0.level, $0.indices) }
        try self.init(leafIndex: leafIndex, treeSize: treeSize, plan: plan, stored: stored)
    }

    /// Checks that the proof leads from `leaf`, a leaf hash, to `root` (RFC 9162 section 2.1.3.2).
    ///
    /// - Throws: ``LogError/leafOutsideTree(leafIndex:treeSize:)``, ``LogError/wrongProofLength`` or
    ///   ``LogError/rootMismatch``. Total: any proof may be given.
    package func verify(leaf: LogHash, root: LogHash) throws(LogError) {
        guard self.leafIndex < self.treeSize else {
            throw .leafOutsideTree(leafIndex: self.leafIndex, treeSize: self.treeSize)
        }
        var path = ProofPath(node: self.leafIndex, last: self.treeSize - 1)
        var hash = leaf
        for sibling in self.hashes {
            hash = try path.climb() == .left ? MerkleTree.nodeHash(sibling, hash) : MerkleTree.nodeHash(hash, sibling)
        }
        guard path.isAtRoot else { throw .wrongProofLength }
        guard hash == root else { throw .rootMismatch }
    }
}

/// The path from a node up to the root, computed from the numbers alone: `fn` and `sn` of RFC 9162 section 2.1.3.2.
struct ProofPath {
    /// The side of the path on which the next hash of the proof stands.
    enum Side {
        case left, right
    }

    private var node: UInt64
    private var last: UInt64

    /// Starts at `node` in a tree whose last node of that level is `last`.
    init(node: UInt64, last: UInt64) {
        self.node = node
        self.last = last
    }

    /// Whether no hash is missing any more.
    var isAtRoot: Bool { self.last == 0 }

    /// Skips the levels where the node is a right child, as a consistency proof starts at a complete subtree.
    mutating func skipRightChildren() {
        while !self.node.isMultiple(of: 2) {
            self.ascend()
        }
    }

    /// Consumes one hash of the proof and goes up to the next node that needs one.
    ///
    /// - Throws: ``LogError/wrongProofLength`` if the root has been reached already.
    mutating func climb() throws(LogError) -> Side {
        guard self.last != 0 else { throw .wrongProofLength }
        var side = Side.right
        if !self.node.isMultiple(of: 2) || self.node == self.last {
            side = .left
            // A last node without a right sibling rises until it is a right child.
            while self.node.isMultiple(of: 2), self.node != 0 {
                self.ascend()
            }
        }
        self.ascend()
        return side
    }

    private mutating func ascend() {
        self.node >>= 1
        self.last >>= 1
    }
}
