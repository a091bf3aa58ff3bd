import COpenSSL
import Keys
import PinWire
import Testing

@Suite struct `Imported keys` {
    /// A text or bytes that must be refused, and why.
    struct Refusal: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var algorithm: ClientKeyAlgorithm
        var error: KeyImportError

        init(_ name: String, _ bytes: [UInt8], _ error: KeyImportError, for algorithm: ClientKeyAlgorithm = .es256) {
            self.testDescription = name
            self.bytes = bytes
            self.algorithm = algorithm
            self.error = error
        }

        init(_ name: String, _ text: String, _ error: KeyImportError, for algorithm: ClientKeyAlgorithm = .es256) {
            self.init(name, Array(text.utf8), error, for: algorithm)
        }
    }

    // Made with OpenSSL 3.0.19.
    static let p384 =
        "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBtrhkV+DG9dzuOrxfX0MmQSEt2Ge3U6ZonhrTpPoyOcfLMaweKjcHoamX/Wfxr"
        + "56ShZANiAAS5dVcvd9NNazOCR3RIsH9ttH6mpnViQ8lQkizhsQSPsssaaXwP8zFHmW1mIHHcLtGU4A8HmeAaHM78bEaWX6lu6jOPuBa4"
        + "+lPsgiXaZLWcB/m8TL5b4SWP47Mk30jNYEI="
    static let secp256k1 =
        "MHQCAQEEIGTXBAjSxSfzT9zmo0+uNUGZWhUwYXlW90q/G6WtTrbXoAcGBSuBBAAKoUQDQgAEidXn9r44byMlAGnN+2+q95vm+ZDqLC6X15E3"
        + "Oi8lexY9KwrBnk20CRAqrzw1BSA+lpItacJuDoiJVw8j7rUUcw=="
    static let explicitCurve =
        "MIIBaAIBAQQgHyx7LnYEHVm+p1xg1YZ1JdBRi9vnXAuCp3am0HVpGq2ggfowgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAA"
        + "AAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7"
        + "zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8"
        + "D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBoUQDQgAEJuArN/MT1QlCG1mJmFpl"
        + "MpQOpitGLHxqj2Nde2k+DOZoPHWMHFZmSjm4ilKFvLGooO39AguWsrh0lSA8ggloMw=="
    static let x25519 = "MC4CAQAwBQYDK2VuBCIEIKiMGQG7ZqzMa2tsAqeWi03tLVzMzyAdhEJCvLMn0J9D"
    static let encrypted =
        "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhmUR4+eus9JwICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECdgZLCw"
        + "wuaw4nkGLwkP0cAEQLFhhogQ6P51Dqx8YA1ZgVvyyM7VRdJnISZa++CNo/l2yLGQvR5cC6sBZQVyvivjpHQeGi+62tiwzPPiPcXGlFU="
    static let encryptedPEM = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,99974A1C89456B32822DE2C6371EE32A

        320xZoA8JetGt9F48aLes/JtK7lE8UwsEDC4yL5fD86BpvuI37BxPg74fwRSeKGX
        XSGYmReY3J8HYMwP2fN+1UQAqZFWW1w6hYzavllRHPf1KvND2Q7FEp2cVCtAu14M
        yzeAYFKAvJuxqPzFlGmGc7VXUxqOSZ7M3b0PwZs7vfQ=
        -----END EC PRIVATE KEY-----
        """
    static let certificate =
        "MIIBLDCB36ADAgECAhR1e9WazJ5nnEI3/2H6qqy0lXaurDAFBgMrZXAwDDEKMAgGA1UEAwwBYTAeFw0yNjExMjIxMTEwNTVaFw0yNjExMjMx"
        + "MTEwNTVaMAwxCjAIBgNVBAMMAWEwKjAFBgMrZXADIQCI8I/IhyUMa8MRxgbMWohnoLJnu8PdjLRFwRmwjejDx6NTMFEwHQYDVR0OBBYE"
        + "FHhTWqrPOzjC2H494xI3iaD0PfB8MB8GA1UdIwQYMBaAFHhTWqrPOzjC2H494xI3iaD0PfB8MA8GA1UdEwEB/wQFMAMBAf8wBQYDK2Vw"
        + "A0EAw9bI/Wmm5FRBBRrjbWHk/A1d8RvdFIksjXD+Sxy348tgukolghlay8H97a/HLv6S8IDmyUqoQ5GVGXI6GbvJDA=="

    /// The key of Wultra's clients with a point that is not its own.
    static let otherHalf: [UInt8] = {
        var bytes = base64(WultraKey.sec1)
        bytes[bytes.count - 1] ^= 1
        return bytes
    }()

    static let refusals = [
        Refusal("nothing", "", .malformed),
        Refusal("white space", " \n", .malformed),
        Refusal("words", "secret", .malformed),
        Refusal("a number in hexadecimal", Hex.encode(base64(WultraKey.number)), .malformed),
        Refusal("a number of 31 bytes", Array(base64(WultraKey.number).dropLast()), .malformed),
        Refusal(
            "a number of 64 bytes", Base64.encode(base64(DynapinsKey.seed) + base64(DynapinsKey.seed)), .malformed,
            for: .ed25519),
        Refusal("a number for RSA", DynapinsKey.seed, .malformed, for: .rsaSHA512),
        Refusal("too much", [UInt8](repeating: 0x20, count: (16 << 10) + 1), .tooLarge),
        Refusal("PEM without an end", "-----BEGIN PRIVATE KEY-----\n\(WultraKey.pkcs8)\n", .malformed),
        Refusal(
            "PEM with another end", "-----BEGIN PRIVATE KEY-----\n\(WultraKey.pkcs8)\n-----END EC PRIVATE KEY-----",
            .malformed),
        Refusal("base64 with an octet above 127", [0xFF] + Array(WultraKey.number.utf8.dropFirst()), .malformed),
        Refusal(
            "PEM with octets above 127",
            pem("PRIVATE KEY", "////" + WultraKey.pkcs8.dropFirst(4)).utf8.map { $0 == 0x2F ? 0xFF : $0 }, .malformed),
        Refusal("PEM of an unknown kind", pem("OPENSSH PRIVATE KEY", WultraKey.pkcs8), .malformed),
        Refusal("PEM with a number in it", pem("PRIVATE KEY", WultraKey.number), .malformed),
        Refusal("DER with something behind it", base64(WultraKey.pkcs8) + [0], .malformed),
        Refusal("encrypted DER", base64(Self.encrypted), .encrypted),
        Refusal("encrypted PKCS#8", pem("ENCRYPTED PRIVATE KEY", Self.encrypted), .encrypted),
        Refusal("PEM with Proc-Type", Self.encryptedPEM, .encrypted),
        Refusal("a public key", WultraKey.publicKey, .publicOnly),
        Refusal("a public key in PEM", pem("PUBLIC KEY", WultraKey.publicKey), .publicOnly),
        Refusal("an RSA public key", OpenSSLRSAKey.publicKey, .publicOnly, for: .rsaSHA512),
        Refusal("a certificate", Self.certificate, .publicOnly),
        Refusal("a certificate in PEM", pem("CERTIFICATE", Self.certificate), .publicOnly, for: .ed25519),
        Refusal("a P-256 key for Ed25519", WultraKey.pkcs8, .otherAlgorithm, for: .ed25519),
        Refusal("an Ed25519 key for P-256", DynapinsKey.pkcs8, .otherAlgorithm),
        Refusal("an RSA key for P-256", OpenSSLRSAKey.pkcs1, .otherAlgorithm),
        Refusal("a P-256 key for RSA", WultraKey.sec1, .otherAlgorithm, for: .rsaSHA512),
        Refusal("a P-384 key", Self.p384, .otherAlgorithm),
        Refusal("a secp256k1 key", Self.secp256k1, .otherAlgorithm),
        Refusal("a P-256 key with its curve spelled out", Self.explicitCurve, .otherAlgorithm),
        Refusal("an X25519 key", Self.x25519, .otherAlgorithm, for: .ed25519),
        Refusal("a key with another point", Self.otherHalf, .unusable),
    ]

    @Test(arguments: refusals)
    func `a key of another form is refused for its reason`(_ refusal: Refusal) {
        #expect(throws: refusal.error) {
            try ClientSigningKey(importing: refusal.bytes, algorithm: refusal.algorithm)
        }
        #expect(ERR_peek_error() == 0)
    }

    static let encodings: [(ClientKeyAlgorithm, [UInt8])] = [
        (.ed25519, base64(DynapinsKey.pkcs8)), (.ed25519, Array(DynapinsKey.pkcs8.utf8)),
        (.ed25519, base64(DynapinsKey.seed)), (.ed25519, Array(DynapinsKey.seed.utf8)),
        (.ed25519, Array(pem("PRIVATE KEY", DynapinsKey.pkcs8).utf8)), (.es256, base64(WultraKey.pkcs8)),
        (.es256, base64(WultraKey.sec1)), (.es256, base64(WultraKey.sec1WithoutPoint)),
        (.es256, Array(WultraKey.pkcs8.utf8)), (.es256, base64(WultraKey.number)),
        (.es256, Array(WultraKey.number.utf8)),
        (.es256, Array(pem("EC PRIVATE KEY", WultraKey.sec1).utf8)), (.rsaSHA512, base64(OpenSSLRSAKey.pkcs8)),
        (.rsaSHA512, base64(OpenSSLRSAKey.pkcs1)),
        (.rsaSHA512, Array(pem("RSA PRIVATE KEY", OpenSSLRSAKey.pkcs1).utf8)),
    ]

    @Test(arguments: encodings)
    func `a key cut short at any byte is refused`(algorithm: ClientKeyAlgorithm, encoding: [UInt8]) {
        #expect(throws: Never.self) { try ClientSigningKey(importing: encoding, algorithm: algorithm) }
        for count in encoding.indices {
            #expect(throws: KeyImportError.self) {
                try ClientSigningKey(importing: encoding.prefix(count), algorithm: algorithm)
            }
            #expect(ERR_peek_error() == 0)
        }
    }

    @Test(arguments: [
        (ClientKeyAlgorithm.es256, WultraKey.pkcs8, 3), (.es256, WultraKey.sec1, 3),
        (.rsaSHA512, OpenSSLRSAKey.pkcs8, 197),
    ])
    func `a key with a bit changed is refused, or reads as the same key`(
        algorithm: ClientKeyAlgorithm, encoding: String, step: Int
    ) throws {
        let bytes = base64(encoding)
        let key = try ClientSigningKey(importing: bytes, algorithm: algorithm)
        var refused = 0
        for bit in stride(from: 0, to: bytes.count * 8, by: step) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            do {
                let read = try ClientSigningKey(importing: damaged, algorithm: algorithm)
                #expect(read.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
            } catch {
                refused += 1
            }
            #expect(ERR_peek_error() == 0)
        }
        #expect(refused > 0)
    }

    @Test func `the reasons for refusing a key have names that stay`() {
        #expect(
            KeyImportError.allCases.map(\.rawValue) == [
                "too_large", "malformed", "encrypted", "public_only", "other_algorithm", "wrong_size", "unusable",
            ]
        )
    }
}
