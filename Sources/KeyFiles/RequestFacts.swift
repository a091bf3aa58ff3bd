package import PinWire

/// The facts of a certificate request (PKCS#10, RFC 2986) whose signature shows that the sender has the key.
package struct RequestFacts: Hashable, Sendable {
    package var key: KeyFacts
    /// The distinguished name in the form of RFC 4514, printable and in UTF-8.
    package var subject: String
    /// The subject's last common name.
    package var commonName: String?
    /// The requested subject alternative names, as in ``CertificateFacts``.
    package var dnsNames: [String]
    package var ipAddresses: [String]

    package init(
        key: KeyFacts, subject: String, commonName: String? = nil, dnsNames: [String] = [], ipAddresses: [String] = []
    ) {
        self.key = key
        self.subject = subject
        self.commonName = commonName
        self.dnsNames = dnsNames
        self.ipAddresses = ipAddresses
    }
}
