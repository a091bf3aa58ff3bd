import PinWire
import Postgres

/// Folds a long stretch of the ledger: one COPY on a connection of its own, verified while it is read. Where several servers can be had,
/// it is one that has all of the stretch.
///
/// The tasks of its ``PagePipeline`` parse and hash pages, which is most of the work.
struct BulkReader: Sendable {
    private(set) var configuration: PostgresConfiguration
    /// The highest ``FeatureLevel`` that the program knows.
    let knownLevel: Int64
    /// Where the entries of pruned events are.
    var bundles: BundleDirectory?

    /// The number of entries in one page: a power of two, so that its tree is hashed beside the fold.
    static let pageSize: Int64 = 256
    /// How long the server may send nothing.
    private static let stall = Duration.seconds(30)
    /// The number of connections to try before giving up. A broken one costs only what it had not read yet.
    private static let attempts = 3

    /// Brings `view` forward to `end`, which MUST NOT be beyond the ledger's head.
    ///
    /// - Parameter note: Called with each position that the view has come to.
    /// - Throws: ``LedgerFault`` at a mismatch, ``LedgerReader/Behind`` where no server is found that has the stretch, the
    ///   database's error, or `CancellationError`. The view is then somewhere before `end`, and unusable after a fault other than
    ///   ``LedgerFault/needsUpgrade(position:_:)``.
    func fold(
        _ view: inout LedgerView, to end: Int64, noting note: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws {
        var reader = self
        var attempt = 1
        while true {
            do {
                try await reader.read(into: &view, to: end, note)
                break
            } catch let behind as LedgerReader.Behind {
                // Once: there is no primary of a primary.
                guard let primary = reader.configuration.ofPrimary else { throw behind }
                reader.configuration = primary
            } catch let error as PostgresError {
                try Task.checkCancellation()
                guard attempt < Self.attempts, error.code != .cancelled else { throw error }
                try await Task.sleep(for: .milliseconds(100 * attempt))
                attempt += 1
            }
        }
        guard view.head.position == end else {
            throw LedgerFault.position(expected: view.head.position, found: end)
        }
    }

    private func read(
        into view: inout LedgerView, to end: Int64, _ note: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let start = view.head.position
        guard start < end else { return }
        let connection = try await PostgresConnection.connect(self.configuration)
        do {
            guard try await LedgerReader.end(on: connection).head.position >= end else {
                throw LedgerReader.Behind(position: end - 1)
            }
            let (level, bundles) = (self.knownLevel, self.bundles)
            try await PagePipeline<PostgresRows, LedgerPage> { LedgerPage($0, knowing: level) }.run(on: connection) {
                connection, send in
                try Self.copy(start..<end, connection) { rows in
                    guard rows.firstPruned(entry: 1) != nil else { return try send(rows) }
                    try send(bundles?.fill(rows, entry: 1, hash: 2) ?? rows)
                }
            } take: {
                try view.apply($0)
                note(view.head.position)
            }
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    /// Sends the rows of a COPY, page by page.
    private static func copy(
        _ positions: Range<Int64>, _ connection: isolated PostgresConnection,
        _ send: @escaping @Sendable (PostgresRows) throws -> Void
    ) throws {
        let sql = """
            COPY (SELECT \(LedgerPage.columns) FROM pinledger.event
                  WHERE position >= \(positions.lowerBound) AND position < \(positions.upperBound) ORDER BY position)
            TO STDOUT (FORMAT binary)
            """
        let first = Int(Self.pageSize - positions.lowerBound % Self.pageSize)
        try connection.withStatementTimeout(nil) { connection in
            connection.boundSilence(to: Self.stall)
            try connection.copyRows(sql, batch: Int(Self.pageSize), first: first, send)
        }
    }
}
