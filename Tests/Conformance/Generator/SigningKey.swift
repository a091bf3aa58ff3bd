import Crypto
import PinWire

/// A key that signs the kit's documents, made of its name: vectors are the same whenever they are made.
struct SigningKey {
    let jwk: JSON
    let keyID: String
    private let key: Curve25519.Signing.PrivateKey

    init(_ name: String) throws {
        self.key = try Curve25519.Signing.PrivateKey(
            rawRepresentation: sha256(Array("pinledger conformance \(name)".utf8)))
        let x = Base64URL.encode(Array(self.key.publicKey.rawRepresentation))
        self.keyID = Base64URL.encode(sha256(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#.utf8)))
        self.jwk = [
            "kty": "OKP", "crv": "Ed25519", "x": .string(x), "kid": .string(self.keyID), "alg": "EdDSA", "use": "sig",
        ]
    }

    static func set(_ keys: [SigningKey]) -> JSON { ["keys": .array(keys.map(\.jwk))] }

    /// The header that documents have.
    var header: [UInt8] { Array(#"{"alg":"EdDSA","kid":"\#(self.keyID)","typ":"pinset+jws"}"#.utf8) }

    /// A compact JWS over any header and payload.
    func sign(_ payload: [UInt8], header: [UInt8]? = nil) throws -> [UInt8] {
        let input = Array("\(Base64URL.encode(header ?? self.header)).\(Base64URL.encode(payload))".utf8)
        let signature = try self.key.signature(for: input)
        return input + [UInt8(ascii: ".")] + Array(Base64URL.encode(Array(signature)).utf8)
    }
}

/// Makes a payload of members, with the digest that belongs to them.
func sealed(_ members: [String: JSON]) -> [UInt8] {
    var content = members
    for name in ["content_sha256", "iat", "exp"] { content[name] = nil }
    var members = members
    members["content_sha256"] = .string(Hex.encode(sha256(JSON.object(content).canonicalBytes)))
    return JSON.object(members).canonicalBytes
}
