import PinWire
import Pinning
import Postgres
import TransparencyLog

/// The outcome of a batch.
enum AppendOutcome: Sendable {
    case appended
    /// Another node was first; nothing was written.
    case moved
    /// Some of the commands are recorded already; nothing was written.
    case duplicate
    /// The ledger's end is authenticated with another key than the batch; nothing was written.
    case otherKey

    /// Thrown to leave the transaction, which can only be rolled back.
    struct RecordedAlready: Error {
    }

    /// Thrown, likewise, where another key authenticates the ledger's end.
    struct OtherKey: Error {
    }

    /// Appends, in one round trip.
    ///
    /// - Parameters:
    ///   - isAnnounced: Whether to notify the other nodes.
    ///   - key: The key that authenticates the batch, where this node has it.
    ///   - meanwhile: What to do while the database works. Not called where nothing can be sent.
    init(
        appending batch: Batch, isAnnounced: Bool, with key: BatchKey?, on connection: isolated PostgresConnection,
        meanwhile: () -> Void = {}
    ) throws {
        guard !batch.isEmpty else {
            meanwhile()
            // Nothing to write. A refusal, or a finding that nothing needs to change, must hold at the ledger's present
            // end. Where a sender gets the latter answer, the lock's own commit confirms that a standby has that state
            // too.
            let head =
                batch.confirms
                ? try Head(try connection.query(prepared: Statements.lockHead))
                : try Head(try connection.query(Statements.head))
            let isCurrent = head.position == batch.base.head.position && head.frontier == batch.base.head.frontier
            self = isCurrent ? .appended : .moved
            return
        }
        let rows: PostgresRows
        do {
            rows = try connection.query(
                prepared: Statements.append, batch.parameters(isAnnounced: isAnnounced, key: key), meanwhile: meanwhile)
        } catch {
            switch (error.sqlState, error.constraint) {
            case ("23505", "command_pkey"): throw RecordedAlready()
            // The head was as the batch expects it, and is locked: no node wrote whatever else does not fit.
            case ("23505", let index):
                throw LedgerFault.occupied(
                    position: batch.base.head.position, index: String(shown: (index ?? "unknown").utf8))
            case ("P0002", _), ("P0003", _): throw LedgerFault.head(position: nil)
            case ("PL001", _): throw LedgerFault.streamHead(position: batch.base.head.position)
            case ("PL005", _):
                guard key != nil else { throw WriteFailure.noKey }
                throw OtherKey()
            default: throw error
            }
        }
        self = try rows.only.text(0) == "appended" ? .appended : .moved
    }

    /// Finds the outcome of a batch whose connection broke before the answer.
    ///
    /// The head's lock is taken first: a transaction that is still running on the server ends before that. Then the
    /// event at the batch's first position is either the batch's own, byte for byte, or the batch was not recorded.
    init(of batch: Batch, seenFrom connection: isolated PostgresConnection) throws {
        let head = try Head(try connection.query(prepared: Statements.lockHead))
        // The batch has only no-ops with keys: repeated, they are no-ops again or found as recorded.
        guard let first = batch.bytes.first, head.position > batch.base.head.position else {
            self = .moved
            return
        }
        let rows = try connection.query(prepared: Statements.leafHash, [.int64(batch.base.head.position)])
        self = try rows.only.bytes(0) == MerkleTree.leafHash(first).bytes ? .appended : .moved
    }
}
