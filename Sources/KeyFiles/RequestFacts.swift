package import PinWire

/// What is known of a certificate request (PKCS#10, RFC 2986) whose signature shows that the sender has the key.
package struct RequestFacts: Hashable, Sendable {
    package var key: KeyFacts
    /// The distinguished name as RFC 4514 writes it, printable and in UTF-8.
    package var subject: String
    /// The subject's last common name.
    package var commonName: String?
    /// The subject alternative names that are asked for, as in ``CertificateFacts``.
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
