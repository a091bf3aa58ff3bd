import CSodium
import PinWire

/// An Ed25519 public key (RFC 8032): 32 bytes, known to be a point of the right group.
package struct Ed25519PublicKey: Hashable, Sendable {
    /// The number of bytes of a public key.
    package static let byteCount = 32

    /// The number of bytes of a signature.
    package static let signatureByteCount = 64

    /// The encoded point: 32 bytes.
    package let bytes: [UInt8]

    /// Takes an encoded point; `nil` unless it is 32 bytes, canonical, and in the main subgroup.
    ///
    /// No honest key is of small order, and with one such key some signature would fit every message.
    package init?(_ bytes: some Collection<UInt8>) {
        let bytes = [UInt8](bytes)
        Sodium.start()
        guard Ed25519Encoding.isUsable(bytes), unsafe crypto_core_ed25519_is_valid_point(bytes) == 1 else { return nil }
        self.bytes = bytes
    }

    /// Takes what libsodium computed from a seed.
    fileprivate init(computed bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether `signature`, 64 bytes, is this key's over `message`.
    ///
    /// Strict as libsodium is: a scalar out of range and a point of small order are refused, so that a signature cannot
    /// be rewritten into another valid one.
    package func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard signature.count == Self.signatureByteCount else { return false }
        return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), self.bytes) == 0
    }

    /// The RFC 7638 thumbprint, which names this key in signatures and documents.
    package var keyID: String { JWK(self).keyID }
}

/// An Ed25519 private key (RFC 8032), its seed in locked memory.
package struct Ed25519PrivateKey: Sendable {
    /// The number of bytes of a seed.
    package static let seedByteCount = 32

    /// Why a key could not be used.
    package enum Failure: Error, Hashable, Sendable {
        /// A seed is 32 bytes.
        case wrongSeedLength(Int)
        /// The signature just made does not verify: memory or CPU is at fault, and the signature MUST NOT be given out.
        case signingFault
    }

    /// The public half.
    package let publicKey: Ed25519PublicKey

    // In libsodium's form: the 32-byte seed, then the 32-byte public key.
    private let expanded: SecureBytes

    /// Makes the key of a seed.
    ///
    /// - Throws: ``Failure/wrongSeedLength(_:)`` unless it is 32 bytes.
    package init(seed: SecureBytes) throws(Failure) {
        guard seed.count == Self.seedByteCount else { throw .wrongSeedLength(seed.count) }
        var publicKey = [UInt8](repeating: 0, count: Ed25519PublicKey.byteCount)
        self.expanded = unsafe SecureBytes(count: Self.seedByteCount + Ed25519PublicKey.byteCount) { expanded in
            unsafe seed.withPointer { seed in
                _ = unsafe crypto_sign_seed_keypair(&publicKey, expanded, seed)
            }
        }
        self.publicKey = Ed25519PublicKey(computed: publicKey)
    }

    /// Makes the key of a seed in ordinary memory, which the caller wipes.
    ///
    /// - Throws: ``Failure/wrongSeedLength(_:)`` unless it is 32 bytes.
    package init(seed: [UInt8]) throws(Failure) {
        try self.init(seed: SecureBytes(copying: seed))
    }

    /// Makes a new key.
    package static func generate() throws(Failure) -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: .random(count: self.seedByteCount))
    }

    /// Signs `message` (pure Ed25519): 64 bytes, always the same for the same key and message.
    ///
    /// The signature is verified before it is given out: one made under a computing fault would reveal the key.
    ///
    /// - Throws: ``Failure/signingFault``.
    package func sign(_ message: [UInt8]) throws(Failure) -> [UInt8] {
        let signature = self.signOnce(message)
        guard self.publicKey.verifies(signature, over: message) else { throw .signingFault }
        return signature
    }

    /// Signs as ``sign(_:)`` does, and verifies nothing, which takes three quarters of the time.
    ///
    /// Only for messages of which each is signed once, with a key that signs nothing that clients believe. A fault in computing makes
    /// a wrong signature, which says nothing of the key unless the right one of the same message is known too (Romailler and
    /// Pelissier, "Practical fault attack against the Ed25519 and EdDSA signature schemes", 2017). A bit of the key that has
    /// flipped in memory is the exception: each wrong signature then tells that bit. Verifiers refuse all of them.
    package func signOnce(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Ed25519PublicKey.signatureByteCount)
        unsafe self.expanded.withPointer { key in
            _ = unsafe crypto_sign_detached(&signature, nil, message, UInt64(message.count), key)
        }
        return signature
    }

    /// The seed, copied into locked memory of its own, for sealing.
    var seed: SecureBytes {
        unsafe SecureBytes(count: Self.seedByteCount) { seed in
            unsafe self.expanded.withPointer { expanded in
                unsafe seed.initialize(from: expanded, count: Self.seedByteCount)
            }
        }
    }
}
