package import PinWire

extension CertificateFacts {
    /// The names under which Wultra's clients look up a server's certificate, each once: the common name, or the name
    /// that Apple's systems show of a certificate without one, and the domain under which it is registered here. Empty
    /// for an authority's.
    ///
    /// The SDKs read the name from the certificate that a server presents, and apps that call `validate(commonName:…)`
    /// give the domain, under which Wultra's server answers. An entry under one more name makes clients trust no other
    /// certificate.
    package func wultraNames(at pattern: HostPattern) -> [String] {
        guard self.isServers(at: pattern) else { return [] }
        var seen: Set<String> = []
        return (self.subjectSummaries + [pattern.text]).filter { seen.insert($0).inserted }
    }

    /// Whether the subject has a common name, the only name by which Wultra's SDK for Android finds entries.
    package var isNamed: Bool { self.commonName?.isEmpty == false }

    /// The result of `SecCertificateCopySubjectSummary` on Apple's systems: the common name; else the first unit, else
    /// the first organisation of the subject, else the first e-mail address, else the first DNS name. For a certificate
    /// without a common name all of these are given, since versions of the systems differ.
    private var subjectSummaries: [String] {
        if let name = self.commonName, !name.isEmpty { return [name] }
        let subject = DistinguishedName(self.subject).attributes
        func first(_ type: String) -> String? { subject.first { $0.type == type && !$0.value.isEmpty }?.value }
        return [first("OU"), first("O"), self.emailAddress, first("emailAddress"), self.dnsNames.first].compactMap(
            \.self)
    }
}
