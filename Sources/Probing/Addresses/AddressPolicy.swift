package import Addresses
package import NIOCore

/// Decides to which addresses the server may connect for its users.
///
/// Names come from users, so without this policy a probe or a webhook would reach hosts that only this machine reaches:
/// its own services, its neighbours, the cloud's metadata. It refuses every address that is not globally routable, in
/// every IPv6 form that carries an IPv4 address.
///
/// The judged address MUST be the one that is then connected to: a name that is resolved a second time may lead
/// elsewhere.
package struct AddressPolicy: Hashable, Sendable {
    /// Ranges that the operator allows, whatever else holds. A range of IPv4 allows no IPv6 address that embeds one of
    /// its addresses in the mapped or compatible form. Where the address is embedded for translation (NAT64, 6to4,
    /// Teredo), the embedded address is judged, and the range counts.
    package var allowed: [IPNetwork]

    /// Whether a target may be written as an address instead of a name.
    package var allowsLiterals: Bool

    package init(allowed: [IPNetwork] = [], allowsLiterals: Bool = false) {
        self.allowed = allowed
        self.allowsLiterals = allowsLiterals
    }

    /// Why the address is refused; nil if it is allowed.
    package func refusal(of address: SocketAddress) -> String? {
        guard let address = IPAddress(address) else { return "is not an IP address" }
        return self.refusal(of: address)
    }

    /// Why the address is refused, as the end of a sentence (`is in 10.0.0.0/8, private addresses (RFC 1918)`); nil if
    /// it is allowed.
    package func refusal(of address: IPAddress) -> String? {
        if self.allowed.contains(where: { $0.contains(address) }) { return nil }
        for embedding in SpecialRange.embeddings where embedding.range.contains(address) {
            for embedded in embedding.addresses(in: address) {
                if let reason = self.refusal(of: embedded) { return "carries \(embedded), which \(reason)" }
            }
            return nil
        }
        let ranges = address.isIPv4 ? SpecialRange.ipv4 : SpecialRange.ipv6
        if let special = ranges.first(where: { $0.range.contains(address) }) {
            return "is in \(special.range), \(special.purpose)"
        }
        if !address.isIPv4, !SpecialRange.globalUnicast.contains(address) {
            return "is outside \(SpecialRange.globalUnicast), the globally routable addresses of IPv6"
        }
        if let embedded = SpecialRange.intraSite(address), let reason = self.refusal(of: embedded) {
            return "carries \(embedded), which \(reason)"
        }
        return nil
    }
}
