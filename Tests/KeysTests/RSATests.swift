import Keys
import PinWire
import Testing

@Suite struct `RSA` {
    @Test(arguments: [
        Array(OpenSSLRSAKey.pkcs8.utf8), base64(OpenSSLRSAKey.pkcs8), Array(OpenSSLRSAKey.pkcs1.utf8),
        Array(pem("PRIVATE KEY", OpenSSLRSAKey.pkcs8).utf8), Array(pem("RSA PRIVATE KEY", OpenSSLRSAKey.pkcs1).utf8),
    ])
    func `a key of OpenSSL's is read from each encoding and makes the same signature`(encoding: [UInt8]) throws {
        let key = try RSAPrivateKey(importing: encoding)
        #expect(Base64.encode(key.publicKey.subjectPublicKeyInfo) == OpenSSLRSAKey.publicKey)
        #expect(Base64.encode(try key.sign(OpenSSLRSAKey.message)) == OpenSSLRSAKey.signature)
    }

    @Test func `a signature of OpenSSL's verifies, and a changed one does not`() throws {
        let key = try #require(RSAPublicKey(subjectPublicKeyInfo: base64(OpenSSLRSAKey.publicKey)))
        let signature = base64(OpenSSLRSAKey.signature)
        #expect(key.verifies(signature, over: OpenSSLRSAKey.message))
        #expect(!key.verifies(signature, over: OpenSSLRSAKey.message + [0]))
        for bit in stride(from: 0, to: signature.count * 8, by: 11) {
            var forged = signature
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.verifies(forged, over: OpenSSLRSAKey.message))
        }
        #expect(!key.verifies(signature + [0], over: OpenSSLRSAKey.message))
        #expect(!key.verifies([], over: OpenSSLRSAKey.message))
    }

    @Test func `a public key of another algorithm, or with something behind it, is refused`() {
        #expect(RSAPublicKey(subjectPublicKeyInfo: base64(WultraKey.publicKey)) == nil)
        #expect(RSAPublicKey(subjectPublicKeyInfo: base64(OpenSSLRSAKey.publicKey) + [0]) == nil)
        #expect(RSAPublicKey(subjectPublicKeyInfo: base64(OpenSSLRSAKey.publicKey).dropLast()) == nil)
        #expect(RSAPublicKey(subjectPublicKeyInfo: []) == nil)
    }

    /// An RSAPrivateKey in DER whose modulus has so many bits, all of them set, and whose other numbers are 3.
    static func invented(bits: Int) -> [UInt8] {
        func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
            let count = contents.count
            let octets = [UInt8(count >> 8), UInt8(count & 0xFF)].drop { $0 == 0 }
            return [tag] + (count < 128 ? [] : [0x80 + UInt8(octets.count)]) + octets + contents
        }
        let first = bits % 8 == 0 ? [0, 0xFF] : [UInt8(1 << (bits % 8)) - 1]
        let modulus = first + [UInt8](repeating: 0xFF, count: (bits - 1) / 8)
        let numbers = [[0], modulus] + [[UInt8]](repeating: [3], count: 7)
        return element(0x30, numbers.flatMap { element(2, $0) })
    }

    @Test(arguments: [
        (1024, KeyImportError.wrongSize), (2047, .wrongSize), (2048, .unusable), (8192, .unusable), (8193, .wrongSize),
    ])
    func `keys have 2048 to 8192 bits`(bits: Int, error: KeyImportError) {
        #expect(throws: error) { try RSAPrivateKey(importing: Self.invented(bits: bits)) }
    }

    @Test func `a generated key has 3072 bits and signs`() async throws {
        let key = try await RSAPrivateKey.generate()
        #expect(key.publicKey.subjectPublicKeyInfo.count == 422)
        let signature = try key.sign([1, 2, 3])
        #expect(signature.count == 384)
        #expect(key.publicKey.verifies(signature, over: [1, 2, 3]))
    }
}
