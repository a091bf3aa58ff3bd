import Concurrency
import Foundation
package import Postgres
import TransparencyLog

/// A directory with entry bundles (C2SP tlog-tiles), in which the entries of pruned events are kept.
///
/// The files have the names that the log gives them, `tile/entries/x000/123` and so on; only full bundles, of 256 entries, are
/// read. Nothing in a file is believed: an entry counts if it has the hash that the ledger has recorded for it.
package struct BundleDirectory: Sendable {
    package let path: String
    /// Reading takes a thread for a while.
    private let readers = ConcurrencyLimiter<Never>(limit: 4, waiting: 200)

    package init(path: String) {
        self.path = path
    }

    /// The path of a full bundle's file.
    package func file(of index: UInt64) -> String? {
        Tile(.entries, index: index).map { "\(self.path)/\($0.path)" }
    }

    /// The entries of a full bundle; nil where there is no such file, or it holds something else. Blocks its thread.
    package func entries(of index: UInt64) -> [[UInt8]]? {
        guard let tile = Tile(.entries, index: index), let path = self.file(of: index),
            let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: tile.maximumByteCount + 1), data.count <= tile.maximumByteCount,
            let entries = try? EntryBundle.decode(data), entries.count == Tile.fullWidth
        else { return nil }
        return entries
    }

    /// Gives rows the entries that they lack. Blocks its thread.
    ///
    /// - Parameters:
    ///   - rows: Their first column is the position. Neighbours should have positions that are close to each other.
    ///   - entry: The column of the entry.
    ///   - hash: The column of its recorded hash.
    /// - Returns: Rows that lack an entry still where no bundle holds one with that hash.
    package func fill(_ rows: PostgresRows, entry: Int, hash: Int) -> PostgresRows {
        let found = rows.withCells { cells in
            var found: [(row: Int, bytes: [UInt8])] = []
            var bundle: (index: UInt64, entries: [[UInt8]]?)?
            for row in 0..<cells.count where cells[row, entry]?.isEmpty == true {
                guard let position = cells.int64(row, 0).flatMap(UInt64.init(exactly:)) else { continue }
                let (index, place) = position.quotientAndRemainder(dividingBy: UInt64(Tile.fullWidth))
                if bundle?.index != index { bundle = (index, self.entries(of: index)) }
                guard let bytes = bundle?.entries?[Int(place)], let recorded = cells[row, hash],
                    MerkleTree.leafHash(bytes) == LogHash(bytes: recorded)
                else { continue }
                found.append((row, bytes))
            }
            return found
        }
        return found.isEmpty ? rows : rows.replacing(column: entry, with: found)
    }

    /// The same on a thread of its own.
    ///
    /// - Throws: `.poolExhausted` where too many wait, or `.cancelled`.
    func filled(_ rows: PostgresRows, entry: Int, hash: Int) async throws(PostgresError) -> PostgresRows {
        let places: [ConcurrencyLimiter<Never>.Place]
        do { places = try await self.readers.wait(within: .seconds(10)) } catch {
            throw PostgresError(
                error == .cancelled ? .cancelled : .poolExhausted, "pruned entries cannot be read: \(error)")
        }
        defer { for place in places { place.release() } }
        guard let filled = await DetachedThread.run({ self.fill(rows, entry: entry, hash: hash) }) else {
            throw PostgresError(.poolExhausted, "pruned entries cannot be read: the system has no thread to give")
        }
        return filled
    }
}

extension PostgresRows {
    /// The first row whose entry is missing; nil where none is.
    func firstPruned(entry column: Int) -> Int? {
        self.withCells { cells in (0..<cells.count).first { cells[$0, column]?.isEmpty == true } }
    }
}
