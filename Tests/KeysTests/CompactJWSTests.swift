import Keys
import PinWire
import Testing

@Suite struct `Compact JWS` {
    static let documentSeed = "7d125d6e47e08be57b4dcf7a0445842ebbe3d5b1a73be93169532362425996ae"
    static let documentToken =
        "eyJhbGciOiJFZERTQSIsImtpZCI6ImVqWTBGcDA5Vmw2WmIybTNBQVpEZnlfb091MmZSMmdVakRCSE9aclR0OWsiLCJ0eXAiOiJwaW5z"
        + "ZXQrandzIn0."
        + "eyJleHAiOjQxMDI0NDQ4MDAsImhvc3RzIjpbeyJob3N0IjoiYXBpLmV4YW1wbGUuY29tIiwicGlucyI6WyJYM3BHVFNPdUplRVZ3OTg5"
        + "SUovY0V0WFVFbXk1MnpzMVRaUXJVMDZLVUtnPSJdfV0sImlhdCI6MTc2NzIyNTYwMCwiaXNzIjoicGlucy5leGFtcGxlLmNvbSIsInN1"
        + "YiI6ImNvbS5leGFtcGxlLmFwcCIsInZlcnNpb24iOjd9."
        + "8pXroBip4iApw5WW3ARENI9kqAKZR1R94Gpky6jGTVP7i20rc2BxPSl7iYaYKzmZhCcVmStR5lB8YUboL1qcAQ"
    static let documentPayload =
        #"{"exp":4102444800,"hosts":[{"host":"api.example.com","#
        + #""pins":["X3pGTSOuJeEVw989IJ/cEtXUEmy52zs1TZQrU06KUKg="]}],"#
        + #""iat":1767225600,"iss":"pins.example.com","sub":"com.example.app","version":7}"#

    private let key: Ed25519PrivateKey

    init() throws {
        self.key = try Ed25519PrivateKey(seed: Self.documentSeed)
    }

    @Test func `the document vector is reproduced byte for byte`() throws {
        #expect(Base64URL.encode(self.key.publicKey.bytes) == "7OEQ_mjxPTfUyZF50YouLiH-BHeKBG6kV9c906xlyqA")
        #expect(self.key.publicKey.keyID == "ejY0Fp09Vl6Zb2m3AAZDfy_oOu2fR2gUjDBHOZrTt9k")
        let token = try CompactJWS.sign(
            Array(Self.documentPayload.utf8),
            type: "pinset+jws",
            keyID: self.key.publicKey.keyID,
            key: self.key
        )
        #expect(token == Self.documentToken)
        let payload = try CompactJWS.verify(token, type: "pinset+jws", trusting: [JWK(self.key.publicKey)])
        #expect(String(decoding: payload, as: UTF8.self) == Self.documentPayload)
    }

    @Test func `the signature of RFC 8037 A4 is reproduced, and its header refused`() throws {
        let key = try Ed25519PrivateKey(seed: rfcSeed)
        let token = try CompactJWS.sign(
            Array("Example of Ed25519 signing".utf8),
            header: Array(#"{"alg":"EdDSA"}"#.utf8),
            key: key
        )
        #expect(
            token == "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
                + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        )
        #expect(throws: CompactJWS.Invalid.malformedHeader) { try CompactJWS(parsing: token, type: "pinset+jws") }
    }

    /// A text that must be refused, and why.
    struct Refusal: CustomTestStringConvertible {
        var name: String
        var text: String
        var reason: CompactJWS.Invalid
        var testDescription: String { self.name }

        init(_ name: String, _ text: String, _ reason: CompactJWS.Invalid = .malformed) {
            self.name = name
            self.text = text
            self.reason = reason
        }

        /// The document's payload and signature under another header.
        init(_ name: String, header: String, _ reason: CompactJWS.Invalid = .malformedHeader) {
            self.init(name, Base64URL.encode(header.utf8) + "." + parts[1] + "." + parts[2], reason)
        }
    }

    static let parts = documentToken.split(separator: ".").map(String.init)

