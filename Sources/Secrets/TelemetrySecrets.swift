package import Keys
package import PinWire
import Pinning
package import Postgres

/// A node's access to the keys with which apps' reports are signed.
package struct TelemetrySecrets: Sendable {
    private let vault: SecretVault<TelemetrySecret>

    /// Without a key-encryption key the node can neither judge signatures nor make keys.
    package init(pool: PostgresPool, keyEncryptionKeys: KeyEncryptionKeys?) {
        self.vault = SecretVault(pool: pool, keyEncryptionKeys: keyEncryptionKeys, statements: .telemetry)
    }

    /// Makes a secret and stores it sealed. It has no effect until the ledger names it; if the process dies before
    /// that, an unused row stays behind for a while.
    package func create(_ id: String, of app: AppID) async throws -> TelemetrySecret {
        try await self.vault.create(id, of: app.text)
    }

    /// Erases a secret permanently.
    package func erase(_ id: String) async throws { try await self.vault.erase(id) }

    /// Erases the secrets that no app's reports use any more.
    package func eraseAll(except used: Set<String>) async throws { try await self.vault.eraseAll(except: used) }

    package func secret(_ id: String, of app: AppID) async throws -> TelemetrySecret {
        try await self.vault.secret(id, of: app.text)
    }
}

extension VaultStatements {
    fileprivate static let telemetry = VaultStatements(
        store: "SELECT pinledger.store_telemetry_secret($1, $2, $3, $4, $5)",
        erase: "SELECT pinledger.erase_telemetry_secret($1)",
        eraseOthers: "SELECT pinledger.erase_telemetry_secrets_except($1)",
        load: "SELECT kek_id, nonce, ciphertext FROM pinledger.telemetry_secret WHERE secret = $1"
    )
}
