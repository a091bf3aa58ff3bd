import Keys
import PinWire
import Testing

@Suite struct `Keys of Dynapins` {
    @Test func `the signature of the deployed server up to 0-1 is reproduced byte for byte`() throws {
        let key = try Ed25519PrivateKey(importing: DynapinsKey.pkcs8.utf8)
        let message =
            #"{"domain":"example.com","pins":["88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce","#
            + #""a814636663a69123492f4a7bd337a4ee8752233aacfe6b91e0993dc58c823fe1"],"#
            + #""created":"2025-10-17T11:19:41Z","expires":"2025-10-17T12:19:41Z","ttl_seconds":3600,"#
            + #""keyId":"7fda4c1e","alg":"Ed25519"}"#
        #expect(
            Base64.encode(try key.sign(Array(message.utf8)))
                == "YfgwXFSRbB4zn1r1jtoqjkiLCxajox/tsLRtHRgwXiZ8i34JnfTMWjOl/L0yyR/cjJQ85sRP78fVyeAMxWD/CA=="
        )
    }

    @Test func `an Ed25519 key has the SubjectPublicKeyInfo of RFC 8410`() throws {
        let key = try Ed25519PrivateKey(importing: DynapinsKey.pkcs8.utf8).publicKey
        #expect(Base64.encode(key.subjectPublicKeyInfo) == DynapinsKey.publicKey)
        #expect(Hex.encode(sha256(key.subjectPublicKeyInfo)).hasPrefix("7a64c3cb"))
    }

    static let jws = [
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IjA2ZTQzYWU5IiwidHlwIjoiSldUIn0",
        "eyJkb21haW4iOiJhcGkuZXhhbXBsZS5jb20iLCJleHAiOjQxMDI0NDQ4MDAsImlhdCI6MTc2MDY5NzYwMCwicGlucyI6WyJ5cGVCRXNvYnZj"
            + "cjZ3akd6bWlQY1RhZUc3L2dVZkU1eXVZQjNoYS91U0xzPSIsIlBpUG9GZ0E1V1VvemlVOWxaT0d4Tkl1OWVnQ0kxQ3hLeTNQdXJ0V2NB"
            + "SjA9Il0sInR0bF9zZWNvbmRzIjozNjAwfQ",
        "d1AGkqvEUa_GZ9I0BtF7ZrIY_SX-jj4B2ZqXTX9aF6CeMJ3yfeQcLVBS_Wxgyagt1rBQ9kp8Fre-rCwuq4U0VQ",
    ]

    @Test func `the JWS of the deployed server since 0-2 verifies, and its signature in DER does not`() throws {
        let key = try #require(P256PublicKey(subjectPublicKeyInfo: base64(WultraKey.publicKey)))
        let input = Array("\(Self.jws[0]).\(Self.jws[1])".utf8)
        let bytes = try #require(Base64URL.decode(Self.jws[2]))
        let signature = try #require(ECDSASignature(raw: bytes))
        #expect(key.verifies(signature, over: input))
        #expect(!key.verifies(signature, over: input + [0]))
        for bit in 0..<512 {
            var forged = bytes
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.verifies(try #require(ECDSASignature(raw: forged)), over: input))
        }
        #expect(ECDSASignature(raw: signature.der) == nil)
        #expect(ECDSASignature(der: signature.der) == signature)
    }

    @Test func `a token signed here has the form of the deployed server's JWS`() throws {
        let key = try P256PrivateKey(importing: WultraKey.pkcs8.utf8)
        let input = Array("\(Self.jws[0]).\(Self.jws[1])".utf8)
        let raw = try key.sign(input).raw
        #expect(raw.count == 64)
        #expect(key.publicKey.verifies(try #require(ECDSASignature(raw: raw)), over: input))
    }

    @Test
    func `the Ed25519 key of RFC 8410 with attributes and its public half is read, unless that half is another's`()
        throws
    {
        // Section 10.3, and the public key of section 10.1.
        let text =
            "MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhCoB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hh"
            + "aXJzgSEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
        let key = try Ed25519PrivateKey(importing: text.utf8)
        #expect(
            Base64.encode(key.publicKey.subjectPublicKeyInfo)
                == "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
        )
        var other = base64(text)
        other[other.count - 1] ^= 1
        #expect(throws: KeyImportError.unusable) { try Ed25519PrivateKey(importing: other) }
    }
}
