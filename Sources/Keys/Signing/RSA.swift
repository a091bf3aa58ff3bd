import Concurrency
import PinWire

/// An RSA public key for signatures in PKCS#1 v1.5 (RFC 8017 section 8.2), with SHA-512 by default.
package struct RSAPublicKey: Sendable {
    /// The accepted sizes of a modulus in bits. Fewer are too weak, and more take too long.
    package static let bits = 2048...8192

    /// The SubjectPublicKeyInfo in DER (RFC 5280 section 4.1): 294 bytes for 2048 bits, 422 for 3072.
    package let subjectPublicKeyInfo: [UInt8]

    private let key: OpenSSLKey

    /// Takes a SubjectPublicKeyInfo in DER; nil unless it is one of an RSA key of a size in ``bits``.
    package init?(subjectPublicKeyInfo der: some Collection<UInt8>) {
        let der = Array(der)
        guard let key = OpenSSLKey(subjectPublicKeyInfo: der, algorithm: "RSA"), Self.bits.contains(key.bits) else {
            return nil
        }
        self.subjectPublicKeyInfo = der
        self.key = key
    }

    /// Whether a signature, as long as the modulus, is this key's over a message.
    package func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        self.key.verifies(signature, over: message, .sha512)
    }

    /// The same with SHA-256: `RS256` of RFC 7518.
    package func verifiesRS256(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        self.key.verifies(signature, over: message, .sha256)
    }
}

extension RSAPublicKey: Hashable {
    package static func == (left: RSAPublicKey, right: RSAPublicKey) -> Bool {
        left.subjectPublicKeyInfo == right.subjectPublicKeyInfo
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.subjectPublicKeyInfo) }
}

/// An RSA private key, its numbers in locked memory and once more in OpenSSL's.
///
/// OpenSSL's form is made once and shared by all copies and threads. A signature with a key of 3072 bits takes about
/// two milliseconds.
package struct RSAPrivateKey: Sendable {
    /// The size in bits of the modulus of a key that is made here.
    package static let generatedBits = 3072

    /// The public half.
    package let publicKey: RSAPublicKey

    /// The RSAPrivateKey in DER (RFC 8017 appendix A.1.2), for sealing.
    let pkcs1: SecureBytes

    private let key: OpenSSLKey

    /// Takes an RSAPrivateKey in DER.
    ///
    /// - Throws: ``KeyImportError/unusable`` or ``KeyImportError/wrongSize``.
    init(pkcs1: SecureBytes) throws(KeyImportError) {
        guard let key = OpenSSLKey(pkcs1: pkcs1) else { throw .unusable }
        guard RSAPublicKey.bits.contains(key.bits) else { throw .wrongSize }
        // Signing and verifying once shows what clients would find out: whether the numbers belong together. Tests of
        // the primes would take seconds.
        let message = Array("pinledger".utf8)
        guard let publicKey = key.subjectPublicKeyInfo.flatMap({ RSAPublicKey(subjectPublicKeyInfo: $0) }),
            let signature = key.sign(message, .sha512), publicKey.verifies(signature, over: message)
        else { throw .unusable }
        self.publicKey = publicKey
        self.pkcs1 = pkcs1
        self.key = key
    }

    /// Reads an uploaded key: PKCS#8 or PKCS#1 in PEM, DER or base64 of DER, of a size in ``RSAPublicKey/bits``. The
    /// caller wipes the bytes.
    ///
    /// - Throws: ``KeyImportError``.
    package init(importing bytes: some Collection<UInt8>) throws(KeyImportError) {
        guard case .rsa(let pkcs1) = try PrivateKeyMaterial(importing: bytes, as: .rsaSHA512) else {
            throw .otherAlgorithm
        }
        try self.init(pkcs1: pkcs1)
    }

    /// Makes a new key of 3072 bits, on a thread of its own: it takes from a tenth of a second up to seconds.
    ///
    /// - Throws: ``KeyFault/generation``.
    package static func generate() async throws(KeyFault) -> RSAPrivateKey {
        let key = await DetachedThread.run { () -> RSAPrivateKey? in
            OpenSSLKey.generateRSA(bits: CInt(self.generatedBits)).flatMap { try? RSAPrivateKey(pkcs1: $0) }
        }
        guard let key = key ?? nil else { throw .generation }
        return key
    }

    /// Signs a message (PKCS#1 v1.5 with SHA-512): as many bytes as the modulus has, always the same for the same key
    /// and message.
    ///
    /// - Throws: ``KeyFault/signing``.
    package func sign(_ message: [UInt8]) throws(KeyFault) -> [UInt8] {
        guard let signature = self.key.sign(message, .sha512) else { throw .signing }
        return signature
    }

    /// Signs a message in the form of `RS256` (RFC 7518 section 3.3: PKCS#1 v1.5 with SHA-256).
    ///
    /// - Throws: ``KeyFault/signing``.
    package func signRS256(_ message: [UInt8]) throws(KeyFault) -> [UInt8] {
        guard let signature = self.key.sign(message, .sha256) else { throw .signing }
        return signature
    }
}
