import Postgres

/// A node's lease on appending, among several nodes that write at once: an advisory lock of the database, held for a
/// few batches.
///
/// Nodes that race for the ledger's head lose most of their races, and each loss costs them a batch decided in vain.
/// While a node holds the lease, it reads what the others wrote and then appends as if it were alone. The lease only
/// saves work: the lock on the head's row alone keeps the ledger in order, and a node that writes without the lease
/// only costs speed.
///
/// If the process or the connection dies, the database gives the lock to the next node.
struct AppendLease: Sendable {
    private let end = ContinuousClock.now + Self.length

    /// The longest that other nodes wait, plus the batch that is under way then.
    private static let length = Duration.milliseconds(20)

    var isOver: Bool { ContinuousClock.now >= self.end }

    /// Waits for the lease.
    ///
    /// - Returns: Nil where another node does not release it.
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
