import PinWire

/// A public key on P-256 (FIPS 186-5, SEC 2's secp256r1): known to be a point of the curve.
package struct P256PublicKey: Sendable {
    /// The number of bytes of ``x963``.
    package static let byteCount = 65

    // All of a SubjectPublicKeyInfo but the point: id-ecPublicKey, prime256v1 (RFC 5480).
    private static let head: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// The uncompressed point (ANSI X9.63): 65 bytes, the first of them 4.
    package let x963: [UInt8]

    private let key: OpenSSLKey

    /// Takes an uncompressed point; nil unless it is 65 bytes and on the curve.
    package init?(x963 point: some Collection<UInt8>) {
        guard point.count == Self.byteCount, point.first == 4,
            let key = OpenSSLKey(subjectPublicKeyInfo: Self.head + point, algorithm: "EC")
        else { return nil }
        self.x963 = Array(point)
        self.key = key
    }

    /// Takes a SubjectPublicKeyInfo in DER; nil unless it is the 91 bytes that ``subjectPublicKeyInfo`` gives.
    package init?(subjectPublicKeyInfo der: some Collection<UInt8>) {
        guard der.prefix(Self.head.count).elementsEqual(Self.head) else { return nil }
        self.init(x963: der.dropFirst(Self.head.count))
    }

    /// The SubjectPublicKeyInfo in DER (RFC 5280 section 4.1, RFC 5480): 91 bytes.
    package var subjectPublicKeyInfo: [UInt8] { Self.head + self.x963 }

    /// Whether a signature (ECDSA with SHA-256) is this key's over a message.
    package func verifies(_ signature: ECDSASignature, over message: [UInt8]) -> Bool {
        self.key.verifies(signature.der, over: message, .sha256)
    }

    /// Whether an encoding of a point, compressed or not, is this one.
    func isEncoded(by point: [UInt8]) -> Bool {
        guard point.count == 33, let lowest = self.x963.last else { return point == self.x963 }
        return point == [2 + (lowest & 1)] + self.x963[1..<33]
    }
}

extension P256PublicKey: Hashable {
    package static func == (left: P256PublicKey, right: P256PublicKey) -> Bool { left.x963 == right.x963 }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.x963) }
}

/// A private key on P-256, its number in locked memory and once more in OpenSSL's.
///
/// OpenSSL's form is made once and shared by all copies and threads.
package struct P256PrivateKey: Sendable {
    /// The public half.
    package let publicKey: P256PublicKey

    /// The number, 32 bytes and the highest first, for sealing.
    let number: SecureBytes

    private let key: OpenSSLKey

    /// Takes a number of 32 bytes, the highest first; nil unless it is from 1 to the order of the curve less 1.
    private init?(number: SecureBytes) {
        guard number.count == 32 else { return nil }
        // An ECPrivateKey (RFC 5915) without its public half, which OpenSSL then computes.
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let der = SecureBytes([0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20], number, curve)
        guard let key = OpenSSLKey(sec1: der), let info = key.subjectPublicKeyInfo,
            let publicKey = P256PublicKey(subjectPublicKeyInfo: info)
        else { return nil }
        self.publicKey = publicKey
        self.number = number
        self.key = key
    }

    /// Takes decoded key material.
    ///
    /// - Throws: ``KeyImportError/unusable`` for a number out of range or with another public half.
    init(number: SecureBytes, publicKey: [UInt8]?) throws(KeyImportError) {
        guard let key = P256PrivateKey(number: number) else { throw .unusable }
        if let publicKey, !key.publicKey.isEncoded(by: publicKey) { throw .unusable }
        self = key
    }

    /// Reads an uploaded key: PKCS#8 or SEC1 in PEM, DER or base64 of DER, or the number by itself, 32 bytes or base64
    /// of them. The caller wipes the bytes.
    ///
    /// - Throws: ``KeyImportError``.
    package init(importing bytes: some Collection<UInt8>) throws(KeyImportError) {
        guard case .p256(let number, let publicKey) = try PrivateKeyMaterial(importing: bytes, as: .es256) else {
            throw .otherAlgorithm
        }
        try self.init(number: number, publicKey: publicKey)
    }

    /// Makes a new key.
    ///
    /// - Throws: ``KeyFault/generation``.
    package static func generate() throws(KeyFault) -> P256PrivateKey {
        // A number is drawn again where it is out of range (FIPS 186-5 appendix A.2.2): once in four thousand million
        // times. Three in a row are a fault.
        for _ in 0..<3 {
            if let key = P256PrivateKey(number: .random(count: 32)) { return key }
        }
        throw .generation
    }

    /// Signs a message (ECDSA with SHA-256): another signature each time.
    ///
    /// - Throws: ``KeyFault/signing``.
    package func sign(_ message: [UInt8]) throws(KeyFault) -> ECDSASignature {
        guard let signature = self.key.sign(message, .sha256).flatMap(ECDSASignature.init(der:)) else {
            throw .signing
        }
        return signature
    }
}
