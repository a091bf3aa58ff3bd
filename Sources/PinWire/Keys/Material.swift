/// A public key or a certificate in DER, identified by its SHA-256: a key's pin, a certificate's fingerprint.
package struct Material: Hashable, Sendable {
    /// The kind of the bytes. The raw values are stored.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        /// A SubjectPublicKeyInfo (RFC 5280 section 4.1).
        case publicKey = "public_key"
        /// A whole certificate.
        case certificate
    }

    package let kind: Kind
    package let der: [UInt8]
    /// SHA-256 of ``der``, 32 bytes.
    package let digest: [UInt8]

    /// The most bytes that are stored: larger keys and certificates can be pinned all the same.
    package static let maximumSize = 131_072

    package init(_ kind: Kind, der: [UInt8]) {
        self.kind = kind
        self.der = der
        self.digest = sha256(der)
    }
}
