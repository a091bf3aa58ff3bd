/// How one probe is made.
package struct ProbeOptions: Hashable, Sendable {
    /// For one handshake with an address, with its connection and STARTTLS; asking for both kinds of key takes two.
    package var addressTimeout: Duration
    /// For the resolver.
    package var resolutionTimeout: Duration
    /// For the whole probe, the time in line not counted.
    package var limit: Duration
    /// How long the probe waits for its turn, once for the resolver and once for connections.
    package var patience: Duration
    /// How many addresses of a name are tried; at most 8. Both families take turns, so that each has its share.
    package var maximumAddresses: Int
    /// Whether a second handshake asks for a certificate with a key of the other kind.
    package var asksForOtherKind: Bool
    /// Offered by ALPN, most wanted first; each 1 to 255 bytes.
    package var applicationProtocols: [String]

    package init(
        addressTimeout: Duration = .seconds(5), resolutionTimeout: Duration = .seconds(5),
        limit: Duration = .seconds(15), patience: Duration = .seconds(60), maximumAddresses: Int = 8,
        asksForOtherKind: Bool = true, applicationProtocols: [String] = []
    ) {
        self.addressTimeout = addressTimeout
        self.resolutionTimeout = resolutionTimeout
        self.limit = limit
        self.patience = patience
        self.maximumAddresses = min(max(maximumAddresses, 1), 8)
        self.asksForOtherKind = asksForOtherKind
        self.applicationProtocols = applicationProtocols
    }
}

extension Duration {
    /// For sentences: `5 s`, `250 ms`.
    var text: String {
        let milliseconds = self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
