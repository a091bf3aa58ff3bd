/// A range of addresses in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or a single address.
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    package let address: IPAddress
    /// The number of leading bits that belong to ``address``.
    package let prefix: Int

    /// Why a text is not a range of addresses.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init(_ text: String) throws(Malformed) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else {
            throw Malformed(description: "must be an IP address, or one with the length of its prefix: 10.0.0.0/8")
        }
        let bits = address.bytes.count * 8
        var prefix = bits
        if parts.count == 2 {
            guard let length = Int(parts[1]), (0...bits).contains(length), String(length) == parts[1] else {
                throw Malformed(description: "must have a prefix of 0 to \(bits) bits")
            }
            prefix = length
        }
        let masked = Self.masked(address.bytes, prefix)
        guard masked == address.bytes else {
            let first = IPAddress(bytes: masked)?.description ?? ""
            throw Malformed(description: "must begin with the first address of the range: \(first)/\(prefix)")
        }
        self.address = address
        self.prefix = prefix
    }

    /// Whether an address is in the range. An IPv4 address is in no range of IPv6, also where an IPv6 address embeds
    /// it.
    package func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == self.address.bytes.count
            && Self.masked(address.bytes, self.prefix) == self.address.bytes
    }

    /// Whether every address of a range is in this one.
    package func contains(_ other: IPNetwork) -> Bool { other.prefix >= self.prefix && self.contains(other.address) }

    package var description: String { "\(self.address)/\(self.prefix)" }

    private static func masked(_ bytes: [UInt8], _ prefix: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(max(prefix - index * 8, 0), 8)
            return byte & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
    }
}