    static let refusals = [
        Refusal("nothing", ""),
        Refusal("one part", "abc"),
        Refusal("two parts", parts[0] + "." + parts[1]),
        Refusal("four parts", documentToken + ".abcd"),
        Refusal("a fourth, empty part", documentToken + "."),
        Refusal("an empty signature (unsecured)", parts[0] + "." + parts[1] + "."),
        Refusal("an empty header", "." + parts[1] + "." + parts[2], .malformedHeader),
        Refusal("white space before", " " + documentToken),
        Refusal("a line feed after", documentToken + "\n"),
        Refusal("padding", documentToken + "=="),
        Refusal("standard alphabet", parts[0] + "." + parts[1] + "./" + parts[2].dropFirst()),
        Refusal("stray bits in the last character", String(documentToken.dropLast()) + "R"),
        Refusal("a signature of 63 bytes", parts[0] + "." + parts[1] + "." + String(repeating: "A", count: 84)),
        Refusal("a signature of 65 bytes", parts[0] + "." + parts[1] + "." + String(repeating: "A", count: 87)),
        Refusal("JSON serialisation", #"{"payload":"","protected":"","signature":""}"#),
        Refusal("too large", String(repeating: "a", count: (2 << 20) + 1), .tooLarge(byteCount: (2 << 20) + 1)),
        Refusal("a header that is no JSON", header: "alg=EdDSA"),
        Refusal("a header that is an array", header: "[]"),
        Refusal("no alg", header: #"{"kid":"k","typ":"pinset+jws"}"#),
        Refusal("no kid", header: #"{"alg":"EdDSA","typ":"pinset+jws"}"#),
        Refusal("no typ", header: #"{"alg":"EdDSA","kid":"k"}"#),
        Refusal("alg twice", header: #"{"alg":"none","alg":"EdDSA","kid":"k","typ":"pinset+jws"}"#),
        Refusal("crit", header: #"{"alg":"EdDSA","crit":["b64"],"kid":"k","typ":"pinset+jws"}"#),
        Refusal("jwk", header: #"{"alg":"EdDSA","jwk":"x","kid":"k","typ":"pinset+jws"}"#),
        Refusal("jku", header: #"{"alg":"EdDSA","jku":"https://evil.example/","kid":"k","typ":"pinset+jws"}"#),
        Refusal("jku instead of kid", header: #"{"alg":"EdDSA","jku":"https://evil.example/","typ":"pinset+jws"}"#),
        Refusal("a kid that is a number", header: #"{"alg":"EdDSA","kid":7,"typ":"pinset+jws"}"#),
        Refusal("alg none", header: #"{"alg":"none","kid":"k","typ":"pinset+jws"}"#, .unsupportedAlgorithm),
        Refusal("alg nOnE", header: #"{"alg":"nOnE","kid":"k","typ":"pinset+jws"}"#, .unsupportedAlgorithm),
        Refusal("alg HS256", header: #"{"alg":"HS256","kid":"k","typ":"pinset+jws"}"#, .unsupportedAlgorithm),
        Refusal("alg in lower case", header: #"{"alg":"eddsa","kid":"k","typ":"pinset+jws"}"#, .unsupportedAlgorithm),
        Refusal("another typ", header: #"{"alg":"EdDSA","kid":"k","typ":"trust+jws"}"#, .wrongType),
        Refusal("typ in upper case", header: #"{"alg":"EdDSA","kid":"k","typ":"PINSET+JWS"}"#, .wrongType),
        Refusal("an unknown kid", header: #"{"alg":"EdDSA","kid":"k","typ":"pinset+jws"}"#, .unknownKey(keyID: "k")),
        Refusal(
            "the header spelled otherwise",
            header: #"{"alg":"EdDSA","typ":"pinset+jws","kid":"ejY0Fp09Vl6Zb2m3AAZDfy_oOu2fR2gUjDBHOZrTt9k"}"#,
            .wrongSignature
        ),
        Refusal("another payload", parts[0] + "." + Base64URL.encode("{}".utf8) + "." + parts[2], .wrongSignature),
        Refusal("an empty payload", parts[0] + ".." + parts[2], .wrongSignature),
        Refusal(
            "a signature of zeros",
            parts[0] + "." + parts[1] + "." + String(repeating: "A", count: 86),
            .wrongSignature
        ),
    ]

    @Test(arguments: refusals)
    func `a text that is not exactly a signed document is refused`(_ refusal: Refusal) {
        #expect(throws: refusal.reason) {
            try CompactJWS.verify(refusal.text, type: "pinset+jws", trusting: [JWK(self.key.publicKey)])
        }
    }

    @Test func `every changed character of a document is refused`() {
        let trusted = [JWK(self.key.publicKey)]
        let characters = Array(Self.documentToken)
        for place in characters.indices {
            var changed = characters
            changed[place] = changed[place] == "A" ? "B" : "A"
            #expect(throws: CompactJWS.Invalid.self) {
                try CompactJWS.verify(String(changed), type: "pinset+jws", trusting: trusted)
            }
        }
    }

    @Test func `another key does not verify under the kid of a trusted one`() throws {
        let forger = try Ed25519PrivateKey.generate()
        let keyID = self.key.publicKey.keyID
        let token = try CompactJWS.sign([1], type: "pinset+jws", keyID: keyID, key: forger)
        #expect(throws: CompactJWS.Invalid.wrongSignature) {
            try CompactJWS.verify(token, type: "pinset+jws", trusting: [JWK(self.key.publicKey)])
        }
        #expect(throws: CompactJWS.Invalid.unknownKey(keyID: keyID)) {
            try CompactJWS.verify(token, type: "pinset+jws", trusting: [])
        }
    }
}

@Suite struct `JSON web keys` {
    static let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    @Test func `the thumbprint of RFC 8037 A3 is reproduced`() throws {
        let jwk = JWK(try Ed25519PrivateKey(seed: rfcSeed).publicKey)
        let canonical = String(decoding: jwk.canonicalBytes, as: UTF8.self)
        #expect(canonical == #"{"crv":"Ed25519","kty":"OKP","x":"\#(Self.x)"}"#)
        #expect(jwk.keyID == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func `a key set is written and read back`() throws {
        let keys = try [rfcSeed, `Compact JWS`.documentSeed].map { JWK(try Ed25519PrivateKey(seed: $0).publicKey) }
        let set = JWK.set(keys)
        #expect(
            set["keys"]?.arrayValue?.first?.canonicalText
                == #"{"alg":"EdDSA","crv":"Ed25519","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","#
                + #""kty":"OKP","use":"sig","x":"\#(Self.x)"}"#
        )
        #expect(try JWK.keys(ofSet: JSON(parsing: set.canonicalBytes)) == keys)
        #expect(throws: JWK.Invalid.malformed) { try JWK.keys(ofSet: []) }
    }

    @Test func `a bare key is read, and unknown members are ignored`() throws {
        let json: JSON = ["kty": "OKP", "crv": "Ed25519", "x": .string(Self.x), "x-note": "old", "alg": "Ed25519"]
        #expect(try JWK(json).keyID == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    static let refusals: [(String, JSON, JWK.Invalid)] = [
        ("no object", "OKP", .malformed),
        ("nothing", [:], .malformed),
        ("no x", ["kty": "OKP", "crv": "Ed25519"], .malformed),
        ("x a number", ["kty": "OKP", "crv": "Ed25519", "x": 7], .malformed),
        ("an elliptic curve", ["kty": "EC", "crv": "P-256", "x": .string(x)], .unsupportedKey),
        ("X25519", ["kty": "OKP", "crv": "X25519", "x": .string(x)], .unsupportedKey),
        ("padded x", ["kty": "OKP", "crv": "Ed25519", "x": .string(x + "=")], .invalidPoint),
        ("short x", ["kty": "OKP", "crv": "Ed25519", "x": "11qY"], .invalidPoint),
        (
            "point of small order",
            ["kty": "OKP", "crv": "Ed25519", "x": .string(String(repeating: "A", count: 43))],
            .invalidPoint
        ),
        ("private key", ["kty": "OKP", "crv": "Ed25519", "x": .string(x), "d": "nWGx"], .privateKey),
        ("for encryption", ["kty": "OKP", "crv": "Ed25519", "x": .string(x), "use": "enc"], .otherPurpose),
        ("another alg", ["kty": "OKP", "crv": "Ed25519", "x": .string(x), "alg": "ES256"], .otherPurpose),
        ("another kid", ["kty": "OKP", "crv": "Ed25519", "x": .string(x), "kid": "root-1"], .wrongKeyID),
    ]

    @Test(arguments: refusals)
    func `a key of another type or use is refused`(name: String, json: JSON, reason: JWK.Invalid) {
        #expect(throws: reason) { try JWK(json) }
    }
}
