import PinWire
package import Pinning

extension DynapinsProtocol {
    /// The name that answers have for the signing key: the first 8 hexadecimal digits of a SHA-256, in lower case.
    /// `keyId` of protocol ``ed25519``, `kid` of ``es256``.
    ///
    /// - Parameter publicKey: Of ``ed25519`` the raw key, 32 bytes; of ``es256`` its SubjectPublicKeyInfo in DER.
    package func keyID(of publicKey: [UInt8]) -> String {
        Hex.encode(sha256(publicKey).prefix(4))
    }
}
