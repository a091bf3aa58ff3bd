import ArgumentParser
import Foundation
import Keys
import PinWire
import TransparencyLog

/// Writes the log to a directory that any web server can serve.
struct LogExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export the whole log, verified, to a directory that any web server can serve.",
        discussion: """
            pinledger log export /srv/log --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg

            Each entry is hashed again: the directory gets a checkpoint only if its entries and tiles make that \
            checkpoint's tree. Repeat the command to add what is new; full tiles that are there already are read from \
            the directory.
            """)
    @Argument(help: "The directory. It is made if it is missing.") var directory: String
    @OptionGroup var trusted: LogTrustOptions
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let trust = try self.trusted.trust()
        try await self.remote.withClient { client in
            let note = try await Self.bytes("/log/checkpoint", client)
            let verified: LogTrust.Verified
            do { verified = try trust.verify(checkpoint: note) } catch {
                throw CommandFailure("the checkpoint does not verify: \(error)", status: .notVerified)
            }
            let size = verified.checkpoint.size
            var tree = MerkleFrontier()
            var roots: [TileRoot] = []
            for (index, width) in Tile.all(.entries, of: size).map({ ($0.index, $0.width) }) {
                let leaves = try await self.bundle(index, width, client)
                try await self.tile(level: 0, index, width, leaves, client)
                for leaf in leaves { roots += tree.append(leaf: leaf) }
                if index % 64 == 63 { Console.error("\(tree.size) of \(size) entries") }
            }
            for level in 1...7 {
                let hashes = roots.filter { $0.level == level * TileRoot.levelsPerTile }.map(\.hash)
                for (index, width) in Tile.all(.hashes(level: level), of: size).map({ ($0.index, $0.width) }) {
                    let start = Int(index) * Tile.fullWidth
                    try await self.tile(level: level, index, width, Array(hashes[start..<(start + width)]), client)
                }
            }
            guard tree.root == verified.checkpoint.root else {
                throw CommandFailure(
                    "the log's entries do not make the tree of its checkpoint: an entry was altered, or the directory's",
                    advice: "Export into an empty directory. If that fails too, run `pinledger fsck`.",
                    status: .notVerified)
            }
            // Last: a reader of the directory finds all that a checkpoint covers.
            try self.write(note, to: "checkpoint")
            Console.print("Exported \(size) entries of \(verified.checkpoint.origin) to \(self.directory).")
        }
    }

    private static func bytes(_ path: String, _ client: APIClient) async throws -> [UInt8] {
        let answer = try await client.send("GET", path)
        try answer.check()
        return answer.body
    }

    /// The leaf hashes of an entry bundle, which is in the directory then.
    private func bundle(_ index: UInt64, _ width: Int, _ client: APIClient) async throws -> [LogHash] {
        guard let tile = Tile(.entries, index: index, width: width) else { return [] }
        let bytes = try await self.fetch(tile, client)
        guard let entries = try? EntryBundle.decode(bytes), entries.count == width else {
            throw CommandFailure("\(tile.path) is not a bundle of \(width) entries", status: .notVerified)
        }
        return entries.map { MerkleTree.leafHash($0) }
    }

    /// Puts a tile of hashes into the directory, which are known.
    private func tile(
        level: Int, _ index: UInt64, _ width: Int, _ hashes: [LogHash], _ client: APIClient
    ) async throws {
        guard let tile = Tile(.hashes(level: level), index: index, width: width) else { return }
        guard try await self.fetch(tile, client) == hashes.flatMap(\.bytes) else {
            throw CommandFailure("\(tile.path) does not hold the hashes of the log's entries", status: .notVerified)
        }
    }

    private func fetch(_ tile: Tile, _ client: APIClient) async throws -> [UInt8] {
        let path = self.path(tile.path)
        if !tile.isPartial, let data = FileManager.default.contents(atPath: path) { return Array(data) }
        let bytes = try await Self.bytes("/log/\(tile.path)", client)
        try self.write(bytes, to: tile.path)
        return bytes
    }

    private func path(_ name: String) -> String { "\(self.directory)/\(name)" }

    private func write(_ bytes: [UInt8], to name: String) throws {
        let file = URL(fileURLWithPath: self.path(name))
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file, options: .atomic)
        } catch {
            throw CommandFailure("\(file.path) cannot be written: \(error.localizedDescription)")
        }
    }
}
