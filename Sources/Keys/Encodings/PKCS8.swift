/// The encoding of private keys at rest: PKCS#8's PrivateKeyInfo in DER (RFC 5208), in locked memory.
enum PKCS8 {
    /// Encodes a seed of 32 bytes: 48 bytes (RFC 8410 section 7).
    static func ed25519(seed: SecureBytes) -> SecureBytes {
        SecureBytes(
            [0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20], seed)
    }

    /// Encodes a number of 32 bytes and its point of 65: 138 bytes, in OpenSSL's form (RFC 5915, the curve named once).
    static func p256(number: SecureBytes, point: [UInt8]) -> SecureBytes {
        let head: [UInt8] = [
            0x30, 0x81, 0x87, 0x02, 0x01, 0x00,
            // id-ecPublicKey, prime256v1.
            0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
            0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
            0x04, 0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01, 0x04, 0x20,
        ]
        return SecureBytes(head, number, [0xA1, 0x44, 0x03, 0x42, 0x00] + point)
    }

    /// Encodes an RSAPrivateKey in DER, which for the accepted sizes is between 256 and 65,000 bytes long.
    static func rsa(pkcs1: SecureBytes) -> SecureBytes {
        func long(_ length: Int) -> [UInt8] { [0x82, UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)] }
        // rsaEncryption, NULL.
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let inner = [0x02, 0x01, 0x00] + algorithm + [0x04] + long(pkcs1.count)
        return SecureBytes([0x30] + long(inner.count + pkcs1.count) + inner, pkcs1)
    }
}
