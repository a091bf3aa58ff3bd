package import PinWire
package import Pinning

/// The file that clients of the Go server `ssl-pinning` fetch under `/api/v1/….json`: all keys of an app, signed with
/// RSA.
///
/// Its `payload` is signed in canonical JSON (RFC 8785), and served in the same bytes. Each pin has an entry of its
/// own, the served key's first of each host:
///
/// | Member | Content |
/// |---|---|
/// | `date` | `issuedAt`, RFC 3339 |
/// | `domainName` | the host pattern |
/// | `expire` | for how many seconds from `issuedAt` the key can be gone by, above 0 |
/// | `fqdn` | the pattern without `*.` |
/// | `key` | the pin in base64 |
///
/// The format has no word for "off" or for "report only", and a host that is not in the file has no key that would be
/// accepted. So the policy's pins are in it under a kill switch, in those modes and after `pins_valid_until` as well.
/// Hosts that are left to the pins built into the app are not.
package struct SSLPinningFile: Hashable, Sendable {
    /// The bytes to sign with RSASSA-PKCS1-v1_5 and SHA-512 (RFC 8017 section 8.2): the payload.
    package let signingBytes: [UInt8]

    /// Nil where no host has a pin: the server makes no file without keys either.
    ///
    /// - Parameters:
    ///   - issuedAt: The instant of the file.
    ///   - ttlSeconds: `expire` of keys without a known end, above 0.
    package init?(_ view: ClientView, issuedAt: Timestamp, ttlSeconds: Int64) {
        let issuedAt = Timestamp(seconds: issuedAt.seconds)
        let keys = view.hosts.flatMap { host in
            host.pins.map { pin -> JSON in
                [
                    "date": .string(issuedAt.rfc3339),
                    "domainName": .string(host.pattern.text),
                    "expire": .integer(
                        Self.secondsLeft(of: pin, document: view.document, at: issuedAt) ?? ttlSeconds),
                    "fqdn": .string(host.pattern.name),
                    "key": .string(pin.pin.base64),
                ]
            }
        }
        guard !keys.isEmpty else { return nil }
        self.signingBytes = JSON.object(["keys": .array(keys)]).canonicalBytes
    }

    /// Until the key's last certificate expires, else until the document's pins do. An end in the past is ignored: a
    /// key outlives its certificates, and its renewal may be unknown here.
    private static func secondsLeft(
        of pin: ClientView.ClientPin, document: Document, at instant: Timestamp
    ) -> Int64? {
        [pin.knowledge?.notAfter, document.pinsValidUntil].compactMap { $0 }
            .map { $0.seconds - instant.seconds }.first { $0 > 0 }
    }

    /// The whole body: the signed bytes unchanged, and the signature in base64.
    ///
    /// - Parameter signature: Over ``signingBytes``, as long as the key's modulus.
    package func body(signature: [UInt8]) -> [UInt8] {
        Array(#"{"payload":"#.utf8) + self.signingBytes
            + Array(#","signature":"\#(Base64.encode(signature))"}"#.utf8)
    }
}
