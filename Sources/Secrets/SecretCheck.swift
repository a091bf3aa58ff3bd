package import EventStore
package import Keys
package import PinWire
import Pinning
package import Postgres

/// Compares the stored secrets with those that the ledger names. A pure value.
package struct SecretCheck: Sendable {
    /// The columns of a stored secret that an auditor may see.
    package struct Name: Hashable, Sendable {
        package var kind: String
        package var id: String
        package var owner: String
        package var keyEncryptionKeyID: String

        /// Those of every stored secret, read on a connection; nil where the database's schema is too old to have them.
        package static func all(_ connection: isolated PostgresConnection) throws -> [Name]? {
            let function = "SELECT to_regprocedure('pinledger.sealed_secrets()')::text"
            guard try connection.query(function).only.optionalText(0) != nil else { return nil }
            return try connection.query("SELECT kind, id, owner, kek_id FROM pinledger.sealed_secrets()").map { row in
                Name(
                    kind: try row.text(0), id: try row.text(1), owner: try row.text(2),
                    keyEncryptionKeyID: try row.text(3))
            }
        }
    }

    package private(set) var findings: [LedgerFinding] = []
    private let expected: [NamedSecret]
    private let signers: [String: Signer]

    /// - Parameter now: When the ledger was read; a secret that signs only until then may be missing.
    package init(ledger: LedgerAuditor.Outcome, at now: Timestamp) {
        self.signers = ledger.state.signers
        self.expected = NamedSecret.all(in: ledger.state, damaged: ledger.damagedStreams, at: now)
    }

    /// Finds secrets that are missing, that belong to another name, or that are sealed with another key than most.
    package mutating func take(_ names: [Name]) {
        let stored = Dictionary(names.map { ("\($0.kind) \($0.id)", $0) }) { first, _ in first }
        var found: [(expected: NamedSecret, name: Name)] = []
        for expected in self.expected {
            guard let name = stored["\(expected.kind.rawValue) \(expected.id)"] else {
                self.add(.secretMissing, expected, "\(expected.detail) is not stored")
                continue
            }
            if name.owner != expected.owner {
                self.add(.secretWrong, expected, "it is stored as that of \(name.owner)")
            }
            found.append((expected, name))
        }
        let counts = found.reduce(into: [String: Int]()) { $0[$1.name.keyEncryptionKeyID, default: 0] += 1 }
        guard counts.count > 1, let most = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })?.key else {
            return
        }
        for (expected, name) in found where name.keyEncryptionKeyID != most {
            self.add(
                .secretWrong, expected,
                """
                it is sealed with the key-encryption key \(name.keyEncryptionKeyID.prefix(64)), and most are with \(most)
                """)
        }
    }

    /// Opens the stored form of the expected secrets.
    package mutating func take(_ secrets: [StoredSecret], with key: KeyEncryptionKey) {
        let stored = Dictionary(secrets.map { ("\($0.kind.rawValue) \($0.id)", $0) }) { first, _ in first }
        for expected in self.expected {
            guard let secret = stored["\(expected.kind.rawValue) \(expected.id)"] else { continue }
            do { try secret.check(with: key, signers: self.signers) } catch {
                self.add(.secretWrong, expected, "\(expected.detail) cannot be opened: \(error)")
            }
        }
    }

    private mutating func add(_ code: LedgerFinding.Code, _ expected: NamedSecret, _ detail: String) {
        let owner = expected.owner.isEmpty ? "" : " of \(expected.owner)"
        self.findings.append(LedgerFinding(code, of: "\(expected.kind.rawValue) \(expected.id)\(owner)", detail))
    }
}
