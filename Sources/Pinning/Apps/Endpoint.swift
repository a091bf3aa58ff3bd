package import PinWire

/// A TLS service that is probed: an exact host name, a port, and the protocol before TLS.
///
/// Its text is `api.example.com:443`, and with a protocol that begins TLS on demand `mail.example.com:587+smtp`.
package struct Endpoint: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The protocols in which a client asks for TLS (RFC 3207, RFC 9051, PostgreSQL's SSLRequest).
    package enum StartTLS: String, CaseIterable, Sendable, Hashable {
        case smtp, imap, postgres
        /// Recorded events may name these. Probes do not support them, and commands refuse them.
        case pop3, ftp, ldap, xmpp, mysql

        /// Whether probes support it.
        package var isSpoken: Bool {
            switch self {
            case .smtp, .imap, .postgres: true
            case .pop3, .ftp, .ldap, .xmpp, .mysql: false
            }
        }
    }

    /// Never a wildcard.
    package let host: HostPattern
    package let port: UInt16
    /// Nil where TLS begins at once.
    package let startTLS: StartTLS?

    /// Why a text is not an endpoint.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The service at `host` on the port of HTTPS; nil for a wildcard, which has no known name.
    package init?(host: HostPattern) {
        guard !host.isWildcard else { return nil }
        self.host = host
        self.port = 443
        self.startTLS = nil
    }

    /// Whether it can be probed.
    package var isProbed: Bool { self.startTLS?.isSpoken ?? true }

    /// Reads an operator's text: `name`, `name:port` or `name:port+protocol`, if it can be probed.
    package static func requested(_ text: String) throws(Malformed) -> Endpoint {
        let endpoint = try Endpoint(text)
        guard endpoint.isProbed else { throw self.unknownProtocol }
        return endpoint
    }

    private static var unknownProtocol: Malformed {
        let names = StartTLS.allCases.filter(\.isSpoken).map(\.rawValue).joined(separator: ", ")
        return Malformed(description: "may end in + and one of \(names)")
    }

    /// Reads a recorded text: `name`, `name:port` or `name:port+protocol`.
    package init(_ text: String) throws(Malformed) {
        var rest = Substring(text)
        var startTLS: StartTLS?
        if let plus = rest.lastIndex(of: "+") {
            guard let known = StartTLS(rawValue: String(rest[rest.index(after: plus)...])) else {
                throw Self.unknownProtocol
            }
            startTLS = known
            rest = rest[..<plus]
        }
        var port: UInt16 = 443
        if let colon = rest.lastIndex(of: ":") {
            let digits = rest[rest.index(after: colon)...]
            guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
                let number = UInt16(digits), number > 0, !digits.hasPrefix("0")
            else { throw Malformed(description: "must have a port from 1 to 65535 after the colon") }
            port = number
            rest = rest[..<colon]
        }
        let host: HostPattern
        do { host = try HostPattern(String(rest)) } catch { throw Malformed(description: error.description) }
        guard !host.isWildcard else { throw Malformed(description: "must name one host, without a wildcard") }
        self.host = host
        self.port = port
        self.startTLS = startTLS
    }

    package var description: String {
        "\(self.host):\(self.port)" + (self.startTLS.map { "+\($0.rawValue)" } ?? "")
    }

    package static func < (left: Endpoint, right: Endpoint) -> Bool { left.description < right.description }
}
