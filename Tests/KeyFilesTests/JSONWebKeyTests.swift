import KeyFiles
import PinWire
import Testing

@Suite struct `A JSON Web Key` {
    static let ec =
        #"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"}"#
    static let rsa =
        #"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#
    static let ed25519 = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#

    @Test func `a JSON Web Key of RFC 7517 has the pin of the same key in DER`() throws {
        // The certificates beside this have the very keys.
        #expect(try publicKey(Self.ec.utf8) == certificate(vector("odd/version-1.der")).key)
        let rsa = try publicKey(Self.rsa.utf8)
        #expect((rsa.algorithm, rsa.bits) == ("rsa", 2048))
        #expect(rsa.weaknesses == [])
        let set = try items(text: #"{"keys":[\#(Self.ec), \#(Self.rsa)]}"#)
        #expect(set == [.publicKey(try publicKey(Self.ec.utf8)), .publicKey(rsa)])
        #expect(try items(text: "[\(Self.rsa)]") == [.publicKey(rsa)])
    }

    @Test func `a JSON Web Key of RFC 8037 has the pin of the same key in DER`() throws {
        let der = [UInt8]([0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00])
        let point = try #require(Base64URL.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
        #expect(try publicKey(Self.ed25519.utf8) == publicKey(der + point))
    }

    @Test func `a JSON Web Key of every kind has the pin that openssl computes`() async throws {
        let shop = try Workshop()
        for (options, type, curve, size) in [
            ("-algorithm EC -pkeyopt ec_paramgen_curve:P-384", "EC", "P-384", 48),
            ("-algorithm EC -pkeyopt ec_paramgen_curve:P-521", "EC", "P-521", 66),
            ("-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", "EC", "secp256k1", 32),
            ("-algorithm ED448", "OKP", "Ed448", 57), ("-algorithm X25519", "OKP", "X25519", 32),
            ("-algorithm X448", "OKP", "X448", 56),
        ] {
            try await shop.run("openssl genpkey \(options) | openssl pkey -pubout -outform der -out key.der")
            let der = try shop.bytes("key.der")
            let x = Base64URL.encode(type == "EC" ? der.suffix(2 * size).prefix(size) : der.suffix(size))
            let y = type == "EC" ? ",\"y\":\"\(Base64URL.encode(der.suffix(size)))\"" : ""
            let text = "{\"kty\":\"\(type)\",\"crv\":\"\(curve)\",\"x\":\"\(x)\"\(y)}"
            #expect(try publicKey(text.utf8) == publicKey(der))
            #expect(try publicKey(der).weaknesses.isEmpty != ["secp256k1", "X25519", "X448"].contains(curve))
        }
    }

    @Test(arguments: ["secp256r1", "P256", "prime256v1", "Ed25519", ""])
    func `a JSON Web Key on a curve that no RFC names is refused, however long its coordinates`(curve: String)
        throws
    {
        let text = Self.ec.replacing("P-256", with: curve)
        let error = refusal(text.utf8)
        guard case .unreadableKey(.whole, let algorithm)? = error else {
            throw Unexpected(description: "\(curve) is not refused as a key")
        }
        #expect(algorithm.contains("EC on P-256, P-384, P-521 or secp256k1"))
        // The text is whole: another copy would be no better.
        #expect(error?.description.contains("damaged") == false)
    }

    @Test(
        arguments: [
            "{}", "[]", "[1]", #"{"keys":[]}"#, #"{"keys":[{"kty":"EC"}]}"#, #"{"kty":"RSA","n":"AQAB"}"#,
            #"{"kty":"RSA","n":"AQ==","e":"AQAB"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AQAB"}"#,
            #"{"kty":"OKP","crv":"X25519","x":"AQAB"}"#, #"{"kty":"OKP","crv":"Ed25520","x":"AQAB"}"#,
            #"{"kty":"EC","crv":"secp256k1","x":"AQAB","y":"AQAB"}"#, #"{"\u006bty":"EC"}"#, #"{"kty":"EC""#, "{\"",
            "{\"\\",
            #"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}"#,
        ])
    func `a malformed JSON Web Key is refused`(text: String) throws {
        let error = try #require(refusal(text.utf8))
        if case .privateKey = error { throw Unexpected(description: "\(text) is called a private key") }
    }
}
