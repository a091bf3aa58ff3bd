import CSodium
package import PinWire

/// A private key at rest: encrypted with XChaCha20-Poly1305 under a key derived from a ``KeyEncryptionKey``.
///
/// The ciphertext is bound to a ``SealingLabel``, which is not in it: a sealed key that is moved into another role, or
/// under another public key, gives an error instead of a key. Secrets that an earlier form sealed, with the
/// key-encryption key itself, open too.
package struct SealedSecret: Hashable, Sendable {
    /// Why a secret could not be opened.
    package enum Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// It was sealed under another key-encryption key.
        case otherKeyEncryptionKey(sealedWith: String, given: String)
        /// The ciphertext or its label was changed.
        case notAuthentic
        /// The opened seed belongs to another public key than the label's.
        case otherPublicKey
        /// A member is missing, has the wrong type or the wrong number of bytes.
        case malformed

        package var description: String {
            switch self {
            case .otherKeyEncryptionKey(let sealedWith, let given):
                "it is sealed with the key-encryption key \(sealedWith.prefix(64)), and this one is \(given)"
            case .notAuthentic: "it is not what was sealed under its name with this key-encryption key"
            case .otherPublicKey: "it holds the private half of another public key"
            case .malformed: "it does not have the form of a sealed secret"
            }
        }
    }

    /// The number of bytes of a nonce; random ones need no counter or record.
    package static let nonceByteCount = 24

    /// The number of bytes by which the ciphertext is longer than the secret.
    package static let tagByteCount = 16

    /// The id of the key-encryption key.
    package let keyEncryptionKeyID: String

    /// 24 bytes, drawn for each sealing.
    package let nonce: [UInt8]

    /// The secret's length plus 16 bytes: 48 for a seed.
    package let ciphertext: [UInt8]

    /// Assembles the stored parts.
    ///
    /// - Throws: ``Invalid/malformed`` for a nonce or ciphertext of impossible length.
    package init(keyEncryptionKeyID: String, nonce: [UInt8], ciphertext: [UInt8]) throws(Invalid) {
        guard nonce.count == Self.nonceByteCount, ciphertext.count > Self.tagByteCount else { throw .malformed }
        self.keyEncryptionKeyID = keyEncryptionKeyID
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    /// Seals a secret under a label, with a fresh nonce.
    package init(sealing secret: SecureBytes, label: SealingLabel, with key: KeyEncryptionKey) {
        let nonce = Random.bytes(Self.nonceByteCount)
        let associated = label.associatedData(of: .derivedKey)
        var ciphertext = [UInt8](repeating: 0, count: secret.count + Self.tagByteCount)
        let count = UInt64(secret.count)
        unsafe secret.withPointer { secret in
            unsafe key.sealing.withPointer { key in
                _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                    &ciphertext,
                    nil,
                    secret,
                    count,
                    associated,
                    UInt64(associated.count),
                    nil,
                    nonce,
                    key
                )
            }
        }
        self.keyEncryptionKeyID = key.id
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    /// Opens the secret into locked memory.
    ///
    /// - Throws: ``Invalid/otherKeyEncryptionKey(sealedWith:given:)`` or ``Invalid/notAuthentic``.
    package func open(label: SealingLabel, with key: KeyEncryptionKey) throws(Invalid) -> SecureBytes {
        guard key.id == self.keyEncryptionKeyID else {
            throw .otherKeyEncryptionKey(sealedWith: self.keyEncryptionKeyID, given: key.id)
        }
        do { return try self.open(label.associatedData(of: .derivedKey), with: key.sealing) } catch {
            return try self.open(label.associatedData(of: .rootKey), with: key.root)
        }
    }

    private func open(_ associated: [UInt8], with key: SecureBytes) throws(Invalid) -> SecureBytes {
        try unsafe SecureBytes(count: self.ciphertext.count - Self.tagByteCount) { secret throws(Invalid) in
            let status = unsafe key.withPointer { key in
                unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                    secret,
                    nil,
                    nil,
                    self.ciphertext,
                    UInt64(self.ciphertext.count),
                    associated,
                    UInt64(associated.count),
                    self.nonce,
                    key
                )
            }
            guard status == 0 else { throw .notAuthentic }
        }
    }

    /// The same secret under another key-encryption key and a fresh nonce; the label stays.
    ///
    /// - Throws: as ``open(label:with:)``.
    package func rewrapped(
        label: SealingLabel,
        from oldKey: KeyEncryptionKey,
        to newKey: KeyEncryptionKey
    ) throws(Invalid) -> SealedSecret {
        SealedSecret(sealing: try self.open(label: label, with: oldKey), label: label, with: newKey)
    }
}

