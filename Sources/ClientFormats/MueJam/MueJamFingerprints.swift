package import PinWire
package import Pinning

/// The answer under `GET …/security/certificate/fingerprints`, with which MueJam clients pin: hashes of whole
/// certificates.
///
/// The MueJam server names the one certificate that it presents. Here the answer names every known certificate of the
/// policy's keys that is not expired and can be a server's own, those of the served key first and of each key the
/// newest first; so that clients have the next one before it is served. The format cannot say "off": as long as the
/// policy has pins they are served, whatever its mode, as for every client with this limit.
package struct MueJamFingerprints: Hashable, Sendable {
    /// The domain in the spelling of the request.
    package let domain: String
    /// At least one.
    package let certificates: [CertificateFacts]

    /// - Parameter domain: The requested host name, in any case.
    /// - Throws: ``MueJamError/certificate(reason:)``.
    package init(_ view: ClientView, domain: String) throws(MueJamError) {
        guard let host = view.host(for: domain), host.mode != nil else {
            throw .certificate(reason: "No pins are published for this domain")
        }
        var seen: Set<[UInt8]> = []
        let certificates = host.pins.flatMap { $0.serverCertificates(at: host.pattern) }.filter {
            $0.notAfter > view.now && seen.insert($0.sha256).inserted
        }
        guard !certificates.isEmpty else {
            throw .certificate(reason: "No valid certificate of the domain's pins is known")
        }
        self.domain = domain
        self.certificates = certificates
    }

    /// The answer. `valid_until`, `subject` and `issuer` are the first certificate's; the time is in OpenSSL's form, as
    /// in the deployed server.
    package var reply: FormatReply {
        let first = self.certificates[0]
        return FormatReply([
            "sha256": .array(self.certificates.map { .string(MueJamFingerprint.text(of: $0.sha256)) }),
            "sha1": .array(self.certificates.map { .string(MueJamFingerprint.text(of: $0.sha1)) }),
            "domain": .string(self.domain),
            "valid_until": .string(first.notAfter.opensslText),
            "subject": Self.name(first.subject),
            "issuer": Self.name(first.issuer),
        ])
    }

    /// The verdict on a client's fingerprint: `{"valid","algorithm","message"}`, always 200.
    package func reply(to request: MueJamVerification) -> FormatReply {
        let isValid = self.certificates.contains {
            request.isFingerprint(of: request.algorithm == .sha256 ? $0.sha256 : $0.sha1)
        }
        return FormatReply([
            "valid": .bool(isValid),
            "algorithm": .string(request.algorithm.rawValue),
            "message": isValid
                ? "Fingerprint matches current certificate" : "Fingerprint does not match current certificate",
        ])
    }

    /// The answer to a request to verify a fingerprint, whatever the result.
    ///
    /// - Parameter body: See ``MueJamVerification``.
    package static func reply(verifying body: [UInt8], for domain: String, in view: ClientView) -> FormatReply {
        do {
            let request = try MueJamVerification(body)
            return try MueJamFingerprints(view, domain: domain).reply(to: request)
        } catch .certificate(let reason) {
            return MueJamError.verification(reason: reason).reply
        } catch {
            return error.reply
        }
    }

    /// A name as an object. The documentation has short names of attributes (`CN`), the deployed server, which reads
    /// certificates through Python, long ones (`commonName`): both are given where there are two. The last of one
    /// type's attributes counts, as in Python.
    private static func name(_ text: String) -> OrderedJSON {
        let name = DistinguishedName(text)
        var seen: Set<String> = []
        return .object(
            name.attributes.map(\.type).filter { seen.insert($0).inserted }.flatMap { type in
                let value = OrderedJSON.string(name[type] ?? "")
                let long = Self.longNames[type].map { [OrderedJSON.Member($0, value)] }
                return [OrderedJSON.Member(type, value)] + (long ?? [])
            })
    }

    /// OpenSSL's long names of attributes, by the short ones.
    private static let longNames = [
        "C": "countryName", "CN": "commonName", "DC": "domainComponent", "GN": "givenName", "L": "localityName",
        "O": "organizationName", "OU": "organizationalUnitName", "SN": "surname", "ST": "stateOrProvinceName",
        "UID": "userId", "jurisdictionC": "jurisdictionCountryName", "jurisdictionL": "jurisdictionLocalityName",
        "jurisdictionST": "jurisdictionStateOrProvinceName", "street": "streetAddress",
    ]
}
