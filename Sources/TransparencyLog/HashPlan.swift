/// A run of stored hashes: leaf hashes at level 0, tile roots at levels 8, 16, 24, ….
package struct HashRange: Hashable, Sendable {
    /// The stored level: a multiple of 8.
    package var level: Int

    /// The indices within the level, from 0; never empty.
    package var indices: Range<UInt64>

    /// Names a run; the store knows whether it exists.
    package init(level: Int, indices: Range<UInt64>) {
        self.level = level
        self.indices = indices
    }
}

/// Which stored hashes a proof needs, and how the proof is made of them.
///
/// Planning and computing are apart so that a store may fetch all ``ranges`` in one query, and so that neither touches
/// the store. A plan asks for fewer than 512 hashes at each stored level: what lies beside the leaf in its tile, and
/// the ragged right edge of the tree.
package struct HashPlan: Sendable {
    /// What to read, in ascending order, no two overlapping.
    package let ranges: [HashRange]

    // Each result is the hash over the complete subtrees of one part, from left to right.
    private let parts: [[Subtree]]

    /// Plans one result hash for every interval of leaves, none of which may be empty, and each of which starts where
    /// a complete subtree of its own width may start.
    init(_ intervals: [Range<UInt64>]) {
        self.parts = intervals.map(Subtree.covering)
        self.ranges = Self.merge(self.parts.joined().map(\.stored))
    }

    /// Plans the root of the first `size` leaves, which are at least one.
    ///
    /// - Throws: ``LogError/sizesOutOfOrder(oldSize:newSize:)`` for none, ``LogError/treeTooLarge(size:)``.
    package static func root(ofFirst size: UInt64) throws(LogError) -> HashPlan {
        guard size <= MerkleTree.maximumSize else { throw .treeTooLarge(size: size) }
        guard size > 0 else { throw .sizesOutOfOrder(oldSize: 0, newSize: 0) }
        return HashPlan([0..<size])
    }

    /// Computes the root that ``root(ofFirst:)`` planned.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if a run does not have as many hashes as its range.
    package func root(from stored: [[LogHash]]) throws(LogError) -> LogHash {
        try self.results(from: stored).first ?? MerkleTree.emptyRoot
    }

    /// Computes the results from what the store holds for each of ``ranges``, in the same order.
    ///
    /// - Throws: ``LogError/missingHashes(_:)`` if a run does not have as many hashes as its range.
    func results(from stored: [[LogHash]]) throws(LogError) -> [LogHash] {
        var results: [LogHash] = []
        for subtrees in try self.subtreeRoots(from: stored) {
            var subtrees = subtrees
            guard var hash = subtrees.popLast() else { continue }
            while let left = subtrees.popLast() {
                hash = MerkleTree.nodeHash(left, hash)
            }
            results.append(hash)
        }
        return results
    }

    /// Computes the roots of the complete subtrees of every part.
    func subtreeRoots(from stored: [[LogHash]]) throws(LogError) -> [[LogHash]] {
        for (offset, range) in self.ranges.enumerated() {
            guard stored.indices.contains(offset), stored[offset].count == range.indices.count else {
                throw .missingHashes(range)
            }
        }
        var results: [[LogHash]] = []
        for part in self.parts {
            var roots: [LogHash] = []
            for subtree in part {
                roots.append(try self.root(of: subtree, from: stored))
            }
            results.append(roots)
        }
        return results
    }

    private func root(of subtree: Subtree, from stored: [[LogHash]]) throws(LogError) -> LogHash {
        let wanted = subtree.stored
        for (range, hashes) in zip(self.ranges, stored) where range.level == wanted.level {
            guard range.indices.lowerBound <= wanted.indices.lowerBound,
                wanted.indices.upperBound <= range.indices.upperBound
            else { continue }
            let start = Int(wanted.indices.lowerBound - range.indices.lowerBound)
            var level = Array(hashes[start..<start + wanted.indices.count])
            while level.count > 1 {
                level = stride(from: 0, to: level.count, by: 2).map { MerkleTree.nodeHash(level[$0], level[$0 + 1]) }
            }
            if let root = level.first { return root }
        }
        throw .missingHashes(wanted)
    }

    /// Joins ranges that touch or overlap, so that each hash is read once.
    private static func merge(_ ranges: [HashRange]) -> [HashRange] {
        let ascending = ranges.sorted {
            ($0.level, $0.indices.lowerBound) < ($1.level, $1.indices.lowerBound)
        }
        var merged: [HashRange] = []
        for range in ascending {
            if let last = merged.last, last.level == range.level, range.indices.lowerBound <= last.indices.upperBound {
                let end = max(last.indices.upperBound, range.indices.upperBound)
                merged[merged.count - 1].indices = last.indices.lowerBound..<end
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// A complete subtree: 2^level leaves from `index << level` on.
private struct Subtree: Sendable {
    var level: Int
    var index: UInt64

    /// The stored hashes it is made of: the nearest stored level below it, at most 128 hashes.
    var stored: HashRange {
        let above = level % TileRoot.levelsPerTile
        let start = self.index << UInt64(above)
        return HashRange(level: self.level - above, indices: start..<start + (1 << UInt64(above)))
    }

    /// The complete subtrees of an interval, from left to right, as RFC 6962 splits it.
    static func covering(_ interval: Range<UInt64>) -> [Subtree] {
        var subtrees: [Subtree] = []
        var start = interval.lowerBound
        while start < interval.upperBound {
            let level = 63 - (interval.upperBound - start).leadingZeroBitCount
            subtrees.append(Subtree(level: level, index: start >> UInt64(level)))
            start += 1 << UInt64(level)
        }
        return subtrees
    }
}
