import Addresses

/// The hosts that are this machine, whichever it is.
enum LoopbackHost {
    /// Whether a host is `localhost`, a name below it (RFC 6761 section 6.3), in 127.0.0.0/8, or `::1`, without brackets.
    static func contains(_ host: String) -> Bool {
        let host = host.lowercased()
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        guard let address = IPAddress(host) else { return false }
        guard !address.isIPv4 else { return address.bytes.first == 127 }
        return address.bytes.last == 1 && address.bytes.dropLast().allSatisfy { $0 == 0 }
    }
}
