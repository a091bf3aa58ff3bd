import Foundation
import Glibc
package import Postgres
package import TransparencyLog

/// Writes the events of a ledger to entry bundles, and compares bundles with the ledger.
///
/// The connections that it is given MUST NOT limit the time of statements.
package struct BundleWriter: Sendable {
    /// Why bundles cannot be relied on.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The file of a bundle is missing, or does not hold the entries that the ledger has recorded.
        case wrong(file: String)
        case unwritable(file: String, reason: String)

        package var description: String {
            switch self {
            case .wrong(let file): "\(file) is missing, or is not the bundle of the ledger's entries"
            case .unwritable(let file, let reason): "\(file) cannot be written: \(reason)"
            }
        }
    }

    private let directory: BundleDirectory

    package init(directory: BundleDirectory) {
        self.directory = directory
    }

    /// Writes the bundles of events, as far as the directory does not have them.
    ///
    /// Each file appears whole. If the process dies, the next call writes what is missing.
    ///
    /// - Parameters:
    ///   - positions: Those of whole bundles, all before the ledger's end.
    ///   - frontier: The right edge of the tree before them; afterwards, behind them.
    ///   - note: Called with each position that was reached.
    /// - Returns: How many bundles were written.
    /// - Throws: ``LedgerFault`` where an event is missing or altered, ``Failure/unwritable(file:reason:)``, or the database's
    ///   error.
    package func write(
        _ positions: Range<Int64>, after frontier: inout MerkleFrontier, on connection: PostgresConnection,
        noting note: @escaping @Sendable (Int64) -> Void
    ) async throws -> Int {
        let writing = Writing(directory: self.directory, tree: frontier, next: positions.lowerBound)
        let done = try await connection.perform { connection in
            var writing = writing
            try connection.copyRows(
                Self.copy("position, entry, leaf_hash", of: positions), batch: Tile.fullWidth
            ) { rows in
                try writing.take(rows)
                note(writing.next)
            }
            // A pruned entry is nowhere else: the files have to outlive a loss of power.
            sync()
            return writing
        }
        guard done.next == positions.upperBound else {
            throw LedgerFault.position(expected: done.next, found: positions.upperBound)
        }
        frontier = done.tree
        return done.written
    }

    /// Compares bundles with the hashes of the ledger's events, and has the system write them to the disk.
    ///
    /// - Parameters: The same as those of ``write(_:after:on:noting:)``.
    /// - Throws: ``Failure/wrong(file:)``, ``LedgerFault``, or the database's error.
    package func verify(
        _ positions: Range<Int64>, after frontier: inout MerkleFrontier, on connection: PostgresConnection,
        noting note: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let comparing = Comparing(directory: self.directory, tree: frontier, next: positions.lowerBound)
        let done = try await connection.perform { connection in
            sync()
            var comparing = comparing
            try connection.copyRows(Self.copy("position, leaf_hash", of: positions), batch: Tile.fullWidth) { rows in
                try comparing.take(rows)
                note(comparing.next)
            }
            return comparing
        }
        guard done.next == positions.upperBound else {
            throw LedgerFault.position(expected: done.next, found: positions.upperBound)
        }
        frontier = done.tree
    }

    private static func copy(_ columns: String, of positions: Range<Int64>) -> String {
        """
        COPY (SELECT \(columns) FROM pinledger.event
              WHERE position >= \(positions.lowerBound) AND position < \(positions.upperBound) ORDER BY position)
        TO STDOUT (FORMAT binary)
        """
    }
}

/// Writes bundle after bundle.
private struct Writing: Sendable {
    let directory: BundleDirectory
    var tree: MerkleFrontier
    var next: Int64
    var written = 0

    /// Takes the rows of position, entry, leaf_hash of the next bundle.
    mutating func take(_ rows: PostgresRows) throws {
        var entries: [[UInt8]] = []
        for row in self.directory.fill(rows, entry: 1, hash: 2) {
            let (position, bytes) = (try row.int64(0), try row.bytes(1))
            guard position == self.next else { throw LedgerFault.position(expected: self.next, found: position) }
            guard !bytes.isEmpty else { throw LedgerFault.pruned(position: position) }
            let leaf = MerkleTree.leafHash(bytes)
            guard leaf.bytes == (try row.bytes(2)) else { throw LedgerFault.leafHash(position: position) }
            self.tree.append(leaf: leaf)
            entries.append(bytes)
            self.next += 1
        }
        if try self.directory.put(entries, before: self.next) { self.written += 1 }
    }
}

/// Compares bundle after bundle with the ledger.
private struct Comparing: Sendable {
    let directory: BundleDirectory
    var tree: MerkleFrontier
    var next: Int64

    /// Takes the rows of position, leaf_hash of the next bundle.
    mutating func take(_ rows: PostgresRows) throws {
        let index = UInt64(self.next) / UInt64(Tile.fullWidth)
        let entries = self.directory.entries(of: index) ?? []
        for (place, row) in rows.enumerated() {
            let position = try row.int64(0)
            guard position == self.next else { throw LedgerFault.position(expected: self.next, found: position) }
            let leaf = entries.indices.contains(place) ? MerkleTree.leafHash(entries[place]) : nil
            guard let leaf, leaf.bytes == (try row.bytes(1)) else {
                throw BundleWriter.Failure.wrong(file: self.directory.file(of: index) ?? self.directory.path)
            }
            self.tree.append(leaf: leaf)
            self.next += 1
        }
    }
}

extension BundleDirectory {
    /// Puts the bundle of the entries before a position in place, if it is not there.
    ///
    /// - Returns: Whether it was not.
    fileprivate func put(_ entries: [[UInt8]], before end: Int64) throws -> Bool {
        let index = UInt64(end - 1) / UInt64(Tile.fullWidth)
        guard let path = self.file(of: index), self.entries(of: index) != entries else { return false }
        let file = URL(fileURLWithPath: path)
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(try EntryBundle.encode(entries)).write(to: file, options: .atomic)
        } catch {
            throw BundleWriter.Failure.unwritable(file: path, reason: error.localizedDescription)
        }
        return true
    }
}
