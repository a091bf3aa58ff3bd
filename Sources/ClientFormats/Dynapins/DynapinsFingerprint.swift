import PinWire

/// The answer under `/cert-fingerprint`, which Dynapins' first documentation describes and no known client uses: the
/// first pin alone, with an Ed25519 signature over its text.
///
/// The signature covers neither domain nor time: one host's answer can be replayed for another of the same key.
package struct DynapinsFingerprint: Hashable, Sendable {
    /// The bytes to sign with Ed25519 (RFC 8032): the fingerprint's text.
    package var signingBytes: [UInt8] { Array(self.fingerprint.utf8) }

    /// SHA-256 of the served key's SubjectPublicKeyInfo, 64 hexadecimal digits in lower case.
    private let fingerprint: String
    private let domain: String
    private let ttlSeconds: Int64

    /// - Parameter ttlSeconds: How long clients use the answer from when they get it.
    package init(_ pins: DynapinsPins, ttlSeconds: Int64) {
        self.fingerprint = Hex.encode(pins.pins[0].bytes)
        self.domain = pins.domain
        self.ttlSeconds = ttlSeconds
    }

    /// The whole body.
    ///
    /// - Parameter signature: Over ``signingBytes``; nil is returned unless it is 64 bytes.
    package func body(signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64 else { return nil }
        let json: OrderedJSON = [
            "domain": .string(self.domain),
            "fingerprint": .string(self.fingerprint),
            "signature": .string(Base64.encode(signature)),
            "ttl": .integer(self.ttlSeconds),
        ]
        return json.bytes(escaping: .html)
    }
}
