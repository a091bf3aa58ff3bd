package import Keys
package import PinWire
package import Pinning
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

        /// The secrets of the kind with the ids in `$1`, or all where that is null: id, owner, id of the key-encryption key, nonce and
        /// ciphertext. Values that are longer than they can be are cut off, and are not opened.
        fileprivate var statement: String {
            switch self {
            case .signing:
                """
                SELECT kid, '', left(kek_id, 100), substr(nonce, 1, 65), substr(ciphertext, 1, 16385)
                FROM pinledger.signing_secret WHERE $1::text[] IS NULL OR kid = ANY ($1::text[]) ORDER BY 1
                """
            case .client:
                """
                SELECT secret, left(app, 300), left(kek_id, 100), substr(nonce, 1, 65), substr(ciphertext, 1, 16385)
                FROM pinledger.client_secret WHERE $1::text[] IS NULL OR secret = ANY ($1::text[]) ORDER BY 1
                """
            case .telemetry:
                """
                SELECT secret, left(app, 300), left(kek_id, 100), substr(nonce, 1, 65), substr(ciphertext, 1, 16385)
                FROM pinledger.telemetry_secret WHERE $1::text[] IS NULL OR secret = ANY ($1::text[]) ORDER BY 1
                """
            case .webhook:
                """
                SELECT secret, left(webhook, 300), left(kek_id, 100), substr(nonce, 1, 65), substr(ciphertext, 1, 16385)
                FROM pinledger.webhook_secret WHERE $1::text[] IS NULL OR secret = ANY ($1::text[]) ORDER BY 1
                """
            }
        }
    }

    package let kind: Kind
    package let id: String
    package let owner: String
    package let keyEncryptionKeyID: String
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// Every stored secret, for tools that look at all. Needs the rights of `pinledger_app`, as ``named(in:at:on:)`` does.
    package static func all(on connection: isolated PostgresConnection) throws -> [StoredSecret] {
        try Kind.allCases.flatMap { try Self.all($0, on: connection) }
    }

    static func all(_ kind: Kind, on connection: isolated PostgresConnection) throws -> [StoredSecret] {
        try connection.query(kind.statement, [.null]).map { try StoredSecret(kind, $0) }
    }

    /// The stored secrets that a state names: others may be any number, which a login of the database has stored.
    ///
    /// - Parameter now: When the state was read.
    package static func named(
        in state: LedgerState, at now: Timestamp, on connection: isolated PostgresConnection
    ) throws -> [StoredSecret] {
        let named = Dictionary(grouping: NamedSecret.all(in: state, at: now), by: \.kind)
        return try named.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { kind, named in
            try connection.query(kind.statement, [.textArray(named.map(\.id))]).map { try StoredSecret(kind, $0) }
        }
    }

    private init(_ kind: Kind, _ row: PostgresRow) throws {
        self.kind = kind
        (self.id, self.owner, self.keyEncryptionKeyID) = (try row.text(0), try row.text(1), try row.text(2))
        (self.nonce, self.ciphertext) = (try row.bytes(3), try row.bytes(4))
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
