internal import Crypto
public import PinWire

/// The Ed25519 keys that may sign an app's documents: those of the root of trust that ships with the app, or a JWK Set (RFC 7517) that does.
///
/// A root of trust is replaced by the next one that its keys have signed; a JWK Set only by the app's next release. A key that is left out
/// is revoked for that install: documents that it has signed, also the one that is held, are trusted no more.
public struct TrustAnchors: Sendable {
    /// Why bytes are no set of keys.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The root of trust of which they are; nil for a JWK Set.
    public let root: RootOfTrust?

    /// The most bytes of a set.
    public static let byteLimit = 64 << 10
    /// The most keys of a set.
    public static let keyLimit = 64

    private let keys: [String: Curve25519.Signing.PublicKey]

    /// The thumbprints (RFC 7638, `kid`) of the keys, in order.
    public var keyIDs: [String] { self.keys.keys.sorted() }

    /// Reads a JWK Set whose keys are all of the type `OKP` with the curve `Ed25519` (RFC 8037).
    ///
    /// Each `kid` has to be the key's thumbprint, so that a set cannot give a key another one's name.
    ///
    /// - Throws: ``Malformed``, for the whole set if one key in it is wrong.
    public init(jwks: [UInt8]) throws(Malformed) {
        guard jwks.count <= Self.byteLimit else {
            throw Malformed(description: "the key set has more than \(Self.byteLimit) bytes")
        }
        let json: JSON
        do { json = try JSON(parsing: jwks) } catch { throw Malformed(description: "the key set is no JSON: \(error)") }
        guard let list = json["keys"]?.arrayValue, (1...Self.keyLimit).contains(list.count) else {
            throw Malformed(description: "the key set must have a member keys with 1 to \(Self.keyLimit) keys")
        }
        var keys: [String: Curve25519.Signing.PublicKey] = [:]
        for (place, jwk) in list.enumerated() {
            guard jwk["kty"]?.stringValue == "OKP", jwk["crv"]?.stringValue == "Ed25519",
                let x = jwk["x"]?.stringValue, let bytes = Base64URL.decode(x), Ed25519Encoding.isUsable(bytes),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            else { throw Malformed(description: "keys/\(place) is no Ed25519 key (RFC 8037)") }
            let thumbprint = RootOfTrust.thumbprint(bytes)
            guard jwk["kid"]?.stringValue == thumbprint else {
                throw Malformed(description: "keys/\(place): kid must be the key's thumbprint, \(thumbprint)")
            }
            keys[thumbprint] = key
        }
        self.keys = keys
        self.root = nil
    }

    /// Reads the root of trust that ships with the app.
    ///
    /// - Throws: ``Malformed``, also where its own keys have not signed it.
    public init(root bytes: [UInt8]) throws(Malformed) {
        do throws(RootOfTrust.Failure) { self.init(try RootOfTrust(bytes)) } catch {
            throw Malformed(
                description: error == .missingSignatures ? "the root is not signed by enough of its keys" : "\(error)")
        }
    }

    init(_ root: RootOfTrust) {
        self.root = root
        self.keys = root.documentKeys.compactMapValues { try? Curve25519.Signing.PublicKey(rawRepresentation: $0) }
    }

    /// Whether a key of this name is among them.
    public func contains(_ keyID: String) -> Bool { self.keys[keyID] != nil }

    /// Whether the key has signed the bytes (RFC 8032); false for an unknown key.
    func isSignature(_ signature: [UInt8], of message: ArraySlice<UInt8>, by keyID: String) -> Bool {
        self.keys[keyID]?.isValidSignature(signature, for: message) ?? false
    }
}
