import EventStore
import Keys
import Postgres
import Secrets

extension DoctorCommand {
    /// The judgement on the MAC and the signature of the ledger's end, by this node's key-encryption keys. A node that starts also
    /// checks that the events make this end.
    func ledgerEnd(_ connection: PostgresConnection, _ keyEncryptionKeys: KeyEncryptionKeys) async -> Finding {
        let subject = "ledger's end"
        do {
            let (end, signature) = try await connection.perform { @Sendable connection in try Self.end(connection) }
            guard end.head.position > 0 else {
                return Finding(subject: subject, verdict: .ok, detail: "nothing is recorded yet")
            }
            let keys = try BatchKeys(keyEncryptionKeys)
            guard let defect = keys.defect(of: end.mac, beside: end.head) else {
                let verifiers = try keyEncryptionKeys.keys.map { BatchVerifier(try $0.batchSigningKey().publicKey) }
                if let defect = verifiers.defect(of: signature, beside: end.head) {
                    return Finding(
                        subject: subject, verdict: .warn,
                        detail:
                            "\(end.head.position) events, authenticated by a node, and not signed for nodes without the key: \(defect)",
                        advice:
                            "Record any change: that signs all events before it. If the last change was recorded with this key, run `pinledger fsck`."
                    )
                }
                guard end.mac?.starts(with: keyEncryptionKeys.keys[0].idBytes) == true else {
                    return Finding(
                        subject: subject, verdict: .warn,
                        detail: "\(end.head.position) events, authenticated with the next key-encryption key",
                        advice:
                            "Once `pinledger key rewrap` has nothing more to do: give this key as kek_file, take next_kek_file away, and restart the node."
                    )
                }
                return Finding(
                    subject: subject, verdict: .ok,
                    detail: "\(end.head.position) events, authenticated and signed by a node")
            }
            return Finding(
                subject: subject, verdict: .fail,
                detail: "the ledger's end, after \(end.head.position) events, is not authenticated: \(defect)",
                advice: defect == .otherKey
                    ? "Give the key-encryption key with which the other nodes run. If this key opens the sealed secrets, a node with a wrong one has authenticated the end: stop all nodes, and start one that has this key once with --trust-database."
                    : "Run `pinledger fsck --kek-file kek`: it shows which events are authenticated. Follow `pinledger handbook backup`, \"Unauthenticated events\"."
            )
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Run `pinledger fsck`: it lists all damage.")
        }
    }

    /// The ledger's end, and the signature that is stored with its last event.
    private static func end(_ connection: isolated PostgresConnection) throws -> (StoredEnd, [UInt8]?) {
        let end = try LedgerReader.end(on: connection)
        return (end, try LedgerReader.signature(before: end.head.position, on: connection))
    }

    /// Whether the ledger's end is signed with a batch key that this node knows.
    func signedEnd(_ connection: PostgresConnection, _ verifiers: [BatchVerifier]) async -> Finding {
        let subject = "ledger's end"
        do {
            let (end, signature) = try await connection.perform { @Sendable connection in try Self.end(connection) }
            guard end.head.position > 0 else {
                return Finding(subject: subject, verdict: .ok, detail: "nothing is recorded yet")
            }
            guard let defect = verifiers.defect(of: signature, beside: end.head) else {
                return Finding(
                    subject: subject, verdict: .ok, detail: "\(end.head.position) events, signed with a known batch key"
                )
            }
            return Finding(
                subject: subject, verdict: .fail,
                detail:
                    "the ledger's end, after \(end.head.position) events, is not signed with a known batch key: \(defect)",
                advice:
                    "If the key-encryption key was changed: give --batch-public-key for the new one too. Otherwise run `pinledger doctor` on a node with the key-encryption key, and record any change through it where it is well."
            )
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "Run `pinledger fsck`: it lists all damage.")
        }
    }
}
