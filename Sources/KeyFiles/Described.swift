internal import PinWire

/// What is known of something that was read, and the bytes of the key and the certificate in it.
struct Described<ExternalFacts: Sendable>: Sendable {
    var facts: ExternalFacts
    /// In DER as OpenSSL writes it, so that the digests are those of the facts.
    var material: [Material]
}
