internal import PinWire

/// The address of a service that has documents or takes reports: `https://pins.example.com`, or with a path before the service's own.
public struct ServiceAddress: Hashable, Sendable, CustomStringConvertible {
    /// Why a text is no such address.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The address without a slash at its end.
    public let description: String

    /// The most bytes of an address.
    private static let limit = 1024

    /// - Parameter text: `https://` or `http://`, a host, and where there are any a port and a path, in printable ASCII. A slash at the end
    ///   makes no difference.
    /// - Throws: ``Malformed`` for anything else, also for a user's name, a query and a fragment.
    public init(_ text: String) throws(Malformed) {
        func malformed(_ why: String) -> Malformed { Malformed(description: "“\(text.prefix(100))” \(why)") }
        guard text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw malformed("is no address of a service: it is longer than \(Self.limit) bytes, or not printable ASCII")
        }
        let rest: Substring
        if text.hasPrefix("https://") {
            rest = text.dropFirst("https://".count)
        } else if text.hasPrefix("http://") {
            rest = text.dropFirst("http://".count)
        } else {
            throw malformed("does not begin with https:// or http://")
        }
        guard !rest.contains(where: { "?#@\\".contains($0) }) else {
            throw malformed("has a query, a fragment or a user's name")
        }
        guard Self.namesHost(rest.prefix { $0 != "/" }) else {
            throw malformed("has no host after its scheme, or a port that is not from 1 to 65535")
        }
        self.description = text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Whether a text is a host, and perhaps a port.
    private static func namesHost(_ text: Substring) -> Bool {
        let (host, port): (Substring, Substring)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            (host, port) = (text[..<end].dropFirst(), text[end...].dropFirst())
        } else {
            host = text.prefix { $0 != ":" }
            port = text.dropFirst(host.count)
        }
        let isAddress = text.hasPrefix("[")
        let isHost = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
            case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                !isAddress
            case UInt8(ascii: ":"): isAddress
            default: false
            }
        }
        guard !host.isEmpty, isHost else { return false }
        guard !port.isEmpty else { return true }
        let digits = port.dropFirst()
        return port.hasPrefix(":") && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && UInt16(digits).map { $0 > 0 } ?? false
    }

    /// The address of a resource of the service's client-facing API.
    func resource(_ path: String) -> String { "\(self.description)/client/v1/\(path)" }

    /// The address of a resource of an app.
    func resource(_ part: String, of app: AppID) -> String { self.resource("apps/\(app)/\(part)") }

    /// Whether nobody on the way reads what is sent there: over HTTPS, or on this machine.
    var isConfidential: Bool {
        self.description.hasPrefix("https://")
            || ["http://127.0.0.1", "http://[::1]", "http://localhost"].contains { own in
                self.description.hasPrefix(own)
                    && [nil, ":", "/"].contains(self.description.dropFirst(own.count).first)
            }
    }
}
