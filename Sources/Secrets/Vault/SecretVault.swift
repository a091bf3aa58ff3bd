package import Keys
package import Postgres

/// The database's storage of secrets of one kind: its statements.
package struct VaultStatements: Sendable {
    /// Takes id, owner, id of the key-encryption key, nonce and ciphertext.
    package var store: String
    /// Takes one id.
    package var erase: String
    /// Takes all ids that stay.
    package var eraseOthers: String
    /// Takes one id; gives id of the key-encryption key, nonce and ciphertext.
    package var load: String

    package init(store: String, erase: String, eraseOthers: String, load: String) {
        self.store = store
        self.erase = erase
        self.eraseOthers = eraseOthers
        self.load = load
    }
}

/// Why a secret is not available.
package enum SecretUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
    /// This node was started without a key-encryption key.
    case noKeyEncryptionKey
    /// The sealed secret is not in the database.
    case missing(String)
    /// It is sealed under another key-encryption key, or damaged.
    case cannotOpen(String, SealedSecret.Invalid)

    package var description: String {
        switch self {
        case .noKeyEncryptionKey: "this node has no key-encryption key, so it can neither use nor make secrets"
        case .missing(let id): "the secret \(id) is not in the database"
        case .cannotOpen(let id, let reason): "the secret \(id) cannot be opened: \(reason)"
        }
    }
}

/// A node's access to secrets of one kind: sealed in the database, opened with a key-encryption key that the database
/// never sees.
package actor SecretVault<Secret: SealableSecret> {
    private let pool: PostgresPool
    private let keyEncryptionKeys: KeyEncryptionKeys?
    private let statements: VaultStatements
    /// Opened secrets by name; never more than are in use.
    private var opened: [String: Secret] = [:]

    /// Without a key-encryption key the node can neither use nor make secrets.
    package init(pool: PostgresPool, keyEncryptionKeys: KeyEncryptionKeys?, statements: VaultStatements) {
        self.pool = pool
        self.keyEncryptionKeys = keyEncryptionKeys
        self.statements = statements
    }

    /// Stores a secret sealed.
    package func store(_ secret: Secret, as id: String, of owner: String) async throws {
        guard let keyEncryptionKeys else { throw SecretUnavailable.noKeyEncryptionKey }
        let sealed = secret.sealed(as: id, of: owner, with: keyEncryptionKeys.current)
        _ = try await self.pool.query(
            self.statements.store,
            [
                .text(id), .text(owner), .text(sealed.keyEncryptionKeyID), .bytes(sealed.nonce),
                .bytes(sealed.ciphertext),
            ]
        )
    }

    /// Erases a secret permanently.
    package func erase(_ id: String) async throws {
        self.opened[id] = nil
        _ = try await self.pool.query(self.statements.erase, [.text(id)])
    }

    /// Erases all secrets but some; a young one stays for a while, because the ledger may not name it yet.
    package func eraseAll(except used: Set<String>) async throws {
        self.opened = self.opened.filter { used.contains($0.key) }
        _ = try await self.pool.query(self.statements.eraseOthers, [.textArray(used.sorted())])
    }

    /// A secret that is in use.
    package func secret(_ id: String, of owner: String) async throws -> Secret {
        if let opened = self.opened[id] { return opened }
        guard let keyEncryptionKeys else { throw SecretUnavailable.noKeyEncryptionKey }
        let rows = try await self.pool.read(self.statements.load, [.text(id)])
        guard let row = rows.first else { throw SecretUnavailable.missing(id) }
        do {
            let sealed = try SealedSecret(
                keyEncryptionKeyID: try row.text(0), nonce: try row.bytes(1), ciphertext: try row.bytes(2)
            )
            let key = keyEncryptionKeys[sealed.keyEncryptionKeyID]
            let secret = try Secret(opening: sealed, as: id, of: owner, with: key)
            self.opened[id] = secret
            return secret
        } catch let invalid as SealedSecret.Invalid {
            throw SecretUnavailable.cannotOpen(id, invalid)
        }
    }
}

extension SecretVault where Secret: DrawnSecret {
    /// Makes a secret and stores it sealed.
    package func create(_ id: String, of owner: String) async throws -> Secret {
        let secret = Secret.generate()
        try await self.store(secret, as: id, of: owner)
        return secret
    }
}
