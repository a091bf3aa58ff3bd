import Testing
import TransparencyLog

@Suite struct `Merkle proofs` {
    private static let leaves = auditLeaves(64)

    @Test func `the classic proofs are the published ones`() throws {
        let tree = StoredTree(leaves: classicLeaves)
        #expect(
            try tree.inclusionProof(leafIndex: 5, treeSize: 8).hashes.map(\.description) == [
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        )
        #expect(
            try tree.consistencyProof(from: 6, to: 8).hashes.map(\.description) == [
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        )
        #expect(
            try tree.consistencyProof(from: 2, to: 5).hashes.map(\.description) == [
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            ]
        )
    }

    @Test func `the example log's consistency proof is the documented one`() throws {
        #expect(
            try StoredTree(leaves: auditLeaves(7)).consistencyProof(from: 3, to: 7).hashes.map(\.description) == [
                "8100b3cb605518f1a00388e27a507a986a1eec64ebe995a6f57a42c2692ac09e",
                "ea382d04123f3acb59ac0b5b9f495270ae800cf1520a87d8c25568a2c5e0a11a",
                "02105a2f1d5442ea0a1ae3e8319607160ebd8296be2ecf7fb83a7d7e1f54323c",
                "8cf155d5589551b58416a8bd31042d0ec44be53ef30094a697f9dc98d29eb028",
            ]
        )
    }

    @Test func `every proof up to size 64 is the reference's and verifies`() throws {
        let tree = StoredTree(leaves: Self.leaves)
        let roots = (0...64).map { Reference.root(Self.leaves[..<$0]) }
        for size in 1...64 {
            for index in 0..<size {
                let proof = try tree.inclusionProof(leafIndex: UInt64(index), treeSize: UInt64(size))
                #expect(proof.hashes == Reference.path(index, Self.leaves[..<size]))
                try proof.verify(leaf: Self.leaves[index], root: roots[size])
            }
            for old in 1...size {
                let proof = try tree.consistencyProof(from: UInt64(old), to: UInt64(size))
                #expect(proof.hashes == Reference.consistency(old, Self.leaves[..<size]))
                try proof.verify(oldRoot: roots[old], newRoot: roots[size])
            }
        }
    }

    private static let audited = auditLeaves(600)
    private static let roots = (0...600).map { MerkleTree.root(of: audited.prefix($0)) }

    @Test(arguments: [255, 256, 257, 511, 512, 513, 600])
    func `proofs across tile borders verify`(size: Int) throws {
        let (leaves, roots) = (Self.audited, Self.roots)
        let tree = StoredTree(leaves: leaves)
        for index in stride(from: 0, to: size, by: 7) {
            let proof = try tree.inclusionProof(leafIndex: UInt64(index), treeSize: UInt64(size))
            try proof.verify(leaf: leaves[index], root: roots[size])
        }
        for old in 1...size {
            let proof = try tree.consistencyProof(from: UInt64(old), to: UInt64(size))
            try proof.verify(oldRoot: roots[old], newRoot: roots[size])
        }
    }

    @Test func `a tree of three stored levels proves itself from tile roots`() throws {
        let leaves = (0..<70_000).map { MerkleTree.leafHash("\($0)".utf8) }
        let tree = StoredTree(leaves: leaves)
        let root = MerkleTree.root(of: leaves)
        var widest = 0
        for index in [0, 1, 255, 256, 65_535, 65_536, 69_888, 69_999] {
            let proof = try InclusionProof(leafIndex: UInt64(index), treeSize: 70_000) { level, indices in
                widest = max(widest, indices.count)
                return try tree.hashes(HashRange(level: level, indices: indices))
            }
            try proof.verify(leaf: leaves[index], root: root)
        }
        #expect(widest == 272)
        for old in [1, 2, 255, 256, 65_535, 65_536, 65_537, 69_999, 70_000] {
            let proof = try ConsistencyProof(from: UInt64(old), to: 70_000) { level, indices in
                try tree.hashes(HashRange(level: level, indices: indices))
            }
            try proof.verify(oldRoot: MerkleTree.root(of: leaves.prefix(old)), newRoot: root)
        }
    }

    @Test func `every single changed bit of a proof is refused`() throws {
        let tree = StoredTree(leaves: Self.leaves)
        let proof = try tree.inclusionProof(leafIndex: 37, treeSize: 61)
        let leaf = Self.leaves[37]
        let root = Reference.root(Self.leaves[..<61])
        for corrupted in flips(of: proof.hashes) {
            let forged = InclusionProof(leafIndex: 37, treeSize: 61, hashes: corrupted)
            #expect(throws: LogError.rootMismatch) { try forged.verify(leaf: leaf, root: root) }
        }
        for corrupted in flips(of: [leaf, root]) {
            #expect(throws: LogError.rootMismatch) { try proof.verify(leaf: corrupted[0], root: corrupted[1]) }
        }
        let growth = try tree.consistencyProof(from: 23, to: 61)
        let old = Reference.root(Self.leaves[..<23])
        for corrupted in flips(of: growth.hashes) {
            let forged = ConsistencyProof(oldSize: 23, newSize: 61, hashes: corrupted)
            #expect(throws: LogError.rootMismatch) { try forged.verify(oldRoot: old, newRoot: root) }
        }
        for corrupted in flips(of: [old, root]) {
            #expect(throws: LogError.rootMismatch) {
                try growth.verify(oldRoot: corrupted[0], newRoot: corrupted[1])
            }
        }
    }

    @Test func `a proof for another index, size or length is refused`() throws {
        let tree = StoredTree(leaves: Self.leaves)
        for size in 1...32 {
            let root = Reference.root(Self.leaves[..<size])
            for index in 0..<size {
                let proof = try tree.inclusionProof(leafIndex: UInt64(index), treeSize: UInt64(size))
                for other in 0..<size where other != index {
                    let forged = InclusionProof(leafIndex: UInt64(other), treeSize: UInt64(size), hashes: proof.hashes)
                    #expect(throws: LogError.self) { try forged.verify(leaf: Self.leaves[index], root: root) }
                }
                for hashes in [proof.hashes + [root], [root] + proof.hashes, Array(proof.hashes.dropLast())]
                where hashes != proof.hashes {
                    let forged = InclusionProof(leafIndex: UInt64(index), treeSize: UInt64(size), hashes: hashes)
                    #expect(throws: LogError.self) { try forged.verify(leaf: Self.leaves[index], root: root) }
                }
            }
        }
    }

    @Test func `sizes and indices out of range are errors, not traps`() throws {
        let tree = StoredTree(leaves: Self.leaves)
        let top = MerkleTree.maximumSize
        #expect(throws: LogError.leafOutsideTree(leafIndex: 0, treeSize: 0)) {
            try tree.inclusionProof(leafIndex: 0, treeSize: 0)
        }
        #expect(throws: LogError.leafOutsideTree(leafIndex: 9, treeSize: 9)) {
            try tree.inclusionProof(leafIndex: 9, treeSize: 9)
        }
        #expect(throws: LogError.self) { try tree.inclusionProof(leafIndex: 0, treeSize: 65) }
        #expect(throws: LogError.treeTooLarge(size: .max)) { try InclusionProof.plan(leafIndex: 0, treeSize: .max) }
        #expect(throws: LogError.sizesOutOfOrder(oldSize: 0, newSize: 4)) {
            try tree.consistencyProof(from: 0, to: 4)
        }
        #expect(throws: LogError.sizesOutOfOrder(oldSize: 5, newSize: 4)) {
            try tree.consistencyProof(from: 5, to: 4)
        }
        #expect(throws: LogError.treeTooLarge(size: .max)) { try ConsistencyProof.plan(from: 1, to: .max) }
        for index in [0, 1, top / 2, top - 1] {
            let plan = try InclusionProof.plan(leafIndex: index, treeSize: top)
            #expect(plan.ranges.allSatisfy { $0.indices.count <= 256 && $0.level.isMultiple(of: 8) })
        }
        for old in [1, 2, top / 2 + 1, top - 1] {
            #expect(try ConsistencyProof.plan(from: old, to: top).ranges.allSatisfy { $0.indices.count <= 256 })
        }
        #expect(try ConsistencyProof.plan(from: top, to: top).ranges.isEmpty)
        let root = MerkleTree.emptyRoot
        for size in [0, 1, top, UInt64.max - 1, .max] {
            for index in [0, 1, top - 1, top, UInt64.max - 1, .max] where !(size == 1 && index == 0) {
                for count in [0, 1, 63, 64, 65, 200] {
                    let hashes = Array(repeating: root, count: count)
                    #expect(throws: LogError.self) {
                        try InclusionProof(leafIndex: index, treeSize: size, hashes: hashes)
                            .verify(leaf: root, root: root)
                    }
                    guard size != index || size == 0 || count > 0 else { continue }
                    #expect(throws: LogError.self) {
                        try ConsistencyProof(oldSize: index, newSize: size, hashes: hashes)
                            .verify(oldRoot: root, newRoot: root)
                    }
                }
            }
        }
    }

    @Test func `a store that answers too little is an error`() throws {
        let plan = try InclusionProof.plan(leafIndex: 0, treeSize: 8)
        let range = try #require(plan.ranges.first)
        #expect(throws: LogError.missingHashes(range)) {
            try InclusionProof(leafIndex: 0, treeSize: 8, plan: plan, stored: [])
        }
        #expect(throws: LogError.missingHashes(range)) {
            try InclusionProof(leafIndex: 0, treeSize: 8) { _, _ in [] }
        }
    }

    /// Every list that differs from `hashes` in one bit.
    private func flips(of hashes: [LogHash]) -> [[LogHash]] {
        hashes.indices.flatMap { place in
            (0..<256).compactMap { bit in
                var bytes = hashes[place].bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                guard let flipped = LogHash(bytes) else { return nil }
                var changed = hashes
                changed[place] = flipped
                return changed
            }
        }
    }
}
