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

    /// A secret that the ledger names.
    private struct Expected {
        var kind: StoredSecret.Kind
        var id: String
        var owner: String
        /// The secret's name for people.
        var detail: String
    }

    package private(set) var findings: [LedgerFinding] = []
    private var expected: [Expected] = []
    private let signers: [String: Signer]

    /// - Parameter now: When the ledger was read; a secret that signs only until then may be missing.
    package init(ledger: LedgerAuditor.Outcome, at now: Timestamp) {
        let state = ledger.state
        self.signers = state.signers
        func isReadable(_ stream: StreamID) -> Bool { !ledger.damagedStreams.contains(stream.text) }
        if isReadable(.keys) {
            for key in state.keys.keys.values where key.state != .retired {
                let detail = "the private half of the signing key \(key.kid), which is \(key.state.rawValue),"
                self.expect(.signing, key.kid, of: "", detail)
            }
        }
        if isReadable(.log) {
            for key in state.log.signers {
                self.expect(.signing, key.kid, of: "", "the private half of the log's key \(key.kid)")
            }
        }
        for (id, app) in state.apps {
            if isReadable(.app(id)) {
                for key in app.clients.values.compactMap(\.key) {
                    self.expect(.client, ClientKeys.name(of: key, id), of: id.text, "the private half of a client key")
                }
            }
            if isReadable(.watch(id)) {
                for key in app.watch.telemetryKeys where key.isInUse {
                    self.expect(.telemetry, key.id, of: id.text, "what reports are signed with")
                }
            }
        }
        if isReadable(.webhooks) {
            // Secrets that a node may be erasing at this moment are left out.
            for hook in state.webhooks.hooks.values {
                for secret in hook.secretIDs(at: now.adding(seconds: 60)) {
                    self.expect(.webhook, secret, of: hook.id, "what messages are signed with")
                }
            }
        }
        self.expected.sort { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }
    }

    private mutating func expect(_ kind: StoredSecret.Kind, _ id: String, of owner: String, _ detail: String) {
        self.expected.append(Expected(kind: kind, id: id, owner: owner, detail: detail))
    }

    /// Finds secrets that are missing, that belong to another name, or that are sealed with another key than most.
    package mutating func take(_ names: [Name]) {
        let stored = Dictionary(names.map { ("\($0.kind) \($0.id)", $0) }) { first, _ in first }
        var found: [(expected: Expected, name: Name)] = []
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

    private mutating func add(_ code: LedgerFinding.Code, _ expected: Expected, _ detail: String) {
        let owner = expected.owner.isEmpty ? "" : " of \(expected.owner)"
        self.findings.append(LedgerFinding(code, of: "\(expected.kind.rawValue) \(expected.id)\(owner)", detail))
    }
}
