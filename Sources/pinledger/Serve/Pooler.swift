import Postgres

/// A connection pooler between a node and PostgreSQL, such as PgBouncer in transaction mode: nodes refuse it.
///
/// They listen for notifications, hold advisory locks and keep prepared statements, and rely on the time limits of their
/// sessions. A pooler answers LISTEN with success and delivers nothing.
enum Pooler {
    static let message =
        "a connection pooler stands between this node and PostgreSQL, and drops the settings of its sessions"
    static let advice =
        "Give --database the address of PostgreSQL itself, or of a proxy that passes sessions on as they are. A node keeps few connections, and needs their sessions to itself."

    /// Whether a connection could not be made because of a pooler: PgBouncer refuses options, unless it ignores them.
    static func isReason(for error: PostgresError) -> Bool {
        error.code == .connectionFailed && "\(error)".contains("unsupported startup parameter")
    }

    /// - Throws: ``CommandFailure`` where a pooler has dropped the session's settings.
    static func refuse(_ connection: PostgresConnection) async throws {
        guard try await connection.hasItsSettings() else { throw CommandFailure(self.message, advice: self.advice) }
    }
}
