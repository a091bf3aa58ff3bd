import PinWire

/// An address that a node calls for its operators, such as a webhook's receiver: `https://host[:port][/path][?query]`, or
/// `http` where the operator allows it.
///
/// At most 2048 characters of printable ASCII, without user info and without a fragment. The host is a name of
/// lower-case A-labels, an IPv4 address in four decimal numbers, or an IPv6 address in brackets: no other spelling of
/// an address is accepted as a name. It cannot be known here where the name leads.
package struct OutgoingURL: Hashable, Sendable, CustomStringConvertible {
    /// The recorded form: as it was given, with scheme and host in lower case.
    package let text: String
    package let isSecure: Bool
    /// Without brackets.
    package let host: String
    package let port: Int
    /// Path and query; at least `/`.
    package let target: String
    /// Host and port in the form of the `Host` field: the port only where it is not the scheme's own.
    package let authority: String

    package var description: String { self.text }

    /// Whether the host is an address and not a name.
    package var hasAddress: Bool { self.host.contains(":") || Self.isIPv4(self.host) }

    /// Why a text is not such an address.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package static let lengthLimit = 2048

    package init(_ text: String) throws(Malformed) {
        guard text.utf8.count <= Self.lengthLimit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Malformed(description: "must be at most 2048 printable ASCII characters without spaces")
        }
        guard let mark = text.firstRange(of: "://") else { throw Malformed(description: Self.form) }
        let scheme = text[..<mark.lowerBound].lowercased()
        guard scheme == "https" || scheme == "http" else { throw Malformed(description: Self.form) }
        guard !text.contains("#") else { throw Malformed(description: "must not have a fragment") }
        guard !text.contains(where: { "\\\"<>^`{|}".contains($0) }) else {
            throw Malformed(description: "has a character that must be percent-encoded")
        }
        let rest = text[mark.upperBound...]
        let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) ?? rest.endIndex
        let place = rest[..<end].lowercased()
        guard !place.contains("@") else { throw Malformed(description: "must not have user info") }
        let (host, port) = try Self.split(place)
        let written = rest[end...]
        self.isSecure = scheme == "https"
        self.host = host
        self.port = port ?? (self.isSecure ? 443 : 80)
        self.target = written.hasPrefix("/") ? String(written) : "/\(written)"
        let spelled = host.contains(":") ? "[\(host)]" : host
        self.authority = self.port == (self.isSecure ? 443 : 80) ? spelled : "\(spelled):\(self.port)"
        self.text = "\(scheme)://\(place)\(written)"
    }

    private static let form = "must be of the form https://host/path"

    /// Separates host and port.
    private static func split(_ place: String) throws(Malformed) -> (host: String, port: Int?) {
        var host = Substring(place)
        var port: Int?
        let bracket = place.lastIndex(of: "]")
        if let colon = place.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            let digits = place[place.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(digits),
                (1...65_535).contains(number)
            else { throw Malformed(description: "has a port that is not a number from 1 to 65535") }
            (host, port) = (place[..<colon], number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = String(host.dropFirst().dropLast())
            guard Self.isIPv6(address) else { throw Malformed(description: "has no IPv6 address in its brackets") }
            return (address, port)
        }
        guard Self.isName(String(host)) || Self.isIPv4(String(host)) else {
            throw Malformed(description: "must have a host name of A-labels, or an address in its usual spelling")
        }
        return (String(host), port)
    }

    private static func isName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let isSound = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "-"), UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }
        // inet_aton(3) accepts 127.1, 0x7f000001 and 017700000001 as addresses; a name never ends in a number.
        guard isSound, let last = labels.last else { return false }
        return !last.utf8.allSatisfy { (48...57).contains($0) } && !last.hasPrefix("0x")
    }

    private static func isIPv4(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) }
                    && (part == "0" || !part.hasPrefix("0")) && Int(part).map { $0 < 256 } == true
            }
    }

    private static func isIPv6(_ text: String) -> Bool {
        let halves = text.halves
        guard halves.count <= 2 else { return false }
        var groups = 0
        for (number, half) in halves.enumerated() where !half.isEmpty {
            let parts = half.split(separator: ":", omittingEmptySubsequences: false)
            for (place, part) in parts.enumerated() {
                let isLast = number == halves.count - 1 && place == parts.count - 1
                if isLast, Self.isIPv4(String(part)) {
                    groups += 2
                } else if (1...4).contains(part.utf8.count), part.utf8.allSatisfy(Self.isHex) {
                    groups += 1
                } else {
                    return false
                }
            }
        }
        return halves.count == 2 ? groups < 8 : groups == 8
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

extension String {
    /// The parts between occurrences of `::`.
    fileprivate var halves: [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let mark = rest.firstRange(of: "::") {
            parts.append(rest[..<mark.lowerBound])
            rest = rest[mark.upperBound...]
        }
        return parts + [rest]
    }
}
