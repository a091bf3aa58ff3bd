import Addresses
import HummingbirdCore
import NIOCore
import Probing

/// The address of a request's sender: the connection's other end, or the one that trusted proxies state.
enum ClientAddress {
    /// The address of a request's sender; 0.0.0.0 where the connection has ended meanwhile.
    static func of(_ exchange: Exchange, trusted: [IPNetwork]) -> IPAddress {
        Self.of(exchange.request, from: exchange.peer, trusted: trusted)
    }

    /// The same for a request that has not become an exchange.
    static func of(_ request: Request, from peer: SocketAddress?, trusted: [IPNetwork]) -> IPAddress {
        guard let peer = peer.flatMap({ IPAddress($0) }) ?? IPAddress(bytes: [0, 0, 0, 0]) else {
            preconditionFailure("four bytes are an address")
        }
        return Self.of(
            peer: peer, forwardedFor: PreparedAnswer.joined(request.headers, .forwardedFor), trusted: trusted)
    }

    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - forwardedFor: The value of `X-Forwarded-For`. No other field is trusted: a proxy passes unknown fields on,
    ///     and a client that may choose between two fields would write the one that the proxy leaves alone.
    ///   - trusted: The addresses of trusted proxies.
    static func of(peer: IPAddress, forwardedFor: String?, trusted: [IPNetwork]) -> IPAddress {
        var address = peer.plain
        guard !trusted.isEmpty else { return address }
        var hops = forwardedFor?.split(separator: ",").map { $0.trimmingCharacters() } ?? []
        // From the nearest hop to the farthest, each of which the one before it has seen.
        while trusted.contains(where: { $0.contains(address) }), let hop = hops.popLast() {
            guard let next = Self.address(hop) else { break }
            address = next.plain
        }
        return address
    }

    /// An address, which may have a port; an IPv6 one with a port stands in brackets.
    private static func address(_ text: String) -> IPAddress? {
        if text.hasPrefix("[") {
            return text.firstIndex(of: "]").flatMap { IPAddress(String(text[..<$0].dropFirst())) }
        }
        if let address = IPAddress(text) { return address }
        return text.split(separator: ":").count == 2
            ? text.split(separator: ":").first.flatMap { IPAddress(String($0)) } : nil
    }
}

extension IPAddress {
    /// The IPv4 address that is mapped into this one (RFC 4291 section 2.5.5.2), or itself.
    var plain: IPAddress {
        guard self.bytes.count == 16, self.bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] else {
            return self
        }
        return IPAddress(bytes: self.bytes.suffix(4)) ?? self
    }
}
