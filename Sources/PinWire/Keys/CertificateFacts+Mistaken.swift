/// What a digest is of, that was given where a pin is meant (guard rail G16).
public enum MistakenDigest: String, CaseIterable, Hashable, Sendable {
    /// SHA-256 of the whole certificate: what `openssl x509 -fingerprint -sha256` and browsers show.
    case certificateSHA256 = "certificate_sha256"
    /// SHA-1 of the whole certificate.
    case certificateSHA1 = "certificate_sha1"
    /// SHA-256 of the key without its algorithm: what a client gets that hashes `SecKeyCopyExternalRepresentation`.
    case rawKeySHA256 = "raw_key_sha256"

    /// What it is, as the end of a sentence.
    public var explanation: String {
        switch self {
        case .certificateSHA256: "the SHA-256 fingerprint of the whole certificate, which every renewal changes"
        case .certificateSHA1: "the SHA-1 fingerprint of the whole certificate"
        case .rawKeySHA256: "the SHA-256 of the key alone, without the algorithm that a SubjectPublicKeyInfo names"
        }
    }
}

extension KeyFacts {
    /// What of this key `digest` is, other than its pin; nil for nothing.
    public func mistaken(_ digest: [UInt8]) -> MistakenDigest? {
        digest == self.rawKeySHA256 && digest != self.pin.bytes ? .rawKeySHA256 : nil
    }
}

extension CertificateFacts {
    /// What of this certificate or its key `digest` is, other than the pin `self.key.pin`, which is to be offered
    /// instead; nil for nothing.
    public func mistaken(_ digest: [UInt8]) -> MistakenDigest? {
        switch digest {
        case self.sha256: .certificateSHA256
        case self.sha1: .certificateSHA1
        default: self.key.mistaken(digest)
        }
    }
}
