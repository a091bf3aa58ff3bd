import Addresses
import NIOCore
import Probing

/// The part of the internet to which a limit applies: a /24 of IPv4, a /48 of IPv6. The holder of one address of it
/// mostly has the others too.
struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    private let isIPv4: Bool
    /// The leading bits, right-aligned.
    private let prefix: UInt64

    init(of address: IPAddress) {
        let bytes = address.plain.bytes
        self.isIPv4 = bytes.count == 4
        self.prefix = bytes.prefix(self.isIPv4 ? 3 : 6).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The network of a request, as far as trusted proxies tell; nil where a trusted proxy does not say for whom it
    /// asks, or where the connection has ended.
    init?(of peer: SocketAddress?, forwardedFor: String?, trusted: [IPNetwork]) {
        guard let peer = peer.flatMap({ IPAddress($0) }) else { return nil }
        let address = ClientAddress.of(peer: peer, forwardedFor: forwardedFor, trusted: trusted)
        guard !trusted.contains(where: { $0.contains(address) }) else { return nil }
        self.init(of: address)
    }

    /// In CIDR notation.
    var description: String {
        let count = self.isIPv4 ? 4 : 16
        let length = self.isIPv4 ? 24 : 48
        var bytes = [UInt8](repeating: 0, count: count)
        for index in 0..<(length / 8) {
            bytes[index] = UInt8(truncatingIfNeeded: self.prefix >> UInt64(length - 8 - index * 8))
        }
        return IPAddress(bytes: bytes).map { "\($0)/\(length)" } ?? ""
    }
}
