import Addresses

/// A range of addresses that is not public, from IANA's special-purpose registries (RFC 6890), and public ranges that a
/// cloud reserved for itself.
struct SpecialRange {
    var range: IPNetwork
    var purpose: String

    /// A range of IPv6 whose addresses stand for IPv4 addresses.
    struct Embedding {
        var range: IPNetwork
        /// The offset of the four bytes of each IPv4 address.
        var offsets: [Int]
        /// Teredo writes a client's address with every bit inverted.
        var inverted: Set<Int> = []

        func addresses(in address: IPAddress) -> [IPAddress] {
            self.offsets.compactMap { offset in
                let isInverted = self.inverted.contains(offset)
                return IPAddress(bytes: address.bytes[offset..<(offset + 4)].map { isInverted ? ~$0 : $0 })
            }
        }
    }

    static let ipv4 = Self.ranges([
        ("0.0.0.0/8", "this network (RFC 791)"),
        ("10.0.0.0/8", "private addresses (RFC 1918)"),
        ("100.64.0.0/10", "addresses shared behind carriers' NAT (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("169.254.0.0/16", "link-local addresses, and clouds' metadata (RFC 3927)"),
        ("168.63.129.16", "the platform services of Azure, beside its metadata"),
        ("172.16.0.0/12", "private addresses (RFC 1918)"),
        ("192.0.0.0/24", "protocol assignments (RFC 6890)"),
        ("192.0.2.0/24", "documentation (RFC 5737)"),
        ("192.88.99.0/24", "the former 6to4 relays (RFC 7526)"),
        ("192.168.0.0/16", "private addresses (RFC 1918)"),
        ("198.18.0.0/15", "benchmarking (RFC 2544)"),
        ("198.51.100.0/24", "documentation (RFC 5737)"),
        ("203.0.113.0/24", "documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255", "broadcast (RFC 919)"),
        ("240.0.0.0/4", "reserved addresses (RFC 1112)"),
    ])

    static let ipv6 = Self.ranges([
        ("::", "the unspecified address (RFC 4291)"),
        ("::1", "loopback (RFC 4291)"),
        ("::/96", "IPv4-compatible addresses (RFC 4291)"),
        ("::ffff:0.0.0.0/96", "IPv4-mapped addresses (RFC 4291)"),
        ("64:ff9b:1::/48", "translation within a network (RFC 8215)"),
        ("100::/64", "addresses whose packets are discarded (RFC 6666)"),
        ("2001:2::/48", "benchmarking (RFC 5180)"),
        ("2001::/23", "protocol assignments (RFC 2928)"),
        ("2001:db8::/32", "documentation (RFC 3849)"),
        ("3fff::/20", "documentation (RFC 9637)"),
        ("5f00::/16", "segment routing (RFC 9602)"),
        ("fc00::/7", "unique local addresses (RFC 4193)"),
        ("fe80::/10", "link-local addresses (RFC 4291)"),
        ("fec0::/10", "the former site-local addresses (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    ])

    static let embeddings = [
        Embedding(range: Self.network("64:ff9b::/96"), offsets: [12]),  // NAT64 (RFC 6052)
        Embedding(range: Self.network("2002::/16"), offsets: [2]),  // 6to4 (RFC 3056)
        Embedding(range: Self.network("2001::/32"), offsets: [4, 12], inverted: [12]),  // Teredo (RFC 4380)
    ]

    static let globalUnicast = Self.network("2000::/3")

    /// The IPv4 address behind an ISATAP interface identifier (RFC 5214), under whichever prefix.
    static func intraSite(_ address: IPAddress) -> IPAddress? {
        guard address.bytes.count == 16, address.bytes[8] & 0xFD == 0, Array(address.bytes[9..<12]) == [0, 0x5E, 0xFE]
        else { return nil }
        return IPAddress(bytes: address.bytes[12...])
    }

    private static func ranges(_ table: [(String, String)]) -> [SpecialRange] {
        table.map { SpecialRange(range: Self.network($0.0), purpose: $0.1) }
    }

    /// Only for the texts above, each of which a test reads back.
    private static func network(_ text: String) -> IPNetwork {
        guard let network = try? IPNetwork(text) else { preconditionFailure("\(text) is no range of addresses") }
        return network
    }
}
