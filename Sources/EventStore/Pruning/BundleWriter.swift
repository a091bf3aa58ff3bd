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
        /// The ledger's entries at these positions do not make its tree.
        case altered(Range<Int64>)
        case unwritable(file: String, reason: String)

        package var description: String {
            switch self {
            case .wrong(let file): "\(file) is missing, or is not the bundle of the ledger's entries"
            case .altered(let positions):
                "the events at the positions \(positions.lowerBound) to \(positions.upperBound - 1) do not make the ledger's tree"
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
    /// A file is written only if its entries make the part of the ledger's tree that is stored over them, and appears whole. If
    /// the process dies, the next call writes what is missing.
    ///
    /// - Parameters:
    ///   - positions: Those of whole bundles, all before the ledger's end.
    ///   - roots: The stored root over each bundle's entries.
    ///   - note: Called with each position that was reached.
    /// - Returns: How many bundles were written.
    /// - Throws: ``LedgerFault`` where an event is missing, altered or pruned, ``Failure``, ``BundleDirectory/Unreadable``, or the
    ///   database's error.
    package func write(
        _ positions: Range<Int64>, with roots: [LogHash], on connection: PostgresConnection,
        noting note: @escaping @Sendable (Int64) -> Void
    ) async throws -> Int {
        let writing = Writing(directory: self.directory, roots: roots, first: positions.lowerBound)
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
        return done.written
    }

    /// Compares bundles with the hashes of the ledger's events and with its tree, and has the system write them to the disk.
    ///
    /// - Parameters: The same as those of ``write(_:with:on:noting:)``.
    /// - Throws: ``Failure``, ``LedgerFault``, ``BundleDirectory/Unreadable``, or the database's error.
    package func verify(
        _ positions: Range<Int64>, with roots: [LogHash], on connection: PostgresConnection,
        noting note: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let comparing = Comparing(directory: self.directory, roots: roots, first: positions.lowerBound)
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
    }

    private static func copy(_ columns: String, of positions: Range<Int64>) -> String {
        """
        COPY (SELECT \(columns) FROM pinledger.event
              WHERE position >= \(positions.lowerBound) AND position < \(positions.upperBound) ORDER BY position)
        TO STDOUT (FORMAT binary)
        """
    }
}

/// Goes through a ledger's events, a bundle's at a time.
private protocol BundleSteps {
    var roots: [LogHash] { get }
    var first: Int64 { get }
    var next: Int64 { get }
}

extension BundleSteps {
    /// Throws unless the leaves behind those so far make the stored root over them.
    fileprivate func check(_ leaves: [LogHash]) throws(BundleWriter.Failure) {
        let number = Int((self.next - self.first) / Int64(Tile.fullWidth))
        guard leaves.count == Tile.fullWidth, self.roots.indices.contains(number),
            MerkleFrontier(leaves: leaves).root == self.roots[number]
        else { throw .altered(self.next..<self.next + Int64(max(leaves.count, 1))) }
    }

    fileprivate func check(_ position: Int64, at place: Int) throws(LedgerFault) {
        let expected = self.next + Int64(place)
        guard position == expected else { throw .position(expected: expected, found: position) }
    }
}

/// Writes bundle after bundle.
private struct Writing: BundleSteps, Sendable {
    let directory: BundleDirectory
    let roots: [LogHash]
    let first: Int64
    var next: Int64
    var written = 0

    init(directory: BundleDirectory, roots: [LogHash], first: Int64) {
        (self.directory, self.roots, self.first, self.next) = (directory, roots, first, first)
    }

    /// Takes the rows of position, entry, leaf_hash of the next bundle.
    mutating func take(_ rows: PostgresRows) throws {
        var entries: [[UInt8]] = []
        var leaves: [LogHash] = []
        for (place, row) in try self.directory.fill(rows, entry: 1, hash: 2).enumerated() {
            let (position, bytes) = (try row.int64(0), try row.bytes(1))
            try self.check(position, at: place)
            guard !bytes.isEmpty else {
                throw LedgerFault.pruned(position: position, file: self.directory.file(at: position))
            }
            let leaf = MerkleTree.leafHash(bytes)
            guard leaf.bytes == (try row.bytes(2)) else { throw LedgerFault.leafHash(position: position) }
            entries.append(bytes)
            leaves.append(leaf)
        }
        try self.check(leaves)
        if try self.directory.put(entries, at: self.next) { self.written += 1 }
        self.next += Int64(entries.count)
    }
}

/// Compares bundle after bundle with the ledger.
private struct Comparing: BundleSteps, Sendable {
    let directory: BundleDirectory
    let roots: [LogHash]
    let first: Int64
    var next: Int64

    init(directory: BundleDirectory, roots: [LogHash], first: Int64) {
        (self.directory, self.roots, self.first, self.next) = (directory, roots, first, first)
    }

    /// Takes the rows of position, leaf_hash of the next bundle.
    mutating func take(_ rows: PostgresRows) throws {
        let entries = try self.directory.entries(of: UInt64(self.next) / UInt64(Tile.fullWidth)) ?? []
        var leaves: [LogHash] = []
        for (place, row) in rows.enumerated() {
            try self.check(try row.int64(0), at: place)
            let leaf = entries.indices.contains(place) ? MerkleTree.leafHash(entries[place]) : nil
            guard let leaf, leaf.bytes == (try row.bytes(1)) else {
                throw BundleWriter.Failure.wrong(file: self.directory.file(at: self.next))
            }
            leaves.append(leaf)
        }
        try self.check(leaves)
        self.next += Int64(leaves.count)
    }
}

extension BundleDirectory {
    /// Puts the bundle of the entries from a position on in place, if it is not there.
    ///
    /// - Returns: Whether it was not.
    fileprivate func put(_ entries: [[UInt8]], at position: Int64) throws -> Bool {
        guard try self.entries(of: UInt64(position) / UInt64(Tile.fullWidth)) != entries else { return false }
        let file = URL(fileURLWithPath: self.file(at: position))
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(try EntryBundle.encode(entries)).write(to: file, options: .atomic)
        } catch {
            throw BundleWriter.Failure.unwritable(file: file.path, reason: error.localizedDescription)
        }
        return true
    }
}
