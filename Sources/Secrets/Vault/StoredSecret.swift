package import Keys
package import Postgres

/// A secret as stored in the database: sealed, with its name and its owner.
package struct StoredSecret: Sendable {
    /// What a secret is for.
    package enum Kind: String, CaseIterable, Sendable {
        /// Signs native documents or the log's checkpoints; it has no owner.
        case signing
        /// Signs documents in deployed clients' formats; owned by an app.
        case client
        /// Authenticates an app's reports.
        case telemetry
        /// Signs a webhook's messages.
        case webhook

        /// What people call a secret of this kind.
        package var noun: String {
            switch self {
            case .signing: "signing key"
            case .client: "client key"
            case .telemetry: "telemetry key"
            case .webhook: "webhook secret"
            }
        }

        /// Every secret of the kind: id, owner, id of the key-encryption key, nonce and ciphertext.
        fileprivate var statement: String {
            switch self {
            case .signing: "SELECT kid, '', kek_id, nonce, ciphertext FROM pinledger.signing_secret ORDER BY 1"
            case .client: "SELECT secret, app, kek_id, nonce, ciphertext FROM pinledger.client_secret ORDER BY 1"
            case .telemetry: "SELECT secret, app, kek_id, nonce, ciphertext FROM pinledger.telemetry_secret ORDER BY 1"
            case .webhook: "SELECT secret, webhook, kek_id, nonce, ciphertext FROM pinledger.webhook_secret ORDER BY 1"
            }
        }
    }

    package let kind: Kind
    package let id: String
    package let owner: String
    package let keyEncryptionKeyID: String
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// Every stored secret of a kind. Needs the rights of `pinledger_app`.
    package static func all(_ kind: Kind, on connection: isolated PostgresConnection) throws -> [StoredSecret] {
        try connection.query(kind.statement).map { row in
            StoredSecret(
                kind: kind, id: try row.text(0), owner: try row.text(1), keyEncryptionKeyID: try row.text(2),
                nonce: try row.bytes(3), ciphertext: try row.bytes(4))
        }
    }

    /// Its label; nil for a signing key that is not one of the ledger's.
    func label(_ signers: [String: Signer]) -> SealingLabel? {
        switch self.kind {
        case .signing: signers[self.id].map { SealingLabel(role: $0.role, publicKey: $0.publicKey) }
        case .client: ClientSigningKey.label(self.id, of: self.owner)
        case .telemetry: TelemetrySecret.label(self.id, of: self.owner)
        case .webhook: WebhookSecret.label(self.id, of: self.owner)
        }
    }

    /// The sealed form.
    ///
    /// - Throws: ``SealedSecret/Invalid/malformed``.
    func sealed() throws(SealedSecret.Invalid) -> SealedSecret {
        try SealedSecret(
            keyEncryptionKeyID: self.keyEncryptionKeyID, nonce: self.nonce, ciphertext: self.ciphertext)
    }

    /// Opens it as its user would, and checks that it is what its name says.
    ///
    /// - Parameter signers: The ledger's signing keys, by their names.
    /// - Throws: ``SealedSecret/Invalid``.
    package func check(
        with key: KeyEncryptionKey, signers: [String: Signer]
    ) throws(SealedSecret.Invalid) {
        let sealed = try self.sealed()
        switch self.kind {
        case .signing:
            guard let signer = signers[self.id] else { throw .otherPublicKey }
            _ = try sealed.open(role: signer.role, publicKey: signer.publicKey, with: key)
        case .client:
            let opened = try ClientSigningKey(opening: sealed, as: self.id, of: self.owner, with: key)
            guard opened.isNamed(by: self.id) else { throw .otherPublicKey }
        case .telemetry: _ = try TelemetrySecret(opening: sealed, as: self.id, of: self.owner, with: key)
        case .webhook: _ = try WebhookSecret(opening: sealed, as: self.id, of: self.owner, with: key)
        }
    }
}
