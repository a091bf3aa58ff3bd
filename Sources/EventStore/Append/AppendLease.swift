import Postgres

/// A node's turn among several that write at once: an advisory lock of the database's, held for a few batches.
///
/// Nodes that race for the ledger's head lose most of their races, and each loss costs them a batch decided in vain. In
/// its turn a node reads what the others wrote, and then appends as if it were alone. It is a courtesy: what keeps the
/// ledger in order is the head's row alone, and a node that writes out of turn harms nothing but the speed.
///
/// If the process or the connection dies, the database gives the lock to the next one.
struct AppendLease: Sendable {
    private let end = ContinuousClock.now + Self.length

    /// Others wait no longer than this, and for the batch that is under way then.
    private static let length = Duration.milliseconds(20)

    var isOver: Bool { ContinuousClock.now >= self.end }

    /// Waits for a turn.
    ///
    /// - Returns: Nil where another node does not let go.
    static func begin(on connection: isolated PostgresConnection) throws -> AppendLease? {
        do throws(PostgresError) {
            try connection.query(prepared: Statements.beginLease)
            return AppendLease()
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            return nil
        }
    }

    static func end(on connection: isolated PostgresConnection) throws {
        try connection.query(prepared: Statements.endLease)
    }
}
