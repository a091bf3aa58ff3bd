/// A Merkle tree in memory that holds the hashes that the ledger stores: leaf hashes and tile roots, nothing between.
///
/// For exports, offline verification and tests; the server plans with ``HashPlan`` and reads from the database.
package struct StoredTree: Sendable {
    /// The right edge after the last leaf.
    package private(set) var frontier = MerkleFrontier()

    // One array for each stored level: 0, 8, 16, ….
    private var levels: [[LogHash]] = [[]]

    /// A tree of these leaf hashes.
    package init(leaves: some Sequence<LogHash> = []) {
        for leaf in leaves {
            self.append(leaf: leaf)
        }
    }

    /// Appends one leaf hash.
    package mutating func append(leaf: LogHash) {
        self.levels[0].append(leaf)
        for root in self.frontier.append(leaf: leaf) {
            let level = root.level / TileRoot.levelsPerTile
            if level == self.levels.count {
                self.levels.append([])
            }
            self.levels[level].append(root.hash)
        }
    }

    /// The number of leaves.
    package var size: UInt64 { self.frontier.size }

    /// The stored hashes of a range.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if the tree has not grown so far, or the level is not a stored one.
    package func hashes(_ range: HashRange) throws(LogError) -> [LogHash] {
        let (level, above) = range.level.quotientAndRemainder(dividingBy: TileRoot.levelsPerTile)
        guard above == 0, self.levels.indices.contains(level),
            range.indices.upperBound <= UInt64(self.levels[level].count)
        else { throw .missingHashes(range) }
        return Array(self.levels[level][Int(range.indices.lowerBound)..<Int(range.indices.upperBound)])
    }

    /// The frontier the tree had at an earlier size, and with it the root.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if the tree is smaller than `size`.
    package func frontier(at size: UInt64) throws(LogError) -> MerkleFrontier {
        let plan = try MerkleFrontier.plan(size: size)
        return try MerkleFrontier(size: size, plan: plan, stored: self.read(plan))
    }

    /// Proves that a leaf is in the tree as it was at `treeSize`.
    ///
    /// - Throws: ``LogError`` for an index outside the tree or a size beyond it.
    package func inclusionProof(leafIndex: UInt64, treeSize: UInt64) throws(LogError) -> InclusionProof {
        let plan = try InclusionProof.plan(leafIndex: leafIndex, treeSize: treeSize)
        return try InclusionProof(leafIndex: leafIndex, treeSize: treeSize, plan: plan, stored: self.read(plan))
    }

    /// Proves that the tree at `newSize` extends the tree at `oldSize`.
    ///
    /// - Throws: ``LogError`` for sizes out of order, zero, or beyond the tree.
    package func consistencyProof(from oldSize: UInt64, to newSize: UInt64) throws(LogError) -> ConsistencyProof {
        let plan = try ConsistencyProof.plan(from: oldSize, to: newSize)
        return try ConsistencyProof(from: oldSize, to: newSize, plan: plan, stored: self.read(plan))
    }

    private func read(_ plan: HashPlan) throws(LogError) -> [[LogHash]] {
        var stored: [[LogHash]] = []
        for range in plan.ranges {
            stored.append(try self.hashes(range))
        }
        return stored
    }
}

extension MerkleFrontier {
    /// Plans which stored hashes the frontier of a tree at an earlier size needs.
    ///
    /// - Throws: ``LogError/treeTooLarge(size:)``.
    package static func plan(size: UInt64) throws(LogError) -> HashPlan {
        guard size <= MerkleTree.maximumSize else { throw .treeTooLarge(size: size) }
        return HashPlan(size == 0 ? [] : [0..<size])
    }

    /// Makes the frontier from what the store holds for each of the plan's ranges, in their order.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if the store gave another number of hashes.
    package init(size: UInt64, plan: HashPlan, stored: [[LogHash]]) throws(LogError) {
        self.init(size: size, subtreeRoots: try plan.subtreeRoots(from: stored).first ?? [])
    }
}
