import PinWire
import Pinning
import Postgres
import TransparencyLog

/// What became of a batch.
enum AppendOutcome: Sendable {
    case appended
    /// Another node was first; nothing was written.
    case moved
    /// Some of the commands are recorded already; nothing was written.
    case duplicate

    /// Thrown out of the transaction, which can only be rolled back.
    struct RecordedAlready: Error {
    }

    /// Appends, in one round trip.
    ///
    /// - Parameters:
    ///   - isAnnounced: Whether the other nodes are to be told.
    ///   - meanwhile: What to do while the database works. Not called where nothing can be sent.
    init(
        appending batch: Batch, isAnnounced: Bool, on connection: isolated PostgresConnection,
        meanwhile: () -> Void = {}
    ) throws {
        guard !batch.isEmpty else {
            meanwhile()
            // Nothing to write. What was refused, or found as it was wanted, must be so at the ledger's present end.
            let head = try Head(try connection.query(prepared: Statements.head).only)
            let isCurrent = head.position == batch.base.head.position && head.frontier == batch.base.head.frontier
            self = isCurrent ? .appended : .moved
            return
        }
        let rows: PostgresRows
        do {
            rows = try connection.query(
                prepared: Statements.append, batch.parameters(isAnnounced: isAnnounced), meanwhile: meanwhile)
        } catch {
            guard error.sqlState == "23505", error.constraint == "command_pkey" else { throw error }
            throw RecordedAlready()
        }
        self = try rows.only.text(0) == "appended" ? .appended : .moved
    }

    /// Looks what became of a batch whose connection broke before the answer.
    ///
    /// The head's lock is taken first: a transaction that is still running on the server ends before that. Then the
    /// event at the batch's first position is either the batch's own, byte for byte, or the batch was not recorded.
    init(of batch: Batch, seenFrom connection: isolated PostgresConnection) throws {
        let head = try Head(try connection.query(prepared: Statements.lockHead).only)
        // Only no-ops with keys: repeated, they are no-ops again or found as recorded.
        guard let first = batch.firstBytes, head.position > batch.base.head.position else {
            self = .moved
            return
        }
        let rows = try connection.query(prepared: Statements.leafHash, [.int64(batch.base.head.position)])
        self = try rows.only.bytes(0) == MerkleTree.leafHash(first).bytes ? .appended : .moved
    }
}

extension Ledger {
    /// Entries that are read in one statement.
    static let pageSize = 2000

    /// Brings the node to the ledger's end, with the head locked until the transaction ends, and returns the fold there.
    func catchUpLocked(on connection: isolated PostgresConnection) throws -> LedgerView {
        let start = self.view
        let head = try Head(try connection.query(prepared: Statements.lockHead).only)
        guard head.position >= start.head.position else {
            throw LedgerFault.shrunk(from: start.head.position, to: head.position)
        }
        let view = try self.readOn(from: start, to: head.position, on: connection)
        guard view.head.position == head.position else {
            throw LedgerFault.position(expected: view.head.position, found: head.position)
        }
        guard view.head.frontier == head.frontier else { throw LedgerFault.fork(position: head.position) }
        return view
    }

    /// Takes in what was appended behind `start` and before `end`, and returns the fold there.
    @discardableResult
    func readOn(
        from start: LedgerView, to end: Int64 = .max, on connection: isolated PostgresConnection
    ) throws -> LedgerView {
        var view = start
        while view.head.position < end {
            let base = view.head.position
            let rows = try connection.query(
                prepared: Statements.entries, [.int64(base), .int64(end), .int64(Int64(Self.pageSize))]
            )
            let page = LedgerPage(rows)
            try view.apply(page)
            self.advance(from: base, to: view, changing: Set(page.steps.map(\.stream)), isLocal: false)
            if rows.count < Self.pageSize { break }
        }
        return view
    }
}
