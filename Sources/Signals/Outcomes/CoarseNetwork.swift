import PinWire

/// The stored origin of a report: 32 bits of a keyed hash of the address's /24 or /48. It distinguishes networks within
/// a day, and is useless without the day's salt.
package struct CoarseNetwork: Hashable, Sendable {
    package let bits: UInt32

    package init(bits: UInt32) { self.bits = bits }

    /// The value for all networks on a node that cannot distinguish them.
    package static let untold = CoarseNetwork(bits: 0)

    /// - Parameter address: 4 or 16 bytes.
    package init(of address: [UInt8], salt: [UInt8]) {
        // An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is the same network.
        let isMapped = address.count == 16 && address.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let plain = isMapped ? Array(address.suffix(4)) : address
        let prefix = plain.prefix(plain.count == 4 ? 3 : 6)
        self.bits = hmacSHA256(key: salt, Array("network".utf8) + prefix).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    package static func text(_ bits: UInt32) -> String {
        let digits = String(bits, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
