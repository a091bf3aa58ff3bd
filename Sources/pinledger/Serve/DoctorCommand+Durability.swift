import Postgres

extension DoctorCommand {
    /// Whether the database keeps what it has confirmed: by its settings, on its own disk and on a standby.
    func durability(_ connection: PostgresConnection) async -> Finding {
        let subject = "durability"
        let isRequired =
            (try? self.settings?.isOn(.requireSynchronous)) ?? false
        do {
            let row = try await connection.query(
                """
                SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
                       current_setting('synchronous_standby_names')
                """
            ).only
            let (commit, names) = (try row.text(2), try row.text(3))
            for (position, name) in ["fsync", "full_page_writes"].enumerated() where try row.text(position) == "off" {
                return Finding(
                    subject: subject, verdict: .fail,
                    detail: "\(name) is off: a crash of the server may destroy the ledger",
                    advice: "ALTER SYSTEM SET \(name) = on; SELECT pg_reload_conf();")
            }
            guard !["off", "local", "remote_write"].contains(commit) else {
                return Finding(
                    subject: subject, verdict: commit == "off" || isRequired ? .fail : .warn,
                    detail:
                        "synchronous_commit is \(commit): a change may be confirmed and lost with the \(commit == "off" ? "server" : "server or its standby")",
                    advice:
                        "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf(); also for roles and databases"
                )
            }
            guard !names.isEmpty else {
                return Finding(
                    subject: subject, verdict: isRequired ? .fail : .ok,
                    detail:
                        "commits wait for this server's disk, and for no standby: after a failover the last changes may be missing",
                    advice: isRequired
                        ? "Set synchronous_standby_names on the server, or start nodes without --require-synchronous."
                        : nil)
            }
            return Finding(
                subject: subject, verdict: .ok,
                detail:
                    "commits wait for this server's disk and for a standby (\(names))\(isRequired ? "" : "; --require-synchronous has nodes insist on it")"
            )
        } catch {
            return Finding(subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error))
        }
    }
}
