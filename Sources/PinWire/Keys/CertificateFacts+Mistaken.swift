/// The object of a digest that was given in place of a pin (guard rail G16).
public enum MistakenDigest: String, CaseIterable, Hashable, Sendable {
    /// SHA-256 of the whole certificate, which `openssl x509 -fingerprint -sha256` and browsers show.
    case certificateSHA256 = "certificate_sha256"
    /// SHA-1 of the whole certificate.
    case certificateSHA1 = "certificate_sha1"
    /// SHA-256 of the key without its algorithm, which a client gets that hashes `SecKeyCopyExternalRepresentation`.
    case rawKeySHA256 = "raw_key_sha256"

    /// The object, as the end of a sentence.
    public var explanation: String {
        switch self {
        case .certificateSHA256: "the SHA-256 fingerprint of the whole certificate, which every renewal changes"
        case .certificateSHA1: "the SHA-1 fingerprint of the whole certificate"
        case .rawKeySHA256: "the SHA-256 of the key alone, without the algorithm that a SubjectPublicKeyInfo names"
        }
    }
}

extension KeyFacts {
    /// The part of this key whose digest `digest` is, other than its pin; nil for none.
    public func mistaken(_ digest: [UInt8]) -> MistakenDigest? {
        digest == self.rawKeySHA256 && digest != self.pin.bytes ? .rawKeySHA256 : nil
    }
}

extension CertificateFacts {
    /// The part of this certificate or its key whose digest `digest` is, other than the pin `self.key.pin`, which is
    /// the one to offer; nil for none.
    public func mistaken(_ digest: [UInt8]) -> MistakenDigest? {
        switch digest {
        case self.sha256: .certificateSHA256
        case self.sha1: .certificateSHA1
        default: self.key.mistaken(digest)
        }
    }
}
