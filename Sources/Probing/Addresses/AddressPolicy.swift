package import NIOCore

/// Which addresses the server may connect to on somebody's behalf.
///
/// Names come from users, so without it a probe or a webhook would reach what only this machine reaches: its own
/// services, its neighbours, the cloud's metadata. Refused is what is not globally routable, in every disguise of IPv6
/// that carries an IPv4 address.
///
/// The address that is asked about MUST be the one that is then connected to: a name that is resolved a second time may
/// lead elsewhere.
package struct AddressPolicy: Hashable, Sendable {
    /// Ranges that the operator allows, whatever else holds. A range of IPv4 allows no IPv6 address that embeds one of
    /// its addresses in the mapped or compatible form; where it is embedded for translation (NAT64, 6to4, Teredo), the
    /// embedded address is asked about, and the range counts.
    package var allowed: [IPNetwork]

    /// Whether a target may be written as an address instead of a name.
    package var allowsLiterals: Bool

    package init(allowed: [IPNetwork] = [], allowsLiterals: Bool = false) {
        self.allowed = allowed
        self.allowsLiterals = allowsLiterals
    }

    /// Why nobody connects to the address; nil if one may.
    package func refusal(of address: SocketAddress) -> String? {
        guard let address = IPAddress(address) else { return "is not an IP address" }
        return self.refusal(of: address)
    }

    /// Why nobody connects to the address, as a sentence's end (`is in 10.0.0.0/8, private addresses (RFC 1918)`); nil
    /// if one may.
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
