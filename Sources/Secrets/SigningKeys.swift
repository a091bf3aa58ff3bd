import EventStore
package import Keys
import PinWire
package import Pinning
package import Postgres
import Synchronization

/// A node's access to the private halves of signing keys: sealed in the database, opened with a key-encryption key that
/// the database never sees.
package actor SigningKeys {
    private let pool: PostgresPool
    private let keyEncryptionKeys: KeyEncryptionKeys?
    private var opened: [String: Ed25519PrivateKey] = [:]
    /// Retired keys whose private halves this process has erased.
    private var erased: Set<String> = []
    private let role: String
    private let lastTrouble = Mutex<Trouble>(.none)

    /// The fault of the private half of the key that was asked for last.
    private enum Trouble: Hashable, Sendable {
        case none
        /// Unusable: this node cannot sign.
        case unavailable(Unavailable)
        /// In this node's memory, and in the database no more.
        case notStored(String)
    }

    /// Without a key-encryption key the node can serve and not sign.
    ///
    /// - Parameter role: The one purpose of the keys: ``SealedSecret/documentRole`` or ``SealedSecret/checkpointRole``.
    package init(
        pool: PostgresPool, keyEncryptionKeys: KeyEncryptionKeys?, role: String = SealedSecret.documentRole
    ) {
        self.role = role
        self.pool = pool
        self.keyEncryptionKeys = keyEncryptionKeys
    }

    /// Why a key is not available.
    package enum Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// This node was started without a key-encryption key.
        case noKeyEncryptionKey
        /// The sealed half is not in the database.
        case missing(String)
        /// It is sealed under another key-encryption key, or damaged.
        case cannotOpen(String, SealedSecret.Invalid)

        package var description: String {
            switch self {
            case .noKeyEncryptionKey: "this node has no key-encryption key, so it can neither sign nor make keys"
            case .missing(let kid): "the private half of the signing key \(kid) is not in the database"
            case .cannotOpen(let kid, let reason):
                "the private half of the signing key \(kid) cannot be opened: \(reason)"
            }
        }
    }

    /// True where this node was started with a key-encryption key: it may sign, and tries to.
    package nonisolated var hasKeyEncryptionKey: Bool { self.keyEncryptionKeys != nil }

    /// True where this node has the means to sign: also the private half of the key that was asked for last.
    package nonisolated var canSign: Bool {
        guard case .unavailable = self.lastTrouble.withLock({ $0 }) else { return self.hasKeyEncryptionKey }
        return false
    }

    /// The fault of the private half of the key that was asked for last, for people; nil where there is none.
    package nonisolated var trouble: String? {
        switch self.lastTrouble.withLock({ $0 }) {
        case .none: nil
        case .unavailable(let why): "\(why)"
        case .notStored(let kid):
            "the private half of the signing key \(kid) is in the database no more: this node signs with what it has in memory, and cannot after a restart"
        }
    }

    /// Makes a key and stores its sealed private half. It has no effect until the ledger names it; if the process dies
    /// before that, an unused row stays behind.
    package func create() async throws -> Ed25519PublicKey {
        guard let keyEncryptionKeys else { throw Unavailable.noKeyEncryptionKey }
        let key = try Ed25519PrivateKey.generate()
        let sealed = SealedSecret(sealing: key, role: self.role, with: keyEncryptionKeys.current)
        _ = try await self.pool.query(
            "SELECT pinledger.store_signing_secret($1, $2, $3, $4)",
            [
                .text(key.publicKey.keyID), .text(sealed.keyEncryptionKeyID), .bytes(sealed.nonce),
                .bytes(sealed.ciphertext),
            ]
        )
        return key.publicKey
    }

    /// Erases a private half permanently.
    package func erase(_ kid: String) async throws {
        self.opened[kid] = nil
        _ = try await self.pool.query("SELECT pinledger.erase_signing_secret($1)", [.text(kid)])
    }

    /// Erases what is left of retired keys' private halves: the process that retired one may have died before erasing
    /// it.
    package func eraseRetired(_ kids: some Sequence<String> & Sendable) async throws {
        for kid in kids where !self.erased.contains(kid) {
            try await self.erase(kid)
            self.erased.insert(kid)
        }
    }

    /// The private half of a key that signs documents.
    package func privateKey(of key: SigningKey) async throws -> Ed25519PrivateKey {
        try await self.privateKey(key.kid, publicKey: key.publicKey)
    }

    /// The private half of a key that signs the log's checkpoints.
    package func privateKey(of key: LogKey) async throws -> Ed25519PrivateKey {
        try await self.privateKey(key.kid, publicKey: key.publicKey)
    }

    /// Looks whether the private half of a key that this node has in memory is still stored: a restart needs it.
    ///
    /// - Returns: False where it is not.
    package func findStored(_ key: SigningKey) async throws -> Bool {
        guard self.opened[key.kid] != nil else { return true }
        let rows = try await self.pool.read(
            "SELECT 1 FROM pinledger.signing_secret WHERE kid = $1", [.text(key.kid)])
        self.lastTrouble.withLock { $0 = rows.isEmpty ? .notStored(key.kid) : .none }
        return !rows.isEmpty
    }

    private func privateKey(_ kid: String, publicKey bytes: [UInt8]) async throws -> Ed25519PrivateKey {
        if let opened = self.opened[kid] {
            self.lastTrouble.withLock { if case .unavailable = $0 { $0 = .none } }
            return opened
        }
        do {
            let opened = try await self.open(kid, publicKey: bytes)
            self.opened[kid] = opened
            self.lastTrouble.withLock { $0 = .none }
            return opened
        } catch let unavailable as Unavailable {
            self.lastTrouble.withLock { $0 = .unavailable(unavailable) }
            throw unavailable
        }
    }

    private func open(_ kid: String, publicKey bytes: [UInt8]) async throws -> Ed25519PrivateKey {
        guard let keyEncryptionKeys else { throw Unavailable.noKeyEncryptionKey }
        let rows = try await self.pool.read(
            "SELECT kek_id, nonce, ciphertext FROM pinledger.signing_secret WHERE kid = $1", [.text(kid)]
        )
        guard !rows.isEmpty, let publicKey = Ed25519PublicKey(bytes) else { throw Unavailable.missing(kid) }
        do {
            let sealed = try SealedSecret(
                keyEncryptionKeyID: try rows.only.text(0), nonce: try rows.only.bytes(1),
                ciphertext: try rows.only.bytes(2)
            )
            let key = keyEncryptionKeys[sealed.keyEncryptionKeyID]
            return try sealed.open(role: self.role, publicKey: publicKey, with: key)
        } catch let invalid as SealedSecret.Invalid {
            throw Unavailable.cannotOpen(kid, invalid)
        }
    }
}
