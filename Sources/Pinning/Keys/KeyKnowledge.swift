package import PinWire

/// The evidence of a key from an upload of its pin, or from a probe.
package enum KeyEvidence: Hashable, Sendable {
    case certificate(CertificateFacts)
    /// A certificate signing request, whose signature proves that its sender has the private key.
    case request(KeyFacts, subject: String, dnsNames: [String])
    case publicKey(KeyFacts)

    package var key: KeyFacts {
        switch self {
        case .certificate(let certificate): certificate.key
        case .request(let key, _, _), .publicKey(let key): key
        }
    }

    /// The digests of the stored bytes of the key and, where it was uploaded in one, of the certificate.
    package var digests: [[UInt8]] {
        switch self {
        case .certificate(let certificate): [certificate.key.pin.bytes, certificate.sha256]
        case .request(let key, _, _), .publicKey(let key): [key.pin.bytes]
        }
    }
}

/// All facts that an app has about one key.
package struct KeyKnowledge: Hashable, Sendable {
    package var key: KeyFacts
    /// Certificates of the key, the newest first; at most ``certificateLimit``.
    package var certificates: [CertificateFacts]
    /// Whether a request signed with the private key was uploaded.
    package var hasRequest: Bool

    /// The most certificates remembered of one key.
    package static let certificateLimit = 4

    package init(_ evidence: KeyEvidence) {
        self.key = evidence.key
        self.certificates = []
        self.hasRequest = false
        self.take(evidence)
    }

    mutating func take(_ evidence: KeyEvidence) {
        switch evidence {
        case .publicKey: break
        case .request: self.hasRequest = true
        case .certificate(let certificate):
            self.certificates.removeAll { $0.sha256 == certificate.sha256 }
            self.certificates.append(certificate)
            self.certificates.sort { ($0.notAfter, $0.serial) > ($1.notAfter, $1.serial) }
            if self.certificates.count > Self.certificateLimit { self.certificates.removeLast() }
        }
    }

    /// Whether it already contains all facts of `evidence`.
    func has(_ evidence: KeyEvidence) -> Bool {
        var copy = self
        copy.take(evidence)
        return copy == self
    }

    /// When the last of its certificates expires; nil where none is known.
    package var notAfter: Timestamp? { self.certificates.first?.notAfter }

    /// The digests of the stored bytes of the key and of its certificates.
    package var digests: [[UInt8]] { [self.key.pin.bytes] + self.certificates.map(\.sha256) }
}
