package import Postgres

/// The standing of a primary with those that copy it: its standbys, and the archive of its log.
package struct DatabaseStanding: Hashable, Sendable {
    /// The processes that receive its log: standbys, and programs that archive it.
    package var standbys: Int64
    /// True where its archive command has failed since it last succeeded; nil where it archives nothing.
    package var isArchiveFailing: Bool?

    /// Asks a server; nil on a standby. Every role may read what is read here.
    package init?(_ pool: PostgresPool) async throws {
        let row = try await pool.query(
            """
            SELECT (SELECT count(*) FROM pg_stat_replication),
                   CASE WHEN current_setting('archive_mode') <> 'off'
                   THEN coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) END,
                   pg_is_in_recovery()
              FROM pg_stat_archiver
            """
        ).only
        guard try !row.bool(2) else { return nil }
        self.standbys = try row.natural(0)
        self.isArchiveFailing = try row.optionalBool(1)
    }
}
