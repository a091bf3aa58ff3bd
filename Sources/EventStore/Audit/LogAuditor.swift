package import TransparencyLog

/// Reads a whole log (C2SP tlog-tiles) from a server or a directory, and recomputes it.
///
/// Memory grows with the state and with 32 bytes for 256 entries, not with the entries.
package struct LogAuditor: Sendable {
    /// Reads the file of a tile or bundle; nil where there is none. Where it has more bytes than
    /// ``TransparencyLog/Tile/maximumByteCount``, the first of them suffice, if they are one more than that.
    private let read: @Sendable (Tile) async throws -> [UInt8]?
    /// How many pages are read or made at once.
    private static let width = 8

    /// Verifies approvers' signatures.
    private let approvals: ApprovalVerifier?

    package init(
        approvals: ApprovalVerifier? = nil, read: @escaping @Sendable (Tile) async throws -> [UInt8]?
    ) {
        self.approvals = approvals
        self.read = read
    }

    /// Audits the log that a verified checkpoint covers.
    ///
    /// - Parameters:
    ///   - earlier: Earlier states that the log has to continue.
    ///   - progress: Called now and then with the number of entries that were judged.
    /// - Throws: ``LogError/treeTooLarge(size:)`` for more entries than a ledger has positions, and what reading throws.
    package func run(
        _ checkpoint: Checkpoint, earlier: [AuditReport], progress: (UInt64) -> Void
    ) async throws -> LedgerAuditor.Outcome {
        guard let end = Int64(exactly: checkpoint.size) else { throw LogError.treeTooLarge(size: checkpoint.size) }
        var check = LogCheck(earlier: earlier, approvals: self.approvals)
        try await self.takeEntries(of: end, into: &check, progress)
        check.finishEntries()
        for level in 1..<Self.levels {
            for tile in Tile.all(.hashes(level: level), of: checkpoint.size) {
                // The entries below it, and below all after it, are missing.
                guard check.hashes(of: tile) != nil else { break }
                check.take(try await self.read(tile), of: tile, level)
            }
        }
        check.finish(checkpoint)
        return LedgerAuditor.Outcome(
            findings: check.findings, state: check.events.state, damagedStreams: check.events.damagedStreams,
            position: end, root: check.frontier?.root, events: check.count, ends: check.events.ends)
    }

    /// No tree has nodes above: 2^63 leaves are the most.
    private static let levels = 8

    private func takeEntries(
        of end: Int64, into check: inout LogCheck, _ progress: (UInt64) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: LogPage.self) { group in
            var bundles = Tile.all(.entries, of: UInt64(end)).makeIterator()
            var isAtEnd = false
            var reading = 0
            var waiting: [Int64: LogPage] = [:]
            var next: Int64 = 0
            var missing = 0
            while true {
                while !isAtEnd, reading + waiting.count < Self.width {
                    guard let bundle = bundles.next() else {
                        isAtEnd = true
                        break
                    }
                    group.addTask { try await self.page(of: bundle) }
                    reading += 1
                }
                guard let read = try await group.next() else { return }
                reading -= 1
                waiting[read.first] = read
                while let page = waiting.removeValue(forKey: next) {
                    missing = page.isMissing ? missing + 1 : 0
                    guard missing < Self.patience else {
                        group.cancelAll()
                        return check.miss(from: next, through: end - 1)
                    }
                    check.take(page)
                    next += Int64(page.width)
                    if next % Self.pace == 0 { progress(UInt64(next)) }
                }
            }
        }
    }

    private func page(of bundle: Tile) async throws -> LogPage {
        var hashes: [UInt8]?
        if let tile = Tile(.hashes(level: 0), index: bundle.index, width: bundle.width) {
            hashes = try await self.read(tile)
        }
        return LogPage(
            first: Int64(bundle.hashes.indices.lowerBound), width: bundle.width,
            bundle: try await self.read(bundle), tile: hashes)
    }

    /// After so many pages in a row of which nothing is there, the rest is taken to be missing: a checkpoint may state any
    /// size.
    private static let patience = 64
    /// Entries from one report of progress to the next.
    private static let pace: Int64 = 65_536
}
