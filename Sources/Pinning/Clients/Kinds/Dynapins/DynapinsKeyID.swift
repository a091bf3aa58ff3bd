import PinWire

extension DynapinsProtocol {
    /// The name of the signing key in answers: the first 8 hexadecimal digits of a SHA-256, in lower case. It is
    /// `keyId` of protocol ``ed25519``, which hashes the raw key, and `kid` of ``es256``, which hashes the whole
    /// argument.
    ///
    /// - Parameter publicKey: The key's SubjectPublicKeyInfo in DER. One of Ed25519 ends with the raw 32 bytes (RFC 8410
    ///   section 4).
    package func keyID(of publicKey: [UInt8]) -> String {
        let named =
            switch self {
            case .ed25519: publicKey.suffix(32)
            case .es256: publicKey[...]
            }
        return Hex.encode(sha256(Array(named)).prefix(4))
    }
}
