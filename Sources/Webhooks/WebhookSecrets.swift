package import Keys
package import PinWire
package import Pinning
package import Postgres

/// A node's access to what webhooks are signed with: sealed in the database, opened with a key-encryption key that the
/// database never sees.
package actor WebhookSecrets {
    private let pool: PostgresPool
    private let keyEncryptionKey: KeyEncryptionKey?
    /// By the secrets' names; never more than are in use.
    private var opened: [String: WebhookSecret] = [:]

    /// Without a key-encryption key the node can neither sign nor make secrets.
    package init(pool: PostgresPool, keyEncryptionKey: KeyEncryptionKey?) {
        self.pool = pool
        self.keyEncryptionKey = keyEncryptionKey
    }

    /// Why a secret cannot be had.
    package enum Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// This node was started without a key-encryption key.
        case noKeyEncryptionKey
        /// The sealed secret is not in the database.
        case missing(String)
        /// It is sealed under another key-encryption key, or damaged.
        case cannotOpen(String, SealedSecret.Invalid)

        package var description: String {
            switch self {
            case .noKeyEncryptionKey: "this node has no key-encryption key, so it can neither sign nor make secrets"
            case .missing(let id): "the secret \(id) is not in the database"
            case .cannotOpen(let id, let reason): "the secret \(id) cannot be opened: \(reason)"
            }
        }
    }

    /// Makes a secret and stores it sealed. It counts for nothing until the ledger names it; if the process dies before
    /// that, an unused row stays behind for a while.
    package func create(_ id: String, of webhook: String) async throws -> WebhookSecret {
        guard let keyEncryptionKey else { throw Unavailable.noKeyEncryptionKey }
        let secret = WebhookSecret.generate()
        let sealed = secret.sealed(as: id, of: webhook, with: keyEncryptionKey)
        _ = try await self.pool.query(
            "SELECT pinledger.store_webhook_secret($1, $2, $3, $4, $5)",
            [
                .text(id), .text(webhook), .text(sealed.keyEncryptionKeyID), .bytes(sealed.nonce),
                .bytes(sealed.ciphertext),
            ]
        )
        return secret
    }

    /// Erases a secret for good.
    package func erase(_ id: String) async throws {
        self.opened[id] = nil
        _ = try await self.pool.query("SELECT pinledger.erase_webhook_secret($1)", [.text(id)])
    }

    /// Erases what no webhook signs with any more: whoever rotated or removed it may have died before erasing it.
    func eraseUnused(_ webhooks: Webhooks, at now: Timestamp) async throws {
        let used = Set(webhooks.hooks.values.flatMap { $0.secretIDs(at: now) })
        self.opened = self.opened.filter { used.contains($0.key) }
        _ = try await self.pool.query("SELECT pinledger.erase_webhook_secrets_except($1)", [.textArray(used.sorted())])
    }

    /// The secrets that sign a webhook's messages at `now`, the newest first.
    package func signing(_ webhook: Webhook, at now: Timestamp) async throws -> [WebhookSecret] {
        var secrets: [WebhookSecret] = []
        for id in webhook.secretIDs(at: now) { secrets.append(try await self.secret(id, of: webhook.id)) }
        return secrets
    }

    private func secret(_ id: String, of webhook: String) async throws -> WebhookSecret {
        if let opened = self.opened[id] { return opened }
        guard let keyEncryptionKey else { throw Unavailable.noKeyEncryptionKey }
        let rows = try await self.pool.read(
            "SELECT kek_id, nonce, ciphertext FROM pinledger.webhook_secret WHERE secret = $1", [.text(id)]
        )
        guard let row = rows.first else { throw Unavailable.missing(id) }
        do {
            let sealed = try SealedSecret(
                keyEncryptionKeyID: try row.text(0), nonce: try row.bytes(1), ciphertext: try row.bytes(2)
            )
            let secret = try WebhookSecret(opening: sealed, as: id, of: webhook, with: keyEncryptionKey)
            self.opened[id] = secret
            return secret
        } catch let invalid as SealedSecret.Invalid {
            throw Unavailable.cannotOpen(id, invalid)
        }
    }
}
