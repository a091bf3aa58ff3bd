package import PinWire

/// The answer of Dynapins' second protocol (server 0.2, iOS SDK 0.2): a compact JWS (RFC 7515) with ES256 (RFC 7518
/// section 3.4) in a JSON object.
///
/// The SDK requires all five claims, the numbers as integers, and the pins in padded base64 as TrustKit takes them.
package struct DynapinsToken: Hashable, Sendable {
    /// The bytes to sign with ECDSA on P-256 and SHA-256: header and payload in base64url, with a dot between.
    package let signingBytes: [UInt8]

    /// - Parameters:
    ///   - pins: The served pins.
    ///   - issuedAt: `iat`, in whole seconds. Clients refuse a token issued more than five minutes ahead of their
    ///     clock.
    ///   - expiresAt: `exp`, after which clients refuse the answer; nil for `ttlSeconds` after `issuedAt`. An answer
    ///     that is cached for many has to expire later than its last use.
    ///   - ttlSeconds: How long clients use the answer from when they get it.
    ///   - keyID: The id of the P-256 key, see `DynapinsProtocol.keyID(of:)`.
    package init(
        _ pins: DynapinsPins, issuedAt: Timestamp, expiresAt: Timestamp? = nil, ttlSeconds: Int64, keyID: String
    ) {
        let header: JSON = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
        let payload: JSON = [
            "domain": .string(pins.domain),
            "pins": .array(pins.pins.map { .string($0.base64) }),
            "iat": .integer(issuedAt.seconds),
            "exp": .integer((expiresAt ?? issuedAt.adding(seconds: ttlSeconds)).seconds),
            "ttl_seconds": .integer(ttlSeconds),
        ]
        let parts = [header, payload].map { Base64URL.encode($0.canonicalBytes) }
        self.signingBytes = Array(parts.joined(separator: ".").utf8)
    }

    /// The whole body: `{"jws":"…"}`.
    ///
    /// - Parameter signature: Over ``signingBytes``, r and s of 32 bytes each, one after the other; nil is returned
    ///   unless it is 64 bytes. In DER, as OpenSSL makes it, clients refuse it.
    package func body(signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64 else { return nil }
        let jws = String(decoding: self.signingBytes, as: UTF8.self) + "." + Base64URL.encode(signature)
        return (["jws": .string(jws)] as OrderedJSON).bytes()
    }
}
