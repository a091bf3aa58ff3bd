package import Postgres

/// Which PostgreSQL a ledger is in, as the server says it. It explains a loss and proves none: a restored backup has the
/// identity of its source.
package struct DatabaseIdentity: Hashable, Sendable {
    /// The cluster's number, made by initdb. Standbys and restored backups share it.
    package var systemIdentifier: String
    /// The timeline, which a promotion raises; nil on a standby.
    package var timeline: Int64?

    package init(systemIdentifier: String, timeline: Int64?) {
        self.systemIdentifier = systemIdentifier
        self.timeline = timeline
    }

    /// Asks the server.
    package init(_ pool: PostgresPool) async throws {
        let row = try await pool.read(
            """
            SELECT (SELECT system_identifier FROM pg_control_system())::text,
                CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
            """
        ).only
        self.init(
            systemIdentifier: try row.text(0),
            timeline: try row.optionalText(1).flatMap { UInt32($0, radix: 16) }.map(Int64.init))
    }

    /// What has become of a database, as a clause; nil where nothing shows.
    package func change(to now: DatabaseIdentity) -> String? {
        guard self.systemIdentifier == now.systemIdentifier else {
            return
                "it is in another PostgreSQL cluster (system identifier \(now.systemIdentifier), before \(self.systemIdentifier))"
        }
        guard let before = self.timeline, let after = now.timeline, before != after else { return nil }
        return "a standby was promoted, or a backup recovered (timeline \(after), before \(before))"
    }
}
