import PinWire

extension Ed25519PublicKey {
    /// The SubjectPublicKeyInfo in DER (RFC 8410 section 4): 44 bytes.
    package var subjectPublicKeyInfo: [UInt8] {
        [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00] + self.bytes
    }
}

extension Ed25519PrivateKey {
    /// Reads an uploaded key: PKCS#8 in PEM, DER or base64 of DER, or the seed by itself, 32 bytes or base64 of them.
    /// The caller wipes the bytes.
    ///
    /// - Throws: ``KeyImportError``.
    package init(importing bytes: some Collection<UInt8>) throws(KeyImportError) {
        guard case .ed25519(let seed, let publicKey) = try PrivateKeyMaterial(importing: bytes, as: .ed25519) else {
            throw .otherAlgorithm
        }
        try self.init(seed: seed, publicKey: publicKey)
    }

    /// Takes decoded key material.
    ///
    /// - Throws: ``KeyImportError/unusable`` for a seed with another public half.
    init(seed: SecureBytes, publicKey: [UInt8]?) throws(KeyImportError) {
        guard let key = try? Ed25519PrivateKey(seed: seed) else { throw .unusable }
        if let publicKey, publicKey != key.publicKey.bytes { throw .unusable }
        self = key
    }
}
