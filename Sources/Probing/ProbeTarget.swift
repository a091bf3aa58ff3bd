package import Addresses
package import PinWire

/// The target of a probe: a host, a port, and the protocol from there to TLS.
package struct ProbeTarget: Hashable, Sendable, CustomStringConvertible {
    package enum Host: Hashable, Sendable, CustomStringConvertible {
        /// An exact name, never a wildcard.
        case name(HostPattern)
        case address(IPAddress)

        package var description: String {
            switch self {
            case .name(let name): name.text
            case .address(let address): address.description
            }
        }
    }

    package var host: Host
    /// 1 to 65535.
    package let port: Int
    /// Nil where TLS begins with the first byte.
    package var startTLS: StartTLS?
    /// The name for SNI and verification, if it is not the host's own.
    package var serverName: HostPattern?

    /// Why something is not a target.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// - Parameter port: By default that of the protocol, which without `startTLS` is 443.
    package init(
        host: Host, port: Int? = nil, startTLS: StartTLS? = nil, serverName: HostPattern? = nil
    ) throws(Malformed) {
        let port = port ?? startTLS?.defaultPort ?? 443
        guard (1...65535).contains(port) else { throw Malformed(description: "must have a port from 1 to 65535") }
        for case .some(let name) in [host.name, serverName] where name.isWildcard {
            throw Malformed(description: "must be one host, not a pattern for several")
        }
        self.host = host
        self.port = port
        self.startTLS = startTLS
        self.serverName = serverName
    }

    /// The service of an exact name on a port of at least 1.
    package init(name: HostPattern, port: UInt16, startTLS: StartTLS? = nil) {
        self.host = .name(name)
        self.port = Int(port)
        self.startTLS = startTLS
        self.serverName = nil
    }

    /// Reads `HOST`, `HOST:PORT`, an IPv4 address with or without a port, an IPv6 address, or `[IPv6]:PORT`.
    ///
    /// A host that looks like an address must be an address in its one spelling: no other spelling reaches a resolver,
    /// which would know how to read `0x7f.1`.
    package init(
        _ text: String, startTLS: StartTLS? = nil, serverName: HostPattern? = nil
    ) throws(Malformed) {
        var host = Substring(text)
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw Malformed(description: "must close its bracket") }
            host = text[text.index(after: text.startIndex)..<end]
            guard host.contains(":") else { throw Malformed(description: "may have brackets around IPv6 only") }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else {
                throw Malformed(description: "must have nothing but a port behind the bracket")
            }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        var number: Int?
        if let port {
            guard let parsed = Int(port), String(parsed) == port else {
                throw Malformed(description: "must have a port from 1 to 65535")
            }
            number = parsed
        }
        if let address = IPAddress(String(host)) {
            try self.init(host: .address(address), port: number, startTLS: startTLS, serverName: serverName)
        } else {
            let name: HostPattern
            do { name = try HostPattern(String(host)) } catch { throw Malformed(description: error.description) }
            try self.init(host: .name(name), port: number, startTLS: startTLS, serverName: serverName)
        }
    }

    /// The name that the handshake asks for; nil for an address alone.
    package var requestedName: String? { (self.serverName ?? self.host.name)?.text }

    package var description: String {
        if case .address(let address) = self.host, !address.isIPv4 { return "[\(address)]:\(self.port)" }
        return "\(self.host):\(self.port)"
    }
}

extension ProbeTarget.Host {
    var name: HostPattern? {
        guard case .name(let name) = self else { return nil }
        return name
    }
}
