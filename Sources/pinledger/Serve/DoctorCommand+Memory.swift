import EventStore
import Keys
import Postgres
import Publishing

extension DoctorCommand {
    /// Whether the ledger goes on from what the node remembers, as far as the database says itself: a node that starts
    /// verifies the ledger too. Nil where the database cannot be asked, which other checks report.
    func memory(_ keyEncryptionKeys: KeyEncryptionKeys?) async -> Finding? {
        let subject = "memory"
        let usual = self.isDevelopment ? "\(self.directory.path)/state" : nil
        guard let directory = self.settings.flatMap(MemoryConfiguration.directory) ?? usual else {
            return Finding(
                subject: subject, verdict: .warn,
                detail: "none is kept: after a restart this node does not notice that the database has lost events",
                advice: "Give --state-directory or set PINLEDGER_STATE_DIRECTORY.")
        }
        guard let text = try? await self.connectionString() else { return nil }
        let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: keyEncryptionKeys)
        let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: text))
        let finding = await self.compare(file, with: LedgerReader(pool: pool), subject)
        await pool.close()
        return finding
    }

    private func compare(_ file: NodeMemoryFile, with reader: LedgerReader, _ subject: String) async -> Finding {
        do {
            guard let memory = try await file.read()?.memory else {
                guard try await reader.head().position > 0 else {
                    return Finding(
                        subject: subject, verdict: .ok, detail: "none yet; a node that starts writes \(file.path)")
                }
                return Finding(
                    subject: subject, verdict: .warn,
                    detail:
                        "none yet, and the database has events: a node that starts asks others whether any is missing",
                    advice:
                        "Start this node while another one runs that remembers the ledger: `pinledger handbook backup`, \"A node without memory\". If it is not new, find out who deleted its memory."
                )
            }
            do {
                let (end, isStandby) = try await reader.endAndServer()
                guard !isStandby || end.head.position >= memory.position else {
                    return Finding(
                        subject: subject, verdict: .warn,
                        detail:
                            "the standby that answered has \(end.head.position) events, and this node knows of \(memory.position)",
                        advice: "Run this again in a moment. If the standby does not get there, check its replication.")
                }
                try await reader.check(end.head, goesOnFrom: memory.position, root: memory.root)
            } catch let fault as LedgerFault {
                guard try await reader.hasEnded(historyOf: memory.position, in: memory.epoch) else { throw fault }
                return Finding(
                    subject: subject, verdict: .ok,
                    detail:
                        "\(memory.position) events of an epoch that was ended; a node that starts goes on with the new one"
                )
            }
            return Finding(
                subject: subject, verdict: .ok,
                detail: "\(memory.position) events, and the database goes on from them")
        } catch let failure as NodeMemoryFile.Failure {
            let text = failure.text(file.path)
            return Finding(subject: subject, verdict: .fail, detail: text.message, advice: text.advice)
        } catch let fault as LedgerFault {
            return Finding(
                subject: subject, verdict: .fail, detail: "\(fault)",
                advice:
                    "Restore the missing events if you can. Otherwise run `pinledger recover`: `pinledger handbook recovery` says how."
            )
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Check the database with the other lines.")
        }
    }
}
