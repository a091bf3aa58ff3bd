import NIOHPACK
import NIOHTTP1
import PinWire

/// Makes the text of a request's head ASCII, before anything compares it.
///
/// A field with other bytes in its value counts as absent: none that is read here may have any (RFC 9110 section 5.5),
/// and comparing them costs what ``StreamSafeText`` describes. Fields whose absence would widen a request, such as
/// conditions and idempotency keys, and those that delimit a message, stay with an empty value, so that the code that
/// refuses them still does. Bytes of the target that are not ASCII are written with percent signs (RFC 3986 section
/// 2.1), which means the same.
enum RequestText {
    /// Replaces a value that must not be missing.
    private static let meaningless = ""

    /// Whether a field, whose name is a token, may not be left out.
    private static func mustStay(_ name: String) -> Bool {
        [
            "authorization", "connection", "content-encoding", "content-length", "content-type", "idempotency-key",
            "if-match", "keep-alive", "origin", "pinledger-signature", "proxy-connection", "sec-fetch-site", "te",
            "trailer",
            "transfer-encoding", "upgrade",
        ].contains(name.lowercased())
    }

    /// A request target in ASCII.
    static func target(_ target: String) -> String {
        guard !target.isASCII else { return target }
        var bytes: [UInt8] = []
        for byte in target.utf8 {
            if byte < 0x80 { bytes.append(byte) } else { bytes += "%\(Hex.encode([byte]))".utf8 }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The pairs of a field of cookies that are ASCII: another server of the same domain may set what it likes.
    private static func cookies(_ value: String) -> String {
        let pairs = value.utf8.split(separator: UInt8(ascii: ";")).filter { $0.allSatisfy { $0 < 0x80 } }
        return pairs.map { String(Substring($0)) }.joined(separator: ";")
    }

    /// A field in ASCII; nil where it counts as absent.
    static func field(_ name: String, _ value: String) -> (name: String, value: String)? {
        // No name is empty: code that checks names refuses this one as well.
        guard name.isASCII else { return ("", Self.meaningless) }
        if value.isASCII { return (name, value) }
        if name == ":path" { return (name, Self.target(value)) }
        if name.lowercased() == "cookie" { return (name, Self.cookies(value)) }
        return Self.mustStay(name) ? (name, Self.meaningless) : nil
    }
}

extension HTTPRequestHead {
    /// The head with nothing but ASCII in its target and its fields; see ``RequestText``.
    var inASCII: HTTPRequestHead {
        var head = self
        head.uri = RequestText.target(self.uri)
        guard self.headers.contains(where: { !$0.name.isASCII || !$0.value.isASCII }) else { return head }
        head.headers = HTTPHeaders(self.headers.compactMap { RequestText.field($0.name, $0.value) })
        return head
    }
}
