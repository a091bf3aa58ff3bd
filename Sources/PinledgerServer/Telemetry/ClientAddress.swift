import Probing

/// Where a request came from: the connection's other end, or what proxies that are trusted say it was.
enum ClientAddress {
    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - forwarded: The value of `Forwarded` (RFC 7239), which wins.
    ///   - forwardedFor: The value of `X-Forwarded-For`.
    ///   - trusted: Where proxies are whose word is taken.
    static func of(
        peer: IPAddress, forwarded: String?, forwardedFor: String?, trusted: [IPNetwork]
    ) -> IPAddress {
        var address = peer.plain
        guard !trusted.isEmpty else { return address }
        var hops = forwarded.map(Self.hops) ?? forwardedFor?.split(separator: ",").map { $0.trimmingCharacters() } ?? []
        // From the nearest hop to the farthest, each of which the one before it has seen.
        while trusted.contains(where: { $0.contains(address) }), let hop = hops.popLast() {
            guard let next = Self.address(hop) else { break }
            address = next.plain
        }
        return address
    }

    /// The `for` of each hop; empty where one has none.
    private static func hops(_ field: String) -> [String] {
        field.split(separator: ",").map { hop in
            for pair in hop.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters() }
                guard parts.count == 2, parts[0].lowercased() == "for" else { continue }
                return parts[1].count >= 2 && parts[1].hasPrefix("\"")
                    ? String(parts[1].dropFirst().dropLast()) : parts[1]
            }
            return ""
        }
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
    fileprivate var plain: IPAddress {
        guard self.bytes.count == 16, self.bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] else {
            return self
        }
        return IPAddress(bytes: self.bytes.suffix(4)) ?? self
    }
}