extension SealedSecret {
    /// The role of keys that sign native documents.
    package static let documentRole = "document"
    /// The role of keys that sign the log's checkpoints.
    package static let checkpointRole = "checkpoint"

    /// Seals an Ed25519 key for a role.
    package init(sealing privateKey: Ed25519PrivateKey, role: String, with key: KeyEncryptionKey) {
        let label = SealingLabel(role: role, publicKey: privateKey.publicKey)
        self.init(sealing: privateKey.seed, label: label, with: key)
    }

    /// Opens an Ed25519 key that was sealed for this role, and checks that it is the private half of `publicKey`.
    ///
    /// - Throws: ``Invalid``.
    package func open(
        role: String,
        publicKey: Ed25519PublicKey,
        with key: KeyEncryptionKey
    ) throws(Invalid) -> Ed25519PrivateKey {
        let seed = try self.open(label: SealingLabel(role: role, publicKey: publicKey), with: key)
        guard let privateKey = try? Ed25519PrivateKey(seed: seed) else { throw .malformed }
        guard privateKey.publicKey == publicKey else { throw .otherPublicKey }
        return privateKey
    }

    /// The JSON form for storage: `kek_id`, and `nonce` and `ciphertext` in base64.
    package var json: JSON {
        [
            "ciphertext": .string(Base64.encode(self.ciphertext)),
            "kek_id": .string(self.keyEncryptionKeyID),
            "nonce": .string(Base64.encode(self.nonce)),
        ]
    }

    /// Reads what ``json`` wrote.
    ///
    /// - Throws: ``Invalid/malformed``.
    package init(_ json: JSON) throws(Invalid) {
        guard let id = json["kek_id"]?.stringValue,
            let nonce = json["nonce"]?.stringValue.flatMap(Base64.decode),
            let ciphertext = json["ciphertext"]?.stringValue.flatMap(Base64.decode)
        else { throw .malformed }
        try self.init(keyEncryptionKeyID: id, nonce: nonce, ciphertext: ciphertext)
    }
}

/// The identity of a sealed secret, bound into its ciphertext as associated data.
package struct SealingLabel: Hashable, Sendable {
    /// The one purpose of the key, such as `document` or `checkpoint`.
    package let role: String

    /// The signature algorithm: `EdDSA`.
    package let algorithm: String

    /// The id of the public key.
    package let keyID: String

    /// The public key's bytes.
    package let publicKey: [UInt8]

    /// Names a secret of any algorithm.
    package init(role: String, algorithm: String, keyID: String, publicKey: [UInt8]) {
        self.role = role
        self.algorithm = algorithm
        self.keyID = keyID
        self.publicKey = publicKey
    }

    /// Names an Ed25519 key.
    package init(role: String, publicKey: Ed25519PublicKey) {
        self.init(role: role, algorithm: "EdDSA", keyID: publicKey.keyID, publicKey: publicKey.bytes)
    }

    /// The key with which a secret is sealed.
    package enum Form: Int64, Sendable {
        /// The key-encryption key itself: read, and not written any more.
        case rootKey = 1
        /// A key derived from it for this use alone.
        case derivedKey = 2
    }

    /// Canonical JSON of `{alg, kid, public, role, v}`, the public key in base64url, `v` the form.
    package func associatedData(of form: Form) -> [UInt8] {
        let json: JSON = [
            "alg": .string(self.algorithm),
            "kid": .string(self.keyID),
            "public": .string(Base64URL.encode(self.publicKey)),
            "role": .string(self.role),
            "v": .integer(form.rawValue),
        ]
        return json.canonicalBytes
    }
}
