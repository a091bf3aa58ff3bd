/// The options of one probe.
package struct ProbeOptions: Hashable, Sendable {
    /// The time for one handshake with an address, with its connection and STARTTLS; asking for both kinds of key takes
    /// two.
    package var addressTimeout: Duration
    /// The time for the resolver.
    package var resolutionTimeout: Duration
    /// The time for the whole probe, without the time in line.
    package var limit: Duration
    /// How long the probe waits for its turn, once for the resolver and once for connections.
    package var patience: Duration
    /// The number of addresses of a name that are tried; at most 8. Both families take turns.
    package var maximumAddresses: Int
    /// Whether a second handshake asks for a certificate with a key of the other kind.
    package var asksForOtherKind: Bool
    /// The protocols that ALPN offers, most wanted first; each 1 to 255 bytes.
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
