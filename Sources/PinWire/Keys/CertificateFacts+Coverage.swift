/// Whether a certificate is valid for the hosts of a pattern.
public enum HostCoverage: Hashable, Sendable {
    /// Covered by this DNS name of the certificate.
    case covered(by: String)
    /// Covered by none of its DNS names, which are these. Clients refuse the connection, whatever its pins.
    case notCovered(names: [String])
    /// Covered by its common name alone, which clients ignore since RFC 6125 replaced RFC 2818: as good as not covered.
    case commonNameOnly

    public var isCovered: Bool { if case .covered = self { true } else { false } }
}

extension CertificateFacts {
    /// Whether this certificate is valid for every host of `host`, by the comparison of RFC 9525 section 6.3.
    ///
    /// A wildcard counts only as the whole left-most label, and stands for exactly one label. Only the same wildcard
    /// covers a pattern with a wildcard: other names cover some of its hosts at most. IP addresses do not count.
    public func covers(_ host: HostPattern) -> HostCoverage {
        if let name = self.dnsNames.first(where: { Self.name($0, covers: host) }) { return .covered(by: name) }
        if let name = self.commonName?.lowercased(), Self.name(name, covers: host) { return .commonNameOnly }
        return .notCovered(names: self.dnsNames)
    }

    private static func name(_ name: String, covers host: HostPattern) -> Bool {
        if name == host.text { return true }
        guard !host.isWildcard, name.hasPrefix("*."), let dot = host.text.firstIndex(of: ".") else { return false }
        return name.dropFirst(1) == host.text[dot...]
    }
}
