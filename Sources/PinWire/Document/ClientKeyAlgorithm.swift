/// The algorithms with which deployed clients verify documents. The raw values never change.
package enum ClientKeyAlgorithm: String, CaseIterable, Hashable, Sendable {
    /// Ed25519 (RFC 8032): Dynapins up to 0.1.
    case ed25519
    /// ECDSA on P-256 with SHA-256 (RFC 7518 section 3.4): Dynapins since 0.2, Wultra.
    case es256
    /// RSASSA-PKCS1-v1_5 with SHA-512 (RFC 8017 section 8.2): ssl-pinning.
    case rsaSHA512 = "rsa_sha512"
}
