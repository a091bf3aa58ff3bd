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

extension SnapshotKey {
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
