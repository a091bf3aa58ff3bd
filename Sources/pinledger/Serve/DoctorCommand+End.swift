import EventStore
import Keys
import Postgres

extension DoctorCommand {
    /// Whether the ledger's end is authenticated with this node's key-encryption key. A node that starts also checks that the
    /// events make this end.
    func ledgerEnd(_ connection: PostgresConnection, _ key: BatchKey) async -> Finding {
        let subject = "ledger's end"
        do {
            let end = try await connection.perform { @Sendable connection in try LedgerReader.end(on: connection) }
            guard end.head.position > 0 else {
                return Finding(subject: subject, verdict: .ok, detail: "nothing is recorded yet")
            }
            guard let defect = key.defect(of: end.mac, beside: end.head) else {
                return Finding(
                    subject: subject, verdict: .ok, detail: "\(end.head.position) events, authenticated by a node")
            }
            return Finding(
                subject: subject, verdict: .fail,
                detail: "the ledger's end, after \(end.head.position) events, is not authenticated: \(defect)",
                advice: defect == .otherKey
                    ? "Give the key-encryption key with which the other nodes run. If this is that key: run `pinledger fsck --kek-file kek`."
                    : "Run `pinledger fsck --kek-file kek`: it shows which events are authenticated. Follow `pinledger handbook backup`, \"Unauthenticated events\"."
            )
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Run `pinledger fsck`: it lists all damage.")
        }
    }

    /// Whether the ledger's end is signed with a batch key that this node knows.
    func signedEnd(_ connection: PostgresConnection, _ verifiers: [BatchVerifier]) async -> Finding {
        let subject = "ledger's end"
        do {
            let (end, signature) = try await connection.perform { @Sendable connection in
                let end = try LedgerReader.end(on: connection)
                return (end, try LedgerReader.signature(before: end.head.position, on: connection))
            }
            let defects = verifiers.map { $0.defect(of: signature, beside: end.head) }
            guard end.head.position > 0, let defect = defects[0], !defects.contains(nil) else {
                return Finding(
                    subject: subject, verdict: .ok, detail: "\(end.head.position) events, signed with a known batch key"
                )
            }
            return Finding(
                subject: subject, verdict: .fail,
                detail:
                    "the ledger's end, after \(end.head.position) events, is not signed with a known batch key: \(defect)",
                advice:
                    "If the key-encryption key was changed: give --batch-public-key for the new one too. Otherwise run `pinledger doctor` on a node with the key-encryption key."
            )
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Run `pinledger fsck`: it lists all damage.")
        }
    }
}
