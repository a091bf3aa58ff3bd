import Foundation
import Keys
import TransparencyLog

/// The part of a log that shows some of its entries: a directory with the checkpoint, and those bundles and tiles that lead
/// from the entries to its root. Whatever reads a log (C2SP tlog-tiles) reads it as one.
///
/// Nothing is believed: ``entries(of:)`` verifies what it returns against the checkpoint.
final class LogExcerpt {
    let checkpoint: Checkpoint
    private let directory: ReportDirectory
    private let client: APIClient
    /// The tiles above level 0 that were read, by path.
    private var tiles: [String: [LogHash]] = [:]
    /// The last tiles of level 0 that were read: proofs of neighbours need the same ones.
    private var leafTiles: [String: [LogHash]] = [:]

    /// - Parameter directory: Where the files go, below `log`.
    init(_ checkpoint: Checkpoint, note: [UInt8], in directory: ReportDirectory, from client: APIClient) throws {
        self.checkpoint = checkpoint
        self.directory = directory
        self.client = client
        try directory.write(note, to: "log/checkpoint")
    }

    /// The entries of a bundle.
    ///
    /// - Throws: ``CommandFailure`` where they are not the log's.
    func entries(of bundle: Tile) async throws -> [[UInt8]] {
        let bytes = try await self.fetch(bundle)
        let first = bundle.hashes.indices.lowerBound
        guard let entries = try? EntryBundle.decode(bytes), entries.count == bundle.width else {
            throw Self.failure("\(bundle.path) is not a bundle of \(bundle.width) entries")
        }
        let leaves = try await self.hashes(bundle.hashes)
        guard leaves == entries.map({ MerkleTree.leafHash($0) }), let leaf = leaves.first else {
            throw Self.failure("\(bundle.path) does not hold the entries of the log")
        }
        // The proof of the first leaf is made of all the tile's hashes, and so vouches for each.
        let plan = try InclusionProof.plan(leafIndex: first, treeSize: self.checkpoint.size)
        let proof = try InclusionProof(
            leafIndex: first, treeSize: self.checkpoint.size, plan: plan, stored: try await self.stored(plan))
        do { try proof.verify(leaf: leaf, root: self.checkpoint.root) } catch {
            throw Self.failure("\(bundle.path) does not lead to the checkpoint's root")
        }
        return entries
    }

    /// The root of the first `size` entries, and the proof that the log goes on from there; nil for none of them.
    ///
    /// - Throws: ``CommandFailure`` where it does not.
    func beginning(_ size: UInt64) async throws -> (root: LogHash, proof: ConsistencyProof)? {
        guard size > 0 else { return nil }
        let plan = try HashPlan.root(ofFirst: size)
        let root = try plan.root(from: try await self.stored(plan))
        let proof = try await self.consistency(from: size)
        do { try proof.verify(oldRoot: root, newRoot: self.checkpoint.root) } catch {
            throw Self.failure("the tiles do not show that the log goes on from \(size) entries")
        }
        return (root, proof)
    }

    private func consistency(from size: UInt64) async throws -> ConsistencyProof {
        let plan = try ConsistencyProof.plan(from: size, to: self.checkpoint.size)
        return try ConsistencyProof(
            from: size, to: self.checkpoint.size, plan: plan, stored: try await self.stored(plan))
    }

    private func stored(_ plan: HashPlan) async throws -> [[LogHash]] {
        var stored: [[LogHash]] = []
        for range in plan.ranges { stored.append(try await self.hashes(range)) }
        return stored
    }

    /// Stored hashes, of however many tiles.
    private func hashes(_ range: HashRange) async throws -> [LogHash] {
        let level = range.level / TileRoot.levelsPerTile
        let width = UInt64(Tile.fullWidth)
        var hashes: [LogHash] = []
        for index in range.indices.lowerBound / width...(range.indices.upperBound - 1) / width {
            guard let tile = Tile(.hashes(level: level), index: index, of: self.checkpoint.size) else {
                throw LogError.missingHashes(range)
            }
            let held = try await self.hashes(of: tile)
            let wanted = tile.hashes.indices.clamped(to: range.indices)
            let start = Int(wanted.lowerBound - tile.hashes.indices.lowerBound)
            hashes += held[start..<start + wanted.count]
        }
        return hashes
    }

    private func hashes(of tile: Tile) async throws -> [LogHash] {
        if let known = self.tiles[tile.path] ?? self.leafTiles[tile.path] { return known }
        let bytes = try await self.fetch(tile)
        let size = LogHash.byteCount
        guard bytes.count == tile.width * size else {
            throw Self.failure("\(tile.path) does not hold \(tile.width) hashes")
        }
        let hashes = (0..<tile.width).compactMap { LogHash(bytes[$0 * size..<($0 + 1) * size]) }
        if tile.content == .hashes(level: 0) {
            if self.leafTiles.count > 16 { self.leafTiles = [:] }
            self.leafTiles[tile.path] = hashes
        } else {
            self.tiles[tile.path] = hashes
        }
        return hashes
    }

    private func fetch(_ tile: Tile) async throws -> [UInt8] {
        let answer = try await self.client.send(
            "GET", "/log/\(tile.path)", limit: max(tile.maximumByteCount, 65_536))
        try answer.check()
        try self.directory.write(answer.body, to: "log/\(tile.path)")
        return answer.body
    }

    private static func failure(_ message: String) -> CommandFailure {
        CommandFailure(
            message, advice: "Run `pinledger audit verify`; it lists all damage of the log.", status: .notVerified)
    }
}
