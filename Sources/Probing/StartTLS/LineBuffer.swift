import PinWire

/// Splits a stream into lines, with limits on what a host may send before TLS.
struct LineBuffer: Sendable {
    struct TooMuch: Error {}

    /// Bytes of all lines together.
    static let maximumBytes = 16 * 1024

    private var bytes: [UInt8] = []
    /// The number of bytes known to hold no line end: each byte is examined once, however slowly they come.
    private var searched = 0
    private var total = 0

    /// Whether nothing came after the last line that was taken.
    var isEmpty: Bool { self.bytes.isEmpty }

    mutating func append(_ bytes: some Collection<UInt8>) throws(TooMuch) {
        self.total += bytes.count
        guard self.total <= Self.maximumBytes else { throw TooMuch() }
        self.bytes += bytes
    }

    /// The next whole line without its end (LF or CR LF); nil until there is one. Bytes that are not printable ASCII
    /// are replaced.
    mutating func next() -> String? {
        guard let end = self.bytes[self.searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            self.searched = self.bytes.count
            return nil
        }
        var line = self.bytes[..<end]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        let text = String(shown: line)
        self.bytes.removeSubrange(...end)
        self.searched = 0
        return text
    }
}

/// Replies of three digits, of one or several lines (RFC 5321 section 4.2).
struct ReplyBuffer: Sendable {
    struct Reply {
        var code: Int
        /// The texts after the code, one for each line.
        var lines: [String]
    }

    /// The bytes received are not a reply.
    struct Malformed: Error {}

    private(set) var lines = LineBuffer()
    private var begun: Reply?

    mutating func append(_ bytes: some Collection<UInt8>) throws(LineBuffer.TooMuch) {
        try self.lines.append(bytes)
    }

    /// The next whole reply; nil until there is one.
    mutating func next() throws(Malformed) -> Reply? {
        while let line = self.lines.next() {
            let code = line.prefix(3)
            let number = code.count == 3 && code.allSatisfy { $0.isASCII && $0.isNumber } ? Int(code) : nil
            let mark = line.dropFirst(3).first
            guard let number, mark == nil || mark == " " || mark == "-" else { throw Malformed() }
            var reply = self.begun ?? Reply(code: number, lines: [])
            guard number == reply.code else { throw Malformed() }
            reply.lines.append(String(line.dropFirst(4)))
            self.begun = mark == "-" ? reply : nil
            if self.begun == nil { return reply }
        }
        return nil
    }
}
