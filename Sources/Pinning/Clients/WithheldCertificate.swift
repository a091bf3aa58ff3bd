package import PinWire

/// A certificate of a pinned key that Wultra's clients no longer get for a host, because it was deleted there while
/// another certificate of the key stays.
package struct WithheldCertificate: Hashable, Sendable, Comparable {
    package var host: HostPattern
    /// SHA-256 of the certificate in DER, 32 bytes.
    package var sha256: [UInt8]

    package init(host: HostPattern, sha256: [UInt8]) {
        self.host = host
        self.sha256 = sha256
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.host == right.host
            ? left.sha256.lexicographicallyPrecedes(right.sha256) : left.host < right.host
    }

    package var json: JSON { ["host": .string(self.host.text), "sha256": .string(Hex.encode(self.sha256))] }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let host = try m.required("host").parse(HostPattern.init)
            let digest = try m.required("sha256")
            guard let bytes = Hex.decode(try digest.string()), bytes.count == 32 else {
                throw digest.defect("must be 32 bytes in lower-case hexadecimal")
            }
            return WithheldCertificate(host: host, sha256: bytes)
        }
    }
}

extension ClientSettings {
    /// Whether Wultra's clients do not get a certificate for a host although it is one of a pinned key.
    package func withholds(_ certificate: CertificateFacts, at host: HostPattern) -> Bool {
        self.withheld.contains { $0.sha256 == certificate.sha256 && $0.host == host }
    }

    /// Adds a certificate in its place.
    ///
    /// - Throws: ``Malformed`` where it is there already, and where there are as many as may be.
    package mutating func withhold(_ certificate: WithheldCertificate) throws(Malformed) {
        guard !self.withheld.contains(certificate) else { throw Malformed(description: "is listed twice") }
        guard self.withheld.count < Self.ruleLimit else {
            throw Malformed(description: "is one too many: an app may have at most \(Self.ruleLimit)")
        }
        let place = self.withheld.firstIndex { certificate < $0 } ?? self.withheld.endIndex
        self.withheld.insert(certificate, at: place)
    }
}
