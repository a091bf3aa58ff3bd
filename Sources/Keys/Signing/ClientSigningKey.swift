package import PinWire

/// A private key whose public half one app's deployed clients have.
///
/// Printing or dumping the value shows only the algorithm.
package enum ClientSigningKey: Sendable {
    case ed25519(Ed25519PrivateKey)
    case es256(P256PrivateKey)
    case rsaSHA512(RSAPrivateKey)

    /// Makes a new key; an RSA key takes up to seconds, during which the caller's executor is free.
    ///
    /// - Throws: ``KeyFault/generation``.
    package static func generate(_ algorithm: ClientKeyAlgorithm) async throws(KeyFault) -> ClientSigningKey {
        switch algorithm {
        case .ed25519:
            guard let key = try? Ed25519PrivateKey.generate() else { throw .generation }
            return .ed25519(key)
        case .es256: return .es256(try P256PrivateKey.generate())
        case .rsaSHA512: return .rsaSHA512(try await RSAPrivateKey.generate())
        }
    }

    /// Reads a key in the forms that operators of these servers have: PEM, DER or base64 of DER, in PKCS#8, SEC1 or
    /// PKCS#1; for Ed25519 the seed and for P-256 the number, 32 bytes or base64 of them. White space around text is
    /// ignored. The caller wipes the bytes.
    ///
    /// - Throws: ``KeyImportError``.
    package init(importing bytes: some Collection<UInt8>, algorithm: ClientKeyAlgorithm) throws(KeyImportError) {
        try self.init(try PrivateKeyMaterial(importing: bytes, as: algorithm))
    }

    private init(_ material: PrivateKeyMaterial) throws(KeyImportError) {
        switch material {
        case .ed25519(let seed, let publicKey): self = .ed25519(try .init(seed: seed, publicKey: publicKey))
        case .p256(let number, let publicKey): self = .es256(try .init(number: number, publicKey: publicKey))
        case .rsa(let pkcs1): self = .rsaSHA512(try .init(pkcs1: pkcs1))
        }
    }

    package var algorithm: ClientKeyAlgorithm {
        switch self {
        case .ed25519: .ed25519
        case .es256: .es256
        case .rsaSHA512: .rsaSHA512
        }
    }

    /// The public half as a SubjectPublicKeyInfo in DER (RFC 5280 section 4.1).
    package var subjectPublicKeyInfo: [UInt8] {
        switch self {
        case .ed25519(let key): key.publicKey.subjectPublicKeyInfo
        case .es256(let key): key.publicKey.subjectPublicKeyInfo
        case .rsaSHA512(let key): key.publicKey.subjectPublicKeyInfo
        }
    }
}

extension ClientSigningKey {
    /// Whether a stored key's name is that of this one: the first 32 hexadecimal digits of SHA-256 of its public half
    /// (SubjectPublicKeyInfo in DER), a colon, and the app.
    package func isNamed(by name: String) -> Bool {
        name.utf8.starts(with: (Hex.encode(sha256(self.subjectPublicKeyInfo)).prefix(32) + ":").utf8)
    }
}

extension ClientSigningKey: SealableSecret {
    /// The key at rest, as PKCS#8 in DER, bound to its name and its app.
    package func sealed(as id: String, of app: String, with key: KeyEncryptionKey) -> SealedSecret {
        let pkcs8 =
            switch self {
            case .ed25519(let key): PKCS8.ed25519(seed: key.seed)
            case .es256(let key): PKCS8.p256(number: key.number, point: key.publicKey.x963)
            case .rsaSHA512(let key): PKCS8.rsa(pkcs1: key.pkcs1)
            }
        return SealedSecret(sealing: pkcs8, label: Self.label(id, of: app), with: key)
    }

    /// Opens what ``sealed(as:of:with:)`` made; PKCS#8 names the algorithm.
    ///
    /// - Throws: ``SealedSecret/Invalid``.
    package init(
        opening sealed: SealedSecret, as id: String, of app: String, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid) {
        let pkcs8 = try sealed.open(label: Self.label(id, of: app), with: key)
        guard let material = try? PrivateKeyMaterial(der: pkcs8), let key = try? ClientSigningKey(material) else {
            throw .malformed
        }
        self = key
    }

    /// The label that binds a sealed key to its name and its app.
    package static func label(_ id: String, of app: String) -> SealingLabel {
        SealingLabel(role: "client", algorithm: "PKCS8", keyID: id, publicKey: Array(app.utf8))
    }
}

extension ClientSigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The algorithm; never the key.
    package var description: String { "a client signing key (\(self.algorithm.rawValue))" }

    /// The algorithm; never the key.
    package var debugDescription: String { self.description }

    /// Shows nothing but the algorithm to `dump`.
    package var customMirror: Mirror { Mirror(self, children: ["algorithm": self.algorithm]) }
}
