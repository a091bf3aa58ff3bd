import EventStore
import PinWire
import Pinning
import Postgres
import Witnesses

extension DoctorCommand {
    /// A witness whose last cosignature is older has not been asked, or has not answered: nodes ask every ten minutes.
    private static let freshSeconds: Int64 = 900

    /// Whether enough witnesses of the log cosign its checkpoints; nil where it has none.
    func witnesses(_ connection: PostgresConnection) async -> Finding? {
        let subject = "witnesses"
        let advice =
            "`pinledger log witness list` shows the last answer of each. Check that a node with the key-encryption key runs, and reaches them."
        do {
            let (log, answers, now) = try await connection.perform { @Sendable connection in
                (
                    try LedgerReader.signers(on: connection).log, try CosignedCheckpoints.answers(on: connection),
                    try connection.query("SELECT clock_timestamp()").only.timestamp(0)
                )
            }
            guard !log.witnesses.isEmpty else { return nil }
            let oldest = Timestamp(microseconds: now - Self.freshSeconds * 1_000_000)
            let silent = log.witnesses.filter { witness in
                guard let answer = answers[witness.verifier], let cosigned = answer.cosignedAt else { return true }
                return answer.failure != nil || cosigned < oldest
            }
            let count = log.witnesses.count - silent.count
            let detail = "\(count) of \(log.witnesses.count) cosign the log's checkpoints; the quorum is \(log.quorum)"
            guard !silent.isEmpty else { return Finding(subject: subject, verdict: .ok, detail: detail) }
            return Finding(
                subject: subject, verdict: count < log.quorum ? .fail : .warn,
                detail: "\(detail), and \(silent.map(\.name.text).joined(separator: ", ")) did not", advice: advice)
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Check the database with the other lines.")
        }
    }
}
