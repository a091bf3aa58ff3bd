import PinWire
import Postgres

/// A transaction of another session that has locked tables of the schema.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
    /// The server's number of the transaction: another one of the same session has another.
    private let transaction: String
    /// The server process; nil for a prepared transaction.
    package let process: Int32?
    private let role: String
    private let application: String
    private let tables: [String]

    /// Every such transaction, the longest under way first, as far as the account may see when they began.
    static func all(on connection: PostgresConnection) async throws -> [LockHolder] {
        try await connection.query(
            """
            SELECT l.virtualtransaction, l.pid, coalesce(a.usename::text, ''), coalesce(a.application_name, ''),
                   string_agg(DISTINCT c.relname::text, ', ')
              FROM pg_locks l
              JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')
              JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'pinledger'
              JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
              LEFT JOIN pg_stat_activity a ON a.pid = l.pid
             WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
             GROUP BY l.virtualtransaction, l.pid, a.usename, a.application_name, a.xact_start
             ORDER BY a.xact_start NULLS LAST, l.pid
            """
        ).map { row in
            LockHolder(
                transaction: try row.text(0), process: try row.optionalInt32(1), role: try row.text(2),
                application: try row.text(3),
                tables: try row.text(4).split(separator: ", ").map(String.init))
        }
    }

    /// True of the same transaction, whatever it has locked meanwhile.
    func isSame(as other: LockHolder) -> Bool { self.transaction == other.transaction && self.process == other.process }

    package var description: String {
        let names = [self.application, self.role].filter { !$0.isEmpty }.map { String(shown: $0.utf8) }
        let who = self.process.map { "process \($0)" } ?? "a prepared transaction"
        return who + (names.isEmpty ? "" : " (\(names.joined(separator: ", ")))")
            + " with \(Self.list(self.tables.map { String(shown: $0.utf8) }, ", "))"
    }

    package static func text(of holders: [LockHolder]) -> String {
        holders.isEmpty ? "they came and went" : Self.list(holders.map(\.description), "; ")
    }

    /// At most so many are named.
    private static let shown = 5

    private static func list(_ texts: [String], _ separator: String) -> String {
        let more = texts.count > Self.shown ? ", and \(texts.count - Self.shown) more" : ""
        return texts.prefix(Self.shown).joined(separator: separator) + more
    }
}
