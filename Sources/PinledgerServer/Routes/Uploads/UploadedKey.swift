package import KeyFiles
package import PinWire
package import Pinning

/// An operator's value for one key: a pin alone, or an upload of the key.
package struct UploadedKey: Sendable {
    package let pin: Pin
    /// Nil where only the pin was given.
    package let evidence: KeyEvidence?

    /// Why a text or an upload does not name one key, as the end of a sentence.
    package struct Ambiguity: Error, Sendable, CustomStringConvertible {
        package let description: String

        /// G40: tools write certificates' fingerprints so, and hardly ever the digest of a key.
        fileprivate static let digits = Ambiguity(
            description:
                "is 32 bytes in hexadecimal, as tools write a certificate's fingerprint, and no key that the app has is known to have this pin (G40); give the certificate or the public key itself. A digest that was computed from the SubjectPublicKeyInfo is given in base64, as sha256/…"
        )

        /// G40 for another hash of a key that is known.
        fileprivate static func mistaken(_ what: MistakenDigest, of pin: Pin) -> Ambiguity {
            Ambiguity(description: "is \(what.explanation), and not a pin (G40); the pin of that key is \(pin)")
        }
    }

    /// A pin as an operator writes it.
    ///
    /// - Parameter known: The keys by which hexadecimal digits are judged; nil where another program judges them.
    package init(written text: String, known: KnownKeys?) throws(Ambiguity) {
        let written: WrittenPin
        do { written = try WrittenPin(text) } catch {
            if case .fingerprint(let bytes) = error { throw Self.fingerprint(bytes, known) }
            throw Ambiguity(description: error.description)
        }
        try Self.check(written.pin, written.spelling, known)
        self.pin = written.pin
        self.evidence = nil
    }

    /// Throws for hexadecimal digits that are no known key's pin.
    private static func check(_ pin: Pin, _ spelling: PinSpelling, _ known: KnownKeys?) throws(Ambiguity) {
        guard spelling.isAmbiguous, let known, !known.has(pin) else { return }
        throw known.mistaken(pin.bytes).map { Ambiguity.mistaken($0.what, of: $0.pin) } ?? .digits
    }

    private static func fingerprint(_ bytes: [UInt8], _ known: KnownKeys?) -> Ambiguity {
        known?.mistaken(bytes).map { Ambiguity.mistaken($0.what, of: $0.pin) }
            ?? Ambiguity(description: WrittenPin.Malformed.fingerprint(bytes).description)
    }

    /// The one key of an upload: for a chain the server's own, which is the first that is not an authority's and has
    /// not issued another one.
    ///
    /// - Parameter known: The keys by which hexadecimal digits are judged; nil where another program judges them.
    package init(_ upload: Upload, known: KnownKeys?) throws(Ambiguity) {
        let items = upload.items
        if case .certificate = items[0], items.allSatisfy(\.isCertificate) {
            let certificates = items.compactMap(\.certificate)
            // A root of X.509's first version does not say that it is one.
            let issuers = Set(certificates.filter { $0.issuer != $0.subject }.map(\.issuer))
            let servers = certificates.filter { !$0.isAuthority }
            let leaves = servers.filter { !issuers.contains($0.subject) }
            if Set(leaves.map(\.key.pin)).count > 1 {
                throw Ambiguity(
                    description:
                        "has \(leaves.count) certificates of different keys, but one key is expected; give each separately"
                )
            }
            guard let chosen = leaves.first ?? (certificates.count == 1 ? certificates[0] : nil) else {
                throw Ambiguity(
                    description:
                        "has \(certificates.count) authorities' certificates and none of a server; to pin an authority, give its certificate alone"
                )
            }
            self.pin = chosen.key.pin
            self.evidence = .certificate(chosen)
            return
        }
        guard items.count == 1 else {
            throw Ambiguity(description: "has \(items.count) keys or pins, but one is expected; give each separately")
        }
        switch items[0] {
        case .certificate(let certificate):
            self.pin = certificate.key.pin
            self.evidence = .certificate(certificate)
        case .publicKey(let key):
            self.pin = key.pin
            self.evidence = .publicKey(key)
        case .request(let request):
            self.pin = request.key.pin
            self.evidence = .request(request.key, subject: request.subject, dnsNames: request.dnsNames)
        case .pin(let pin, let spelling):
            try Self.check(pin, spelling, known)
            self.pin = pin
            self.evidence = nil
        case .fingerprint(let bytes): throw Self.fingerprint(bytes, known)
        }
    }
}

extension Upload.Item {
    fileprivate var certificate: CertificateFacts? {
        guard case .certificate(let certificate) = self else { return nil }
        return certificate
    }

    fileprivate var isCertificate: Bool { self.certificate != nil }

    /// The item as the API shows it.
    package var json: JSON {
        switch self {
        case .certificate(let certificate): ["kind": "certificate", "certificate": certificate.json]
        case .publicKey(let key): ["kind": "public_key", "key": key.json]
        case .request(let request):
            [
                "kind": "request",
                "request": [
                    "key": request.key.json, "subject": .string(request.subject),
                    "dns_names": .array(request.dnsNames.map { .string($0) }),
                ],
            ]
        case .pin(let pin, let spelling):
            .members([
                "kind": "pin", "pin": .string(pin.description), "spelling": .string(spelling.rawValue),
                "ambiguous": spelling.isAmbiguous ? true : nil,
            ])
        case .fingerprint(let bytes):
            ["kind": "fingerprint", "fingerprint": .string(Hex.encode(bytes)), "bytes": .integer(Int64(bytes.count))]
        }
    }
}
