internal import PinWire

/// The facts of an object that was read, and the bytes of its key and its certificate.
struct Described<ExternalFacts: Sendable>: Sendable {
    var facts: ExternalFacts
    /// In DER as OpenSSL writes it, so that the digests are those of the facts.
    var material: [Material]
}
