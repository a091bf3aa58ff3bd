import Postgres

extension DoctorCommand {
    /// The judgement on the system's order of text, which is to be that of when the database was made; nil where PostgreSQL does not say: before 15, and where
    /// no library of the system sorts.
    func collation(_ connection: PostgresConnection) async -> Finding? {
        guard connection.serverVersion >= 150_000 else { return nil }
        let subject = "collation"
        do {
            let row = try await connection.query(
                """
                SELECT datname, datcollate, datcollversion, pg_database_collation_actual_version(oid)
                  FROM pg_database WHERE datname = current_database()
                """
            ).only
            let (database, name) = (try row.text(0), try row.text(1))
            guard let made = try row.optionalText(2), let present = try row.optionalText(3) else { return nil }
            guard made != present else {
                return Finding(subject: subject, verdict: .ok, detail: "\(name), version \(made)")
            }
            let quoted = database.replacing("\"", with: "\"\"")
            return Finding(
                subject: subject, verdict: .warn,
                detail:
                    "the database was made with version \(made) of \(name), and this server has \(present): Pinledger's tables compare text by bytes and are not concerned, indexes of others may be",
                advice:
                    "REINDEX what others keep in this database, then ALTER DATABASE \"\(quoted)\" REFRESH COLLATION VERSION."
            )
        } catch {
            return Finding(subject: subject, verdict: .warn, detail: ErrorText.sentence(for: error))
        }
    }
}
