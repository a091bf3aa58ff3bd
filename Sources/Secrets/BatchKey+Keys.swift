package import EventStore
package import Keys

extension KeyEncryptionKey {
    /// The key with which a node with this key-encryption key signs batches and snapshots.
    package func batchSigningKey() throws -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: self.derived(for: "sign/batch"))
    }
}

extension BatchKey {
    /// The key with which a node with this key-encryption key authenticates batches, and signs them.
    package init(_ key: KeyEncryptionKey) throws {
        let signing = try key.batchSigningKey()
        // The end of the ledger is another one each time.
        let signer = BatchSigner(publicKey: signing.publicKey.bytes) { signing.signOnce($0) }
        self.init(id: key.idBytes, signer: signer, key.authenticator(for: "batch"))
    }
}

extension BatchKeys {
    /// The keys with which a node with these key-encryption keys authenticates batches. The one in force is theirs too.
    package convenience init(_ keyEncryptionKeys: KeyEncryptionKeys) throws {
        let keys = try keyEncryptionKeys.keys.map(BatchKey.init)
        self.init(keys[0], beside: Array(keys.dropFirst())) { keyEncryptionKeys.use($0) }
    }
}

extension SnapshotKey {
    /// The key of a node that accepts snapshots of all these key-encryption keys, and makes them with the one in force.
    package init(_ keyEncryptionKeys: KeyEncryptionKeys) throws {
        let keys = try keyEncryptionKeys.keys.map { (id: $0.id, key: try SnapshotKey($0)) }
        self.init(accepting: keys.map(\.key)) {
            keys.first { $0.id == keyEncryptionKeys.current.id }?.key ?? keys[0].key
        }
    }

    /// The key with which a node with this key-encryption key authenticates snapshots, and signs them.
    package init(_ key: KeyEncryptionKey) throws {
        let signing = try key.batchSigningKey()
        let signer = BatchSigner(publicKey: signing.publicKey.bytes) { try? signing.sign($0) }
        self.init(signer: signer) { key.authenticate($0, for: "snapshot") }
    }
}

extension BatchVerifier {
    /// Verifies with an Ed25519 public key.
    package init(_ key: Ed25519PublicKey) {
        self.init(publicKey: key.bytes) { key.verifies($0, over: $1) }
    }
}
