/// A GET whose head was understood to the last byte.
struct PlainGet {
    /// Bytes of the head, the empty line included. There is no body.
    var length: Int
    var target: Range<Int>
    /// The value of the one field of this name.
    var acceptEncoding: Range<Int>?
    var ifNoneMatch: Range<Int>?
    var clientReport: Range<Int>?
    var lastEventID: Range<Int>?
    var forwardedFor: Range<Int>?
    /// There are several fields of that name, which count as one.
    var hasMoreForwardedFor = false

    /// The text of a field, which is printable ASCII.
    ///
    /// - Parameter bytes: Those that the request was read from.
    func text(_ field: Range<Int>?, in bytes: UnsafeRawBufferPointer) -> String? {
        field.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// What it asks for where that is a stream of documents, which the router need not look at.
    func streamRequest(in bytes: UnsafeRawBufferPointer) -> StreamRequest? {
        guard !self.hasMoreForwardedFor,
            let app = StreamRequest.app(in: UnsafeRawBufferPointer(rebasing: bytes[self.target]))
        else { return nil }
        return StreamRequest(
            app: app, lastEventID: self.text(self.lastEventID, in: bytes),
            clientReport: self.text(self.clientReport, in: bytes), forwardedFor: self.text(self.forwardedFor, in: bytes)
        )
    }
}

/// Recognises the requests that nearly all clients send, and nothing else.
///
/// What it accepts is a strict subset of what the HTTP/1.1 decoder accepts, and it reads it the same way: one whole
/// head that begins at the first byte, with `GET`, a path and a query of plain characters, `HTTP/1.1`, CRLF at the end
/// of every line, one `Host`, no field that says anything about a body, the connection or the transfer, and nothing
/// that is not printable ASCII. Whatever is different is not refused here; it goes to the decoder as it came.
enum HeadReader {
    /// Bytes that a head may have here, and lines: far below the decoder's limits.
    private static let maximumLength = 4096
    private static let maximumLines = 48

    /// The request at the start of `bytes`; nil where it is not a plain one, or not there to its end.
    static func read(_ bytes: UnsafeRawBufferPointer) -> PlainGet? {
        let count = min(bytes.count, Self.maximumLength)
        // The shortest head: "GET / HTTP/1.1\r\nHost:a\r\n\r\n".
        guard count >= 26, bytes[0] == UInt8(ascii: "G"), bytes[1] == UInt8(ascii: "E"),
            bytes[2] == UInt8(ascii: "T"), bytes[3] == UInt8(ascii: " "), bytes[4] == UInt8(ascii: "/")
        else { return nil }
        var at = 4
        while at < count, Self.isPathByte(bytes[at]) { at += 1 }
        if at < count, bytes[at] == UInt8(ascii: "?") {
            at += 1
            while at < count, Self.isQueryByte(bytes[at]) { at += 1 }
        }
        var request = PlainGet(length: 0, target: 4..<at)
        guard count - at > Self.version.utf8CodeUnitCount, Self.has(Self.version, bytes, at) else { return nil }
        at += Self.version.utf8CodeUnitCount
        var hosts = 0
        for _ in 0..<Self.maximumLines {
            guard at + 1 < count else { return nil }
            if bytes[at] == Self.cr {
                guard bytes[at + 1] == Self.lf, hosts == 1 else { return nil }
                request.length = at + 2
                return request
            }
            let start = at
            while at < count, Self.isNameByte(bytes[at]) { at += 1 }
            let name = start..<at
            guard !name.isEmpty, at < count, bytes[at] == UInt8(ascii: ":") else { return nil }
            at += 1
            while at < count, Self.isBlank(bytes[at]) { at += 1 }
            let first = at
            while at < count, Self.isValueByte(bytes[at]) { at += 1 }
            guard at + 1 < count, bytes[at] == Self.cr, bytes[at + 1] == Self.lf else { return nil }
            var last = at
            while last > first, Self.isBlank(bytes[last - 1]) { last -= 1 }
            at += 2
            switch Self.meaning(of: name, first..<last, in: bytes) {
            case .nothing: break
            case .host: hosts += 1
            case .acceptEncoding:
                guard request.acceptEncoding == nil else { return nil }
                request.acceptEncoding = first..<last
            case .ifNoneMatch:
                guard request.ifNoneMatch == nil else { return nil }
                request.ifNoneMatch = first..<last
            case .clientReport:
                guard request.clientReport == nil else { return nil }
                request.clientReport = first..<last
            case .lastEventID:
                guard request.lastEventID == nil else { return nil }
                request.lastEventID = first..<last
            case .forwardedFor:
                // Only streams ask for it; proxies may well send several.
                if request.forwardedFor != nil { request.hasMoreForwardedFor = true }
                request.forwardedFor = first..<last
            case .unclear: return nil
            }
        }
        return nil
    }

