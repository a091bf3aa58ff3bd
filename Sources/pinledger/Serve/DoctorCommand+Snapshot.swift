import EventStore
import Keys
import Logging
import Pinning
import Postgres
import Secrets

extension DoctorCommand {
    /// The judgement on the snapshot, which no account of a server changes, from which nodes start that cannot read pruned entries. Nil where nothing is
    /// pruned.
    func keptSnapshot(
        _ connection: PostgresConnection, _ keyEncryptionKeys: KeyEncryptionKeys?, _ verifiers: [BatchVerifier]
    ) async -> Finding? {
        let subject = "kept snapshot"
        let advice =
            "Run `pinledger bundles prune DIRECTORY --kek-file FILE` again, as an account that may migrate: it keeps one."
        do {
            let row = try await connection.query(
                """
                SELECT (SELECT max(end_position) FROM pinledger.pruned_partition WHERE pruned_at IS NOT NULL),
                       (SELECT max(position) FROM pinledger.snapshot WHERE fold_version = $1 AND kept_tag IS NOT NULL)
                """, [.int32(LedgerState.foldVersion)]
            ).only
            guard let pruned = try row.optionalInt64(0) else { return nil }
            guard let kept = try row.optionalInt64(1), kept >= pruned else {
                return Finding(
                    subject: subject, verdict: .warn,
                    detail:
                        "events before \(pruned) are pruned, and no snapshot of this program's form is kept behind them",
                    advice: advice)
            }
            guard let text = try await self.connectionString() else { return nil }
            let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: text))
            let store = SnapshotStore(
                pool: pool, key: try keyEncryptionKeys.map(SnapshotKey.init), verifiers: verifiers,
                logger: Logger(label: "pinledger") { _ in SwiftLogNoOpLogHandler() })
            let isKept: Bool
            do { isKept = try await store.isKept(at: kept) } catch {
                await pool.close()
                throw error
            }
            await pool.close()
            return isKept
                ? Finding(subject: subject, verdict: .ok, detail: "at \(kept); events before \(pruned) are pruned")
                : Finding(
                    subject: subject, verdict: .warn,
                    detail:
                        "what is kept of the snapshot at \(kept) is not of the nodes' key: the database's role can take it away",
                    advice: advice)
        } catch {
            return Finding(subject: subject, verdict: .warn, detail: ErrorText.sentence(for: error))
        }
    }
}
