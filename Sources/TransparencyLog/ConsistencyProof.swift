/// A proof that a tree is the beginning of a larger one (RFC 6962 section 2.1.2, RFC 9162 section 2.1.4).
///
/// The old size is at least 1: every tree extends the empty one, so there is nothing to prove. A verifier that compares
/// with an empty log checks instead that its root is ``MerkleTree/emptyRoot``.
package struct ConsistencyProof: Hashable, Sendable {
    /// The size of the smaller tree, at least 1.
    package var oldSize: UInt64

    /// The size of the larger tree.
    package var newSize: UInt64

    /// The hashes from the bottom up: at most 64, none if the sizes are equal.
    package var hashes: [LogHash]

    /// Assembles a proof from elsewhere; nothing is checked before ``verify(oldRoot:newRoot:)``.
    package init(oldSize: UInt64, newSize: UInt64, hashes: [LogHash]) {
        self.oldSize = oldSize
        self.newSize = newSize
        self.hashes = hashes
    }

    /// Plans which stored hashes the proof needs; ``init(from:to:plan:stored:)`` makes it of them.
    ///
    /// - Throws: ``LogError/sizesOutOfOrder(oldSize:newSize:)``, ``LogError/treeTooLarge(size:)``.
    package static func plan(from oldSize: UInt64, to newSize: UInt64) throws(LogError) -> HashPlan {
        guard newSize <= MerkleTree.maximumSize else { throw .treeTooLarge(size: newSize) }
        guard 0 < oldSize, oldSize <= newSize else { throw .sizesOutOfOrder(oldSize: oldSize, newSize: newSize) }
        var parts: [Range<UInt64>] = []
        var tree = 0..<newSize
        while tree.upperBound != oldSize {
            let middle = tree.lowerBound + MerkleTree.split(tree.upperBound - tree.lowerBound)
            if oldSize <= middle {
                parts.append(middle..<tree.upperBound)
                tree = tree.lowerBound..<middle
            } else {
                parts.append(tree.lowerBound..<middle)
                tree = middle..<tree.upperBound
            }
        }
        // The old root itself is known to the verifier; only a part of the old tree has to be named.
        if tree.lowerBound != 0 {
            parts.append(tree)
        }
        return HashPlan(parts.reversed())
    }

    /// Makes the proof from what the store holds for each of the plan's ranges, in their order.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if the store gave another number of hashes.
    package init(from oldSize: UInt64, to newSize: UInt64, plan: HashPlan, stored: [[LogHash]]) throws(LogError) {
        self.init(oldSize: oldSize, newSize: newSize, hashes: try plan.results(from: stored))
    }

    /// Makes the proof, reading stored hashes through `read`, which is called once for each range needed.
    ///
    /// - Throws: ``LogError`` as ``plan(from:to:)`` does, and whatever `read` throws.
    package init(
        from oldSize: UInt64,
        to newSize: UInt64,
        read: (_ level: Int, _ indices: Range<UInt64>) throws -> [LogHash]
    ) throws {
        let plan = try Self.plan(from: oldSize, to: newSize)
        let stored = try plan.ranges.map { try read($0.level, $0.indices) }
        try self.init(from: oldSize, to: newSize, plan: plan, stored: stored)
    }

    /// Checks that the proof leads to both roots (RFC 9162 section 2.1.4.2).
    ///
    /// - Throws: ``LogError/sizesOutOfOrder(oldSize:newSize:)``, ``LogError/wrongProofLength`` or
    ///   ``LogError/rootMismatch``. Total: any proof may be given.
    package func verify(oldRoot: LogHash, newRoot: LogHash) throws(LogError) {
        guard 0 < self.oldSize, self.oldSize <= self.newSize else {
            throw .sizesOutOfOrder(oldSize: self.oldSize, newSize: self.newSize)
        }
        guard self.oldSize != self.newSize else {
            guard self.hashes.isEmpty else { throw .wrongProofLength }
            guard oldRoot == newRoot else { throw .rootMismatch }
            return
        }
        var path = ProofPath(node: self.oldSize - 1, last: self.newSize - 1)
        path.skipRightChildren()
        // A complete old tree is a node of the new one, and its hash is the root that the verifier already has.
        var rest = self.hashes[...]
        let isComplete = self.oldSize.nonzeroBitCount == 1
        guard !rest.isEmpty, let start = isComplete ? oldRoot : rest.popFirst() else { throw .wrongProofLength }
        var (old, new) = (start, start)
        for hash in rest {
            if try path.climb() == .left {
                old = MerkleTree.nodeHash(hash, old)
                new = MerkleTree.nodeHash(hash, new)
            } else {
                new = MerkleTree.nodeHash(new, hash)
            }
        }
        guard path.isAtRoot else { throw .wrongProofLength }
        guard old == oldRoot, new == newRoot else { throw .rootMismatch }
    }
}
