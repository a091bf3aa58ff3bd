/// Why uploaded bytes are not accepted as a private key. The raw values never change: they stand in answers that
/// programs read. None reveals anything of the key.
package enum KeyImportError: String, Error, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// More than 16 KiB.
    case tooLarge = "too_large"
    /// Not one of the encodings of keys, or cut short.
    case malformed
    /// Encrypted with a passphrase (PKCS#8's EncryptedPrivateKeyInfo, or PEM with `Proc-Type`).
    case encrypted
    /// A public key or a certificate, without its private half.
    case publicOnly = "public_only"
    /// A private key, of another algorithm or on another curve.
    case otherAlgorithm = "other_algorithm"
    /// An RSA key of fewer than 2048 or more than 8192 bits.
    case wrongSize = "wrong_size"
    /// The numbers do not form a key: out of range, or halves that do not belong together.
    case unusable

    package var description: String {
        switch self {
        case .tooLarge: "must be at most 16 KiB"
        case .malformed: "is no private key in PEM, DER or base64"
        case .encrypted: "is encrypted with a passphrase; decrypt it first"
        case .publicOnly: "is a public key or a certificate; the private key is needed"
        case .otherAlgorithm: "is a key of another algorithm"
        case .wrongSize: "must be an RSA key of 2048 to 8192 bits"
        case .unusable: "has numbers that do not make a key"
        }
    }
}

/// Why a valid key could not be made or used: OpenSSL or libsodium failed, because memory was short or by a computing
/// fault.
package enum KeyFault: String, Error, Hashable, Sendable, CustomStringConvertible {
    case generation
    case signing

    package var description: String {
        switch self {
        case .generation: "a key could not be generated"
        case .signing: "a signature could not be made"
        }
    }
}
