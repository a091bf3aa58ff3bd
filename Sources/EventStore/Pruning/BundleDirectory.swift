import Concurrency
import Foundation
import Glibc
package import Postgres
import TransparencyLog

/// A directory with entry bundles (C2SP tlog-tiles), in which the entries of pruned events are kept.
///
/// The files have the names that the log gives them, `tile/entries/x000/123` and so on; only full bundles, of 256 entries, are
/// read. Nothing in a file is believed: an entry counts if it has the hash that the ledger has recorded for it.
package struct BundleDirectory: Sendable {
    /// A file is there, as far as can be told, and cannot be read just now.
    package struct Unreadable: Error, Hashable, Sendable, CustomStringConvertible {
        package let file: String
        package let reason: String
        package var description: String { "the entry bundle \(self.file) cannot be read: \(self.reason)" }
    }

    package let path: String
    /// Reading takes a thread for a while.
    private let readers = ConcurrencyLimiter<Never>(limit: 4, waiting: 200)

    package init(path: String) {
        self.path = path
    }

    /// Whether the directory is there.
    package var exists: Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: self.path, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    /// The path of the file with the bundle that holds the entry at a position.
    package func file(at position: Int64) -> String {
        let tile = UInt64(exactly: position).flatMap { Tile(.entries, index: $0 / UInt64(Tile.fullWidth)) }
        return tile.map { "\(self.path)/\($0.path)" } ?? self.path
    }

    /// The entries of a full bundle; nil where there is no such file, or it holds something else. Blocks its thread.
    package func entries(of index: UInt64) throws(Unreadable) -> [[UInt8]]? {
        guard let tile = Tile(.entries, index: index) else { return nil }
        let path = "\(self.path)/\(tile.path)"
        guard let bytes = try Self.read(path, atMost: tile.maximumByteCount),
            let entries = try? EntryBundle.decode(bytes), entries.count == Tile.fullWidth
        else { return nil }
        return entries
    }

    /// The bytes of a file; nil where it is not there, or is too large.
    private static func read(_ path: String, atMost limit: Int) throws(Unreadable) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno != ENOENT, errno != ENOTDIR else { return nil }
            let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            throw Unreadable(file: path, reason: error.localizedDescription)
        }
        do {
            let data = try FileHandle(fileDescriptor: file, closeOnDealloc: true).read(upToCount: limit + 1) ?? Data()
            return data.count <= limit ? Array(data) : nil
        } catch {
            throw Unreadable(file: path, reason: error.localizedDescription)
        }
    }

    /// Gives rows the entries that they lack. Blocks its thread.
    ///
    /// - Parameters:
    ///   - rows: Their first column is the position. Neighbours should have positions that are close to each other.
    ///   - entry: The column of the entry.
    ///   - hash: The column of its recorded hash.
    ///   - isPrunable: Says of a row whether its entry may be missing.
    /// - Returns: Rows that lack an entry still where no bundle holds one with that hash.
    package func fill(
        _ rows: PostgresRows, entry: Int, hash: Int, where isPrunable: (PostgresCells, Int) -> Bool = { _, _ in true }
    ) throws(Unreadable) -> PostgresRows {
        var found: [(row: Int, bytes: [UInt8])] = []
        var index: UInt64?
        var entries: [[UInt8]]?
        for row in rows.rowsWithout(entry, where: isPrunable) {
            guard let position = UInt64(exactly: row.position) else { continue }
            let (number, place) = position.quotientAndRemainder(dividingBy: UInt64(Tile.fullWidth))
            if index != number { (index, entries) = (number, try self.entries(of: number)) }
            guard let bytes = entries?[Int(place)], rows.hasHash(of: bytes, row.index, hash) else { continue }
            found.append((row.index, bytes))
        }
        return found.isEmpty ? rows : rows.replacing(column: entry, with: found)
    }

    /// The same on a thread of its own.
    ///
    /// - Throws: ``Unreadable``, or PostgresError `.poolExhausted` where too many wait, or `.cancelled`.
    func filled(_ rows: PostgresRows, entry: Int, hash: Int) async throws -> PostgresRows {
        let places: [ConcurrencyLimiter<Never>.Place]
        do { places = try await self.readers.wait(within: .seconds(10)) } catch {
            throw PostgresError(
                error == .cancelled ? .cancelled : .poolExhausted, "pruned entries cannot be read: \(error)")
        }
        defer { for place in places { place.release() } }
        let filled = await DetachedThread.run { () -> Result<PostgresRows, Unreadable> in
            do throws(Unreadable) { return .success(try self.fill(rows, entry: entry, hash: hash)) } catch {
                return .failure(error)
            }
        }
        guard let filled else {
            throw PostgresError(.poolExhausted, "pruned entries cannot be read: the system has no thread to give")
        }
        return try filled.get()
    }
}

extension PostgresRows {
    /// The first row whose entry is missing; nil where none is.
    func firstPruned(entry column: Int) -> Int? {
        self.withCells { cells in (0..<cells.count).first { cells[$0, column]?.isEmpty == true } }
    }

    /// The rows whose entry is missing, with their positions.
    fileprivate func rowsWithout(
        _ entry: Int, where isPrunable: (PostgresCells, Int) -> Bool
    ) -> [(index: Int, position: Int64)] {
        self.withCells { cells in
            (0..<cells.count).compactMap { row in
                guard cells[row, entry]?.isEmpty == true, let position = cells.int64(row, 0), isPrunable(cells, row)
                else { return nil }
                return (row, position)
            }
        }
    }

    fileprivate func hasHash(of bytes: [UInt8], _ row: Int, _ column: Int) -> Bool {
        self.withCells { cells in
            cells[row, column].flatMap { LogHash(bytes: $0) } == MerkleTree.leafHash(bytes)
        }
    }
}
