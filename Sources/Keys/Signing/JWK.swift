package import PinWire

/// An Ed25519 public key as a JSON Web Key (RFC 7517, RFC 8037 section 2).
package struct JWK: Hashable, Sendable {
    /// Why a JSON value is not a key that this project accepts.
    package enum Invalid: Error, Hashable, Sendable {
        /// Not an object, or a member of the wrong type.
        case malformed
        /// `kty` is not `OKP` or `crv` not `Ed25519`.
        case unsupportedKey
        /// `x` is not the base64url of a valid point.
        case invalidPoint
        /// There is a `d`: a private key where a public one belongs. Its value is not kept.
        case privateKey
        /// `use` is not `sig`, or `alg` neither `EdDSA` nor `Ed25519` (RFC 9864).
        case otherPurpose
        /// `kid` is there and not the thumbprint.
        case wrongKeyID
    }

    /// The key.
    package let publicKey: Ed25519PublicKey

    /// The RFC 7638 thumbprint: base64url of SHA-256 of ``canonicalBytes``, 43 characters.
    package let keyID: String

    /// Wraps a key.
    package init(_ publicKey: Ed25519PublicKey) {
        self.publicKey = publicKey
        self.keyID = Base64URL.encode(sha256(Self.required(publicKey).canonicalBytes))
    }

    /// The required members in their canonical form, which the thumbprint hashes (RFC 7638 section 3).
    package var canonicalBytes: [UInt8] { Self.required(self.publicKey).canonicalBytes }

    /// The key as a member of a key set: with `kid`, `use` and `alg`.
    package var json: JSON {
        [
            "alg": "EdDSA",
            "crv": "Ed25519",
            "kid": .string(self.keyID),
            "kty": "OKP",
            "use": "sig",
            "x": .string(Base64URL.encode(self.publicKey.bytes)),
        ]
    }

    /// A key set (RFC 7517 section 5) of these keys, in this order.
    package static func set(_ keys: [JWK]) -> JSON {
        ["keys": .array(keys.map(\.json))]
    }

    /// Reads a key. Members that RFC 7517 does not require to be understood are ignored.
    package init(_ json: JSON) throws(Invalid) {
        guard let members = json.objectValue else { throw .malformed }
        guard members["d"] == nil else { throw .privateKey }
        guard let type = members["kty"]?.stringValue, let curve = members["crv"]?.stringValue else { throw .malformed }
        guard type == "OKP", curve == "Ed25519" else { throw .unsupportedKey }
        guard let x = members["x"]?.stringValue else { throw .malformed }
        guard let bytes = Base64URL.decode(x), let publicKey = Ed25519PublicKey(bytes) else { throw .invalidPoint }
        if let use = members["use"], use != "sig" { throw .otherPurpose }
        if let algorithm = members["alg"], algorithm != "EdDSA", algorithm != "Ed25519" { throw .otherPurpose }
        self.init(publicKey)
        if let keyID = members["kid"], keyID != .string(self.keyID) { throw .wrongKeyID }
    }

    /// Reads all keys of a key set.
    package static func keys(ofSet json: JSON) throws(Invalid) -> [JWK] {
        guard let elements = json["keys"]?.arrayValue else { throw .malformed }
        var keys: [JWK] = []
        for element in elements {
            keys.append(try JWK(element))
        }
        return keys
    }

    private static func required(_ publicKey: Ed25519PublicKey) -> JSON {
        ["crv": "Ed25519", "kty": "OKP", "x": .string(Base64URL.encode(publicKey.bytes))]
    }
}
