import PinWire
package import Postgres

/// Changes the key that authenticates the ledger's end.
///
/// From its commit on, the database takes batches of nodes with the new key only.
package enum EndRewrap {
    /// What was done.
    package enum Outcome: Hashable, Sendable {
        case rewrapped
        /// The new key authenticates the end already.
        case left
        /// Nothing authenticates it: only nodes without a key have appended, or nothing is recorded yet.
        case nothing
    }

    /// Changes the key within the connection's transaction, and keeps the head locked until that ends.
    ///
    /// - Throws: ``LedgerFault/unauthenticated(from:to:_:)`` where neither key authenticates the end: it MUST NOT get a MAC
    ///   then, or it would look as if a holder of the key had recorded it.
    package static func run(
        from old: BatchKey, to new: BatchKey, on connection: isolated PostgresConnection
    ) throws -> Outcome {
        let end = try StoredEnd(try connection.query(prepared: Statements.lockHead))
        guard let mac = end.mac else { return .nothing }
        if new.defect(of: mac, beside: end.head) == nil { return .left }
        if let defect = old.defect(of: mac, beside: end.head) {
            throw LedgerFault.unauthenticated(from: 0, to: end.head.position, defect)
        }
        let isTaken = try connection.query(
            prepared: Statements.authenticateHead,
            [.int64(end.head.position), .bytes(mac), .bytes(new.mac(of: end.head))]
        ).only.bool(0)
        guard isTaken else { throw LedgerFault.head(position: end.head.position) }
        return .rewrapped
    }
}
