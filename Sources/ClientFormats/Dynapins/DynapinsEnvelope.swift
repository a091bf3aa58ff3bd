package import PinWire

/// The answer of Dynapins' first protocol (server and iOS SDK 0.0.1): a flat JSON object signed with Ed25519.
///
/// The SDK rebuilds the signed text from the members, so they stand in one order and are spelled as Go's
/// `encoding/json` spells them. It compares the first pin alone with the leaf's, in lower-case hexadecimal.
package struct DynapinsEnvelope: Hashable, Sendable {
    /// The bytes to sign with Ed25519 (RFC 8032): the object without its `signature`.
    package let signingBytes: [UInt8]

    /// - Parameters:
    ///   - pins: The served pins.
    ///   - issuedAt: `created`, in whole seconds, rounded down.
    ///   - expiresAt: `expires`, which clients ignore; nil for `ttlSeconds` after `issuedAt`.
    ///   - ttlSeconds: How long clients use the answer from when they get it.
    ///   - keyID: The id of the Ed25519 key, see `DynapinsProtocol.keyID(of:)`.
    package init(
        _ pins: DynapinsPins, issuedAt: Timestamp, expiresAt: Timestamp? = nil, ttlSeconds: Int64, keyID: String
    ) {
        let created = Timestamp(seconds: issuedAt.seconds)
        let expires = Timestamp(seconds: (expiresAt ?? created.adding(seconds: ttlSeconds)).seconds)
        let json: OrderedJSON = [
            "domain": .string(pins.domain),
            "pins": .array(pins.pins.map { .string(Hex.encode($0.bytes)) }),
            "created": .string(created.rfc3339),
            "expires": .string(expires.rfc3339),
            "ttl_seconds": .integer(ttlSeconds),
            "keyId": .string(keyID),
            "alg": "Ed25519",
        ]
        self.signingBytes = json.bytes(escaping: .html)
    }

    /// The whole body: the signed bytes unchanged, with `signature` as their last member.
    ///
    /// - Parameter signature: Over ``signingBytes``; nil is returned unless it is 64 bytes.
    package func body(signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64 else { return nil }
        return self.signingBytes.dropLast() + Array(#","signature":"\#(Base64.encode(signature))"}"#.utf8)
    }
}
