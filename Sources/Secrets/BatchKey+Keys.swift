package import EventStore
package import Keys

extension KeyEncryptionKey {
    /// The key with which a node with this key-encryption key signs batches and snapshots.
    package func batchSigningKey() throws -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: self.derived(for: "sign/batch"))
    }

    fileprivate func batchSigner() throws -> BatchSigner {
        let key = try self.batchSigningKey()
        return BatchSigner(publicKey: key.publicKey.bytes) { try? key.sign($0) }
    }
}

extension BatchKey {
    /// The key with which a node with this key-encryption key authenticates batches, and signs them.
    package init(_ key: KeyEncryptionKey) throws {
        self.init(id: key.idBytes, signer: try key.batchSigner(), key.authenticator(for: "batch"))
    }
}

extension SnapshotKey {
    /// The key with which a node with this key-encryption key authenticates snapshots, and signs them.
    package init(_ key: KeyEncryptionKey) throws {
        self.init(signer: try key.batchSigner()) { key.authenticate($0, for: "snapshot") }
    }
}

extension BatchVerifier {
    /// Verifies with an Ed25519 public key.
    package init(_ key: Ed25519PublicKey) {
        self.init(publicKey: key.bytes) { key.verifies($0, over: $1) }
    }
}
