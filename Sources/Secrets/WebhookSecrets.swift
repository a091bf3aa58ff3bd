package import Keys
package import PinWire
package import Pinning
package import Postgres

/// A node's access to the secrets that sign webhooks.
package struct WebhookSecrets: Sendable {
    private let vault: SecretVault<WebhookSecret>

    /// Without a key-encryption key the node can neither sign nor make secrets.
    package init(pool: PostgresPool, keyEncryptionKeys: KeyEncryptionKeys?) {
        self.vault = SecretVault(pool: pool, keyEncryptionKeys: keyEncryptionKeys, statements: .webhooks)
    }

    /// Makes a secret and stores it sealed. It has no effect until the ledger names it; if the process dies before
    /// that, an unused row stays behind for a while.
    package func create(_ id: String, of webhook: String) async throws -> WebhookSecret {
        try await self.vault.create(id, of: webhook)
    }

    /// Erases a secret permanently.
    package func erase(_ id: String) async throws { try await self.vault.erase(id) }

    /// Erases the secrets that no webhook uses any more: the process that rotated or removed one may have died before
    /// erasing it.
    package func eraseUnused(_ webhooks: Webhooks, at now: Timestamp) async throws {
        try await self.vault.eraseAll(except: Set(webhooks.hooks.values.flatMap { $0.secretIDs(at: now) }))
    }

    /// The secrets that sign a webhook's messages at `now`, the newest first.
    package func signing(_ webhook: Webhook, at now: Timestamp) async throws -> [WebhookSecret] {
        var secrets: [WebhookSecret] = []
        for id in webhook.secretIDs(at: now) { secrets.append(try await self.vault.secret(id, of: webhook.id)) }
        return secrets
    }
}

extension VaultStatements {
    fileprivate static let webhooks = VaultStatements(
        store: "SELECT pinledger.store_webhook_secret($1, $2, $3, $4, $5)",
        erase: "SELECT pinledger.erase_webhook_secret($1)",
        eraseOthers: "SELECT pinledger.erase_webhook_secrets_except($1)",
        load: "SELECT kek_id, nonce, ciphertext FROM pinledger.webhook_secret WHERE secret = $1"
    )
}
