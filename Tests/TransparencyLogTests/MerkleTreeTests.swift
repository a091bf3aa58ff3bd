import Testing
import TransparencyLog

@Suite struct `Merkle tree` {
    static let classicRoots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]

    static let auditRoots = [
        (1, "4f481c0a7d333f315d8ed18a21d70049107f49469b238611e5de2746e3ed74ec"),
        (7, "bfd4ea717915b7519cdeeb73e0111fe0dc27a6a6baa2046e82d26a24e84f23c8"),
        (255, "3b71cf837cdeab83486ad9f66ad00cd86e70fe45a508f1e1dd158372defc002d"),
        (256, "137deaa6967aba42d0fb082ae969d6fdebf821527a15c226a9d7f84ac39b3884"),
        (257, "5895fb1df32742f86901ab16a8845aa58523b035e85e1cd0ec53562d67c0d382"),
        (300, "beed060c023e3ba07e2324bfb58b8bbd5f77db95fd4c2622ad2690c91a3fc98f"),
    ]

    @Test(arguments: zip(0...8, classicRoots))
    func `the classic tree has the published root at every size`(size: Int, root: String) {
        #expect(MerkleTree.root(of: classicLeaves.prefix(size)).description == root)
    }

    @Test func `the leaves and nodes of a Merkle tree are hashed with their own prefix`() {
        #expect(
            MerkleTree.leafHash(Array("L123456".utf8)).description
                == "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
        )
        // The published node vector hashes the texts "N123" and "N456", which are no hashes and cannot be given here;
        // the two-leaf root stands for it.
        #expect(
            MerkleTree.nodeHash(classicLeaves[0], classicLeaves[1]).description == Self.classicRoots[2]
        )
    }

    @Test(arguments: auditRoots)
    func `the example log has the documented root`(size: Int, root: String) {
        #expect(MerkleTree.root(of: auditLeaves(size)).description == root)
    }

    @Test func `a hash is exactly 32 bytes`() {
        for count in 0...70 where count != 32 {
            #expect(LogHash(Array(repeating: UInt8(7), count: count)) == nil)
        }
        let bytes = (0..<32).map { UInt8($0) }
        #expect(LogHash(bytes)?.bytes == bytes)
    }

    @Test func `the frontier gives the root of every size up to 600`() throws {
        let leaves = auditLeaves(600)
        var frontier = MerkleFrontier()
        for (size, leaf) in leaves.enumerated() {
            #expect(frontier.root == Reference.root(leaves[..<size]))
            #expect(frontier.subtreeRoots.count == frontier.size.nonzeroBitCount)
            frontier.append(leaf: leaf)
            #expect(try MerkleFrontier(size: frontier.size, encoded: frontier.encoded) == frontier)
        }
    }

    @Test func `a frontier of the wrong number of bytes is refused`() {
        let encoded = MerkleFrontier(leaves: auditLeaves(7)).encoded
        #expect(encoded.count == 96)
        for count in 0..<encoded.count {
            #expect(throws: LogError.malformedFrontier(size: 7, byteCount: count)) {
                try MerkleFrontier(size: 7, encoded: encoded.prefix(count))
            }
        }
        #expect(throws: LogError.malformedFrontier(size: 8, byteCount: 96)) {
            try MerkleFrontier(size: 8, encoded: encoded)
        }
        #expect(throws: LogError.treeTooLarge(size: .max)) { try MerkleFrontier(size: .max, encoded: []) }
    }

    @Test func `the largest tree still decodes, gives a root and grows`() throws {
        let hash = MerkleTree.emptyRoot
        var largest = try MerkleFrontier(size: MerkleTree.maximumSize, encoded: hash.bytes)
        #expect(largest.root == hash)
        #expect(largest.append(leaf: hash).isEmpty)
        #expect(largest.root == MerkleTree.nodeHash(hash, hash))

        let bytes = Array(repeating: hash.bytes, count: 63).flatMap { $0 }
        var full = try MerkleFrontier(size: MerkleTree.maximumSize - 1, encoded: bytes)
        #expect(full.append(leaf: hash).map(\.level) == [8, 16, 24, 32, 40, 48, 56])
        #expect(full.subtreeRoots.count == 1)
    }

    @Test func `appending names the tile roots it completes`() {
        let leaves = (0..<65_537).map { MerkleTree.leafHash("\($0)".utf8) }
        var frontier = MerkleFrontier()
        var roots: [TileRoot] = []
        for leaf in leaves {
            roots.append(contentsOf: frontier.append(leaf: leaf))
        }
        let tiles = roots.filter { $0.level == 8 }
        #expect(tiles.map(\.index) == Array(0..<256))
        for (index, tile) in tiles.enumerated() {
            #expect(tile.hash == MerkleTree.root(of: leaves[index * 256..<(index + 1) * 256]))
        }
        let top = TileRoot(level: 16, index: 0, hash: MerkleTree.root(of: leaves.prefix(65_536)))
        #expect(roots.filter { $0.level == 16 } == [top])
        #expect(roots.count == 257)
    }

    @Test func `a subtree is appended whole where it fits, and else not at all`() throws {
        let leaves = auditLeaves(64)
        for start in 0...32 {
            for count in 0...16 {
                let subtree = MerkleFrontier(leaves: leaves[start..<(start + count)])
                var frontier = MerkleFrontier(leaves: leaves.prefix(start))
                let before = frontier
                let fits = count > 0 && count.nonzeroBitCount == 1 && start.isMultiple(of: count)
                #expect(frontier.append(subtree: subtree) == fits)
                #expect(frontier == (fits ? MerkleFrontier(leaves: leaves.prefix(start + count)) : before))
            }
        }
    }

    @Test func `an earlier frontier is rebuilt from what is stored`() throws {
        let leaves = auditLeaves(600)
        let tree = StoredTree(leaves: leaves)
        for size in 0...600 {
            #expect(try tree.frontier(at: UInt64(size)) == MerkleFrontier(leaves: leaves.prefix(size)))
        }
        #expect(throws: LogError.self) { try tree.frontier(at: 601) }
    }
}
