package import Keys
package import PinWire
package import Pinning
package import Postgres

/// A node's access to the private halves of the keys that sign deployed clients' formats.
package struct ClientKeys: Sendable {
    private let vault: SecretVault<ClientSigningKey>

    /// Without a key-encryption key the node can neither sign in these formats nor take keys.
    package init(pool: PostgresPool, keyEncryptionKeys: KeyEncryptionKeys?) {
        self.vault = SecretVault(pool: pool, keyEncryptionKeys: keyEncryptionKeys, statements: .clients)
    }

    /// Stores a private half sealed. It has no effect until the ledger names its public half; if the process dies
    /// before that, an unused row stays behind for a while.
    package func store(_ secret: ClientSigningKey, of key: ClientKey, _ app: AppID) async throws {
        try await self.vault.store(secret, as: Self.name(of: key, app), of: app.text)
    }

    /// Erases the keys that no app's formats use any more, except those younger than a day.
    package func eraseAll(except used: [(key: ClientKey, app: AppID)]) async throws {
        try await self.vault.eraseAll(except: Set(used.map { Self.name(of: $0.key, $0.app) }))
    }

    /// The private half of a key that an app's ledger names.
    package func privateKey(of key: ClientKey, _ app: AppID) async throws -> ClientSigningKey {
        try await self.vault.secret(Self.name(of: key, app), of: app.text)
    }

    /// Apps may share a key, and each keeps it sealed for itself.
    static func name(of key: ClientKey, _ app: AppID) -> String { "\(key.id):\(app.text)" }
}

extension VaultStatements {
    fileprivate static let clients = VaultStatements(
        store: "SELECT pinledger.store_client_secret($1, $2, $3, $4, $5)",
        erase: "SELECT pinledger.erase_client_secret($1)",
        eraseOthers: "SELECT pinledger.erase_client_secrets_except($1)",
        load: "SELECT kek_id, nonce, ciphertext FROM pinledger.client_secret WHERE secret = $1"
    )
}
