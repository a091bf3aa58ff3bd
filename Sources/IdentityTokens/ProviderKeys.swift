import JWTKit
import PinWire
import Pinning

/// The public keys of a provider (RFC 7517), as it published them at one time.
struct ProviderKeys: Sendable {
    private let keys: [String: [JWK]]

    /// The most keys of a set.
    private static let limit = 100
    /// Bytes of a modulus: from 2048 bits, below which keys can be broken, to 8192, above which one costs more to use than a stranger's
    /// request may.
    private static let modulusRange = 256...1_024
    private static let exponentRange = 1...4

    /// Reads a key set. Keys of other kinds, for other uses, without an id, or too weak, are left out.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes, limits: .stored(depth: 8, nodes: 10_000)),
            let list = json["keys"]?.arrayValue
        else { return nil }
        var keys: [String: [JWK]] = [:]
        for key in list.prefix(Self.limit) {
            guard let id = key["kid"]?.stringValue, let jwk = Self.key(key, id) else { continue }
            keys[id, default: []].append(jwk)
        }
        self.keys = keys
    }

    func has(_ id: String) -> Bool { self.keys[id] != nil }

    /// Whether a key of this id made a signature by an algorithm. A key that states its algorithm is used with no other, and none with one
    /// of another kind of key.
    func verify(
        _ signature: [UInt8], of signed: [UInt8], by algorithm: IdentityProvider.Algorithm, key id: String
    ) async -> Bool {
        for jwk in self.keys[id] ?? [] {
            if let own = jwk.algorithm, own.rawValue != algorithm.rawValue { continue }
            let collection = JWTKeyCollection()
            guard (try? await collection.add(jwk: jwk)) != nil,
                let key = try? await collection.getKey(
                    for: JWKIdentifier(string: id), alg: algorithm.rawValue),
                key.name == algorithm.rawValue
            else { continue }
            if (try? key.verify(signature, signs: signed)) == true { return true }
        }
        return false
    }

    private static func key(_ json: JSON, _ id: String) -> JWK? {
        if let use = json["use"], use.stringValue != "sig" { return nil }
        if let operations = json["key_ops"]?.arrayValue, !operations.contains(.string("verify")) { return nil }
        var algorithm: JWK.Algorithm?
        if let named = json["alg"] {
            guard let name = named.stringValue, IdentityProvider.Algorithm(rawValue: name) != nil else { return nil }
            algorithm = JWK.Algorithm(rawValue: name)
        }
        func bytes(_ member: String) -> [UInt8]? { json[member]?.stringValue.flatMap(Base64URL.decode) }
        let kid = JWKIdentifier(string: id)
        switch (json["kty"]?.stringValue, json["crv"]?.stringValue) {
        case ("RSA", _):
            guard let modulus = bytes("n"), modulusRange.contains(modulus.count), modulus.first != 0,
                let exponent = bytes("e"), exponentRange.contains(exponent.count)
            else { return nil }
            return .rsa(
                algorithm, identifier: kid, modulus: Base64URL.encode(modulus), exponent: Base64URL.encode(exponent))
        case ("EC", let curve?):
            guard let curve = ["P-256": ECDSACurve.p256, "P-384": .p384, "P-521": .p521][curve], let x = bytes("x"),
                let y = bytes("y"), x.count <= 66, y.count <= 66
            else { return nil }
            return .ecdsa(
                algorithm, identifier: kid, x: Base64URL.encode(x), y: Base64URL.encode(y), curve: curve)
        case ("OKP", "Ed25519"):
            guard let x = bytes("x"), x.count == 32 else { return nil }
            return .octetKeyPair(
                algorithm, identifier: kid, x: Base64URL.encode(x), y: nil, curve: .ed25519)
        default: return nil
        }
    }
}