    private enum Meaning {
        case nothing, host, acceptEncoding, ifNoneMatch, clientReport, lastEventID, forwardedFor
        /// Something the decoder and the router have to look at.
        case unclear
    }

    private static func meaning(
        of name: Range<Int>, _ value: Range<Int>, in bytes: UnsafeRawBufferPointer
    ) -> Meaning {
        func isNamed(_ text: StaticString) -> Bool { Self.isSame(name, as: text, in: bytes) }
        switch bytes[name.lowerBound] | 0x20 {
        case UInt8(ascii: "h"):
            if isNamed("host") {
                return value.allSatisfy { Self.isHostByte(bytes[$0]) } && !value.isEmpty ? .host : .unclear
            }
            return isNamed("http2-settings") ? .unclear : .nothing
        case UInt8(ascii: "a"):
            return isNamed("accept-encoding") ? .acceptEncoding : .nothing
        case UInt8(ascii: "i"):
            return isNamed("if-none-match") ? .ifNoneMatch : .nothing
        case UInt8(ascii: "c"):
            if isNamed("connection") { return Self.isSame(value, as: "keep-alive", in: bytes) ? .nothing : .unclear }
            return Self.begins(name, with: "content-", in: bytes) ? .unclear : .nothing
        case UInt8(ascii: "t"):
            // TE, Trailer, Transfer-Encoding.
            return isNamed("te") || isNamed("trailer") || Self.begins(name, with: "transfer", in: bytes)
                ? .unclear : .nothing
        case UInt8(ascii: "e"): return isNamed("expect") ? .unclear : .nothing
        case UInt8(ascii: "u"): return isNamed("upgrade") ? .unclear : .nothing
        case UInt8(ascii: "p"):
            if isNamed("pinledger-client") { return .clientReport }
            return isNamed("proxy-connection") ? .unclear : .nothing
        case UInt8(ascii: "k"): return isNamed("keep-alive") ? .unclear : .nothing
        case UInt8(ascii: "l"): return isNamed("last-event-id") ? .lastEventID : .nothing
        case UInt8(ascii: "x"): return isNamed("x-forwarded-for") ? .forwardedFor : .nothing
        default: return .nothing
        }
    }

    private static let version: StaticString = " HTTP/1.1\r\n"
    private static let cr = UInt8(ascii: "\r")
    private static let lf = UInt8(ascii: "\n")

    private static func has(_ text: StaticString, _ bytes: UnsafeRawBufferPointer, _ at: Int) -> Bool {
        text.withUTF8Buffer { text in
            for index in text.indices where bytes[at + index] != text[index] { return false }
            return true
        }
    }

    /// Whether the bytes are `text`, which is in lower case, whatever their case.
    private static func isSame(_ range: Range<Int>, as text: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
        range.count == text.utf8CodeUnitCount && Self.begins(range, with: text, in: bytes)
    }

    private static func begins(_ range: Range<Int>, with text: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard range.count >= text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            for index in text.indices {
                let byte = bytes[range.lowerBound + index]
                let lower = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
                if lower != text[index] { return false }
            }
            return true
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
    }

    /// Letters, digits and what names of apps and of paths here have; no percent escapes.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        self.isLetterOrDigit(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// The same and what separates the members of a query; no percent escapes.
    private static func isQueryByte(_ byte: UInt8) -> Bool {
        self.isPathByte(byte) || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "~")
            || byte == UInt8(ascii: ":")
    }

    /// The characters of a token (RFC 9110 section 5.6.2) that occur in names of fields.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        self.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        self.isLetterOrDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
    }

    private static func isValueByte(_ byte: UInt8) -> Bool { byte &- 0x20 < 0x5F }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") }
}
