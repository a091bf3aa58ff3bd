import PinWire
import Postgres

/// Folds a long stretch of the ledger: one COPY on a connection of its own, verified while it is read.
///
/// A pipeline of three stages: the connection's thread reads, tasks parse and hash pages (hashing is most of the work),
/// and the caller folds them in their order. Every stage is bounded, so that memory is a few pages, however long the
/// ledger is.
struct BulkReader: Sendable {
    let configuration: PostgresConfiguration

    /// The number of entries in one page: a power of two, so that its tree is hashed beside the fold.
    static let pageSize: Int64 = 256
    /// The number of pages that may wait to be parsed.
    private static let pagesAhead = 16
    /// The number of pages that are being parsed, or wait for one before them.
    private static let width = 8
    /// How long the server may send nothing.
    private static let stall = Duration.seconds(30)
    /// The number of connections to try before giving up. A broken one costs only what it had not read yet.
    private static let attempts = 3

    /// Brings `view` forward to `end`, which MUST NOT be beyond the ledger's head.
    ///
    /// - Throws: ``LedgerFault`` at a mismatch, the database's error, or `CancellationError`. The view is then
    ///   somewhere before `end`, and unusable after a fault.
    func fold(_ view: inout LedgerView, to end: Int64) async throws {
        for attempt in 1...Self.attempts {
            do {
                try await self.read(into: &view, to: end)
                break
            } catch let error as PostgresError {
                try Task.checkCancellation()
                guard attempt < Self.attempts, error.code != .cancelled else { throw error }
                try await Task.sleep(for: .milliseconds(100 * attempt))
            }
        }
        guard view.head.position == end else {
            throw LedgerFault.position(expected: view.head.position, found: end)
        }
    }

    private enum Part: Sendable {
        case allRead
        case page(Int, LedgerPage)
    }

    private func read(into view: inout LedgerView, to end: Int64) async throws {
        let start = view.head.position
        guard start < end else { return }
        let connection = try await PostgresConnection.connect(self.configuration)
        let sql = """
            COPY (SELECT \(LedgerPage.columns) FROM pinledger.event
                  WHERE position >= \(start) AND position < \(end) ORDER BY position)
            TO STDOUT (FORMAT binary)
            """
        let handover = BoundedChannel<PostgresRows>(capacity: Self.pagesAhead)
        do {
            try await withTaskCancellationHandler {
                try await withThrowingTaskGroup(of: Part.self) { group in
                    defer { handover.abandon() }
                    group.addTask {
                        defer { handover.finish() }
                        let first = Int(Self.pageSize - start % Self.pageSize)
                        try await Self.copy(sql, first: first, connection, handover)
                        return .allRead
                    }
                    do { try await Self.fold(handover, into: &view, &group) } catch {
                        // The group waits for its tasks, so stop waiting for the server first.
                        connection.cancel()
                        throw error
                    }
                }
            } onCancel: {
                handover.abandon()
                connection.cancel()
            }
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    /// Sends the rows of a COPY, page by page.
    private static func copy(
        _ sql: String, first: Int, _ connection: PostgresConnection, _ handover: BoundedChannel<PostgresRows>
    ) async throws {
        try await connection.perform { connection in
            try connection.withStatementTimeout(nil) { connection in
                connection.boundSilence(to: Self.stall)
                try connection.copyRows(sql, batch: Int(Self.pageSize), first: first) { try handover.send($0) }
            }
        }
    }

    private static func fold(
        _ handover: BoundedChannel<PostgresRows>, into view: inout LedgerView,
        _ group: inout ThrowingTaskGroup<Part, any Error>
    ) async throws {
        var (begun, folded) = (0, 0)
        var isAtEnd = false
        var waiting: [Int: LedgerPage] = [:]
        while true {
            while !isAtEnd, begun - folded < Self.width {
                guard let rows = await handover.next() else {
                    isAtEnd = true
                    break
                }
                let place = begun
                group.addTask { .page(place, LedgerPage(rows)) }
                begun += 1
            }
            guard let part = try await group.next() else { return }
            guard case .page(let place, let page) = part else { continue }
            waiting[place] = page
            while let page = waiting.removeValue(forKey: folded) {
                try view.apply(page)
                folded += 1
            }
        }
    }
}
