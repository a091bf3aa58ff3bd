import NIOHPACK
import PinWire

/// A GET or HEAD over HTTP/2 that is valid and only needs its answer.
///
/// It accepts a strict subset of what NIOHTTP2 and the router accept. Everything else is not refused here but goes on
/// to them.
struct PlainStream {
    private(set) var isHead = false
    private(set) var path = ""
    /// The value of the field; several joined by commas.
    private(set) var acceptEncoding: String?
    private(set) var ifNoneMatch: String?
    private(set) var clientReport: String?
    private(set) var forwardedFor: String?

    /// Reads the fields of a request without a body; nil where there is anything special about them.
    init?(_ fields: HPACKHeaders) {
        var (hasMethod, hasScheme, hasAuthority, hasPath, isBehindPseudo) = (false, false, false, false, false)
        for (name, value, _) in fields {
            guard name.utf8.first == UInt8(ascii: ":") else {
                isBehindPseudo = true
                guard Self.isPlain(name: name), Self.isPlain(value: value) else { return nil }
                switch name {
                case "accept-encoding": self.acceptEncoding = Self.joined(self.acceptEncoding, value)
                case "if-none-match": self.ifNoneMatch = Self.joined(self.ifNoneMatch, value)
                case "pinledger-client": self.clientReport = Self.joined(self.clientReport, value)
                case "x-forwarded-for": self.forwardedFor = Self.joined(self.forwardedFor, value)
                default: break
                }
                continue
            }
            guard !isBehindPseudo, name.isASCII, value.utf8.allSatisfy({ $0 &- 0x21 < 0x5E }) else { return nil }
            switch name {
            case ":method":
                guard !hasMethod, value == "GET" || value == "HEAD" else { return nil }
                hasMethod = true
                self.isHead = value == "HEAD"
            case ":scheme":
                guard !hasScheme else { return nil }
                hasScheme = true
            case ":authority":
                guard !hasAuthority else { return nil }
                hasAuthority = true
            case ":path":
                guard !hasPath else { return nil }
                hasPath = true
                self.path = value
            default: return nil
            }
        }
        guard hasMethod, hasScheme, !self.path.isEmpty else { return nil }
    }

    private static func joined(_ first: String?, _ second: String) -> String {
        first.map { "\($0), \(second)" } ?? second
    }

    /// Lower-case letters, digits and hyphens; and no field about a body or the connection.
    private static func isPlain(name: String) -> Bool {
        guard
            name.utf8.allSatisfy({
                $0 &- UInt8(ascii: "a") < 26 || $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10
            })
        else { return false }
        switch name.utf8.first {
        case UInt8(ascii: "c"): return name != "connection" && !name.hasPrefix("content-")
        case UInt8(ascii: "t"): return name != "te" && name != "trailer" && name != "transfer-encoding"
        case UInt8(ascii: "e"): return name != "expect"
        case UInt8(ascii: "h"): return name != "host" && name != "http2-settings"
        case UInt8(ascii: "k"): return name != "keep-alive"
        case UInt8(ascii: "p"): return name != "proxy-connection"
        case UInt8(ascii: "u"): return name != "upgrade"
        case nil: return false
        default: return true
        }
    }

    /// Printable ASCII with no blank at either end.
    private static func isPlain(value: String) -> Bool {
        let bytes = value.utf8
        return bytes.allSatisfy { $0 &- 0x20 < 0x5F } && bytes.first != 0x20 && bytes.last != 0x20
    }
}
