import Crypto
import Testing
import TransparencyLog

@Suite struct `Tiles` {
    struct PathCase: CustomTestStringConvertible {
        var content: Tile.Content
        var index: UInt64
        var width: Int
        var path: String
        var testDescription: String { self.path }
    }

    static let paths = [
        PathCase(content: .hashes(level: 0), index: 0, width: 256, path: "tile/0/000"),
        PathCase(content: .hashes(level: 0), index: 999, width: 256, path: "tile/0/999"),
        PathCase(content: .hashes(level: 0), index: 1000, width: 256, path: "tile/0/x001/000"),
        PathCase(content: .hashes(level: 0), index: 1_234_067, width: 256, path: "tile/0/x001/x234/067"),
        PathCase(content: .hashes(level: 0), index: 273, width: 112, path: "tile/0/273.p/112"),
        PathCase(content: .hashes(level: 1), index: 1000, width: 5, path: "tile/1/x001/000.p/5"),
        PathCase(content: .hashes(level: 63), index: 0, width: 1, path: "tile/63/000.p/1"),
        PathCase(content: .entries, index: 7, width: 256, path: "tile/entries/007"),
        PathCase(content: .entries, index: 0, width: 7, path: "tile/entries/000.p/7"),
        PathCase(
            content: .hashes(level: 0),
            index: (1 << 55) - 1,
            width: 256,
            path: "tile/0/x036/x028/x797/x018/x963/967"
        ),
    ]

    @Test(arguments: paths)
    func `a tile's path is written and read back`(_ example: PathCase) throws {
        let tile = try #require(Tile(example.content, index: example.index, width: example.width))
        #expect(tile.path == example.path)
        #expect(Tile(path: example.path) == tile)
    }

    @Test(arguments: [
        "", "tile", "tile/0", "tile/0/", "tile/0/0", "tile/0/00", "tile/0/0000", "tile/0/+01", "tile/0/-01",
        "tile/00/000", "tile/+0/000", "tile/-1/000", "tile/64/000", "tile/x/000", "tile/0/x000/067", "tile/0/001/234",
        "tile/0/x001", "tile/0/x001/x234", "tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0", "tile/0/000.p/256",
        "tile/0/000.p/007", "tile/0/000.p/-1", "tile/0/000.p/1/", "/tile/0/000", "tile//000", "tile/0/000/",
        "TILE/0/000", "tile/entries", "tile/Entries/000", "tile/0/x001.p/5", "tile/0/.p/5", "tile/0/٠٠٠",
        "tile/0/x999/x999/x999/x999/x999/x999/x999/999", "tile/0/x018/x446/x744/x073/x709/x551/616",
        "tile/0/x000/x000/x000/x000/x000/x000/x000/x000/x000/x000/x000/x000/x000/x000/000",
    ])
    func `a path that is not exactly a tile's is refused`(_ path: String) {
        #expect(Tile(path: path) == nil)
    }

    @Test func `a coordinate outside the log is refused`() {
        #expect(Tile(.hashes(level: 64), index: 0) == nil)
        #expect(Tile(.hashes(level: -1), index: 0) == nil)
        #expect(Tile(.entries, index: 0, width: 0) == nil)
        #expect(Tile(.entries, index: 0, width: 257) == nil)
        #expect(Tile(.entries, index: 1 << 55) == nil)
    }

    @Test func `a tree has the full and partial tiles that the format gives it`() {
        #expect((0...3).map { Tile.fullCount(level: $0, treeSize: 70_000) } == [273, 1, 0, 0])
        #expect((0...3).map { Tile.partialWidth(level: $0, treeSize: 70_000) } == [112, 17, 1, 0])
        #expect((0...2).map { Tile.fullCount(level: $0, treeSize: 256) } == [1, 0, 0])
        #expect((0...2).map { Tile.partialWidth(level: $0, treeSize: 256) } == [0, 1, 0])
        #expect(Tile.fullCount(level: 63, treeSize: .max) == 0)
        #expect(Tile.fullCount(level: .max, treeSize: .max) == 0)
        #expect(Tile.partialWidth(level: .min, treeSize: .max) == 0)
    }

    @Test func `a tile is served only when the tree covers it`() throws {
        let full = try #require(Tile(.hashes(level: 0), index: 1))
        let partial = try #require(Tile(.hashes(level: 0), index: 1, width: 3))
        let above = try #require(Tile(.hashes(level: 1), index: 0, width: 2))
        #expect((511...513).map(full.isCovered(by:)) == [false, true, true])
        #expect((258...260).map(partial.isCovered(by:)) == [false, true, true])
        #expect((511...513).map(above.isCovered(by:)) == [false, true, true])
        #expect(above.hashes == HashRange(level: 8, indices: 0..<2))
    }

    @Test func `the example log's files have the documented bytes`() throws {
        let tree = StoredTree(leaves: auditLeaves(300))
        let entries = (0..<300).map(auditEntry)
        func sha256(_ bytes: [UInt8]) -> String {
            SHA256.hash(data: bytes).description.replacing("SHA256 digest: ", with: "")
        }
        func file(_ path: String) throws -> String {
            let tile = try #require(Tile(path: path))
            let start = Int(tile.hashes.indices.lowerBound)
            switch tile.content {
            case .hashes: return sha256(try tree.hashes(tile.hashes).flatMap(\.bytes))
            case .entries: return sha256(try EntryBundle.encode(entries[start..<start + tile.width]))
            }
        }
        #expect(try file("tile/0/000.p/7") == "02e8f47d2a1c7e156990591f34951554b32a739c0e63ac4fc9c2e77ae7e8ad1a")
        #expect(try file("tile/entries/000.p/7") == "11afd7c987238d075ef4ca0309e83cfcf07ce85444da86cffe8f3093e5578b55")
        #expect(try file("tile/0/000") == "7a9993d6506399a9da1031e503f7ad31e43760a9a3a3d18777f6a94e2afca81c")
        #expect(try file("tile/1/000.p/1") == "81ad9e6447c9a2b999a0ddec5e373b0918daa5cdf05dd68cd259b8c0f95fda29")
        #expect(try file("tile/entries/000") == "9544ff59c3f618c6c747a4b7f287cca2081aa1a10b8183ed0090b3e24123a0bf")
    }

    @Test func `an entry bundle is read back, and a cut one is refused`() throws {
        let entries: [[UInt8]] = [[], [1], Array(repeating: 2, count: 65_535)]
        let bytes = try EntryBundle.encode(entries)
        #expect(try EntryBundle.decode(bytes) == entries)
        // The first three entries end at 2, 5 and the end; every other length is a cut.
        for count in Array(0...20) + [bytes.count - 1] where ![0, 2, 5].contains(count) {
            #expect(throws: LogError.malformedBundle) { try EntryBundle.decode(bytes.prefix(count)) }
        }
        #expect(throws: LogError.entryTooLarge(byteCount: 65_536)) {
            try EntryBundle.encode([Array(repeating: 0, count: 65_536)])
        }
        #expect(throws: LogError.malformedBundle) {
            try EntryBundle.decode(EntryBundle.encode(Array(repeating: [7], count: 257)))
        }
    }
}
