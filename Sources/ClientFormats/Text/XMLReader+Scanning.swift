import PinWire

extension XMLReader {
    /// The next byte; nil at the end.
    var peek: UInt8? { self.place < self.bytes.count ? self.bytes[self.place] : nil }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n")
            || byte == UInt8(ascii: "\r")
    }

    /// A defect at the present place.
    func defect(_ message: String) -> TextDefect { TextDefect(line: self.line, column: self.column, message) }

    func isAt(_ text: String) -> Bool { self.isAt(text.utf8) }

    func isAt(_ bytes: some Collection<UInt8>) -> Bool { self.bytes[self.place...].starts(with: bytes) }

    /// Advances by some bytes. A line ends with LF, CR, or CR and LF.
    mutating func advance(_ count: Int = 1) {
        for _ in 0..<count {
            let byte = self.bytes[self.place]
            self.place += 1
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") && self.peek != UInt8(ascii: "\n") {
                self.line += 1
                self.column = 1
            } else if byte & 0xC0 != 0x80 {
                self.column += 1
            }
        }
    }

    /// Skips white space; whether there was any.
    @discardableResult
    mutating func skipSpace() -> Bool {
        let start = self.place
        while let byte = self.peek, Self.isSpace(byte) { self.advance() }
        return self.place > start
    }

    /// A name: a letter, underline or colon, and those, digits, hyphens and dots; all of ASCII.
    mutating func name() throws(TextDefect) -> String {
        func isLetter(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
                UInt8(ascii: ":"):
                true
            default: false
            }
        }
        let start = self.place
        guard let first = self.peek, isLetter(first) else { throw self.defect("a name should be here") }
        while let byte = self.peek,
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        {
            self.advance()
        }
        return String(decoding: self.bytes[start..<self.place], as: UTF8.self)
    }

    /// Text up to a byte that ends it, which is not taken; entities replaced, line ends made one line feed.
    mutating func text(inAttribute: Bool = false, until isEnd: (UInt8) -> Bool) throws(TextDefect) -> String {
        let start = self
        var out: [UInt8] = []
        while let byte = self.peek, !isEnd(byte) {
            switch byte {
            case UInt8(ascii: "&"): out += try self.reference()
            case UInt8(ascii: "<"): throw self.defect("the character < must be written &lt; here")
            case UInt8(ascii: "]") where !inAttribute && self.isAt("]]>"):
                throw self.defect("the characters ]]> must not stand in text")
            case UInt8(ascii: "\r"):
                self.advance()
                if self.peek != UInt8(ascii: "\n") { out.append(UInt8(ascii: inAttribute ? " " : "\n")) }
            default:
                out.append(inAttribute && Self.isSpace(byte) ? UInt8(ascii: " ") : byte)
                self.advance()
            }
        }
        // An element's text may end with the whole; then the element reports it.
        guard !inAttribute || self.peek != nil else { throw start.defect("the attribute's value does not end") }
        guard let text = String(streamSafe: out) else { throw start.defect(Self.tooManyMarks) }
        return text
    }

    /// The text of a CDATA section as it stands, line ends made one line feed.
    mutating func dataSection() throws(TextDefect) -> String {
        let start = self
        var out: [UInt8] = []
        self.advance("<![CDATA[".utf8.count)
        while !self.isAt("]]>") {
            guard let byte = self.peek else { throw start.defect("the CDATA section does not end") }
            self.advance()
            if byte != UInt8(ascii: "\r") {
                out.append(byte)
            } else if self.peek != UInt8(ascii: "\n") {
                out.append(UInt8(ascii: "\n"))
            }
        }
        self.advance("]]>".utf8.count)
        guard let text = String(streamSafe: out) else { throw start.defect(Self.tooManyMarks) }
        return text
    }

    static let tooManyMarks = "there are more than \(StreamSafeText.markLimit) combining marks in a row"

    /// The text of an entity or a character reference.
    private mutating func reference() throws(TextDefect) -> [UInt8] {
        let start = self
        self.advance()
        var name: [UInt8] = []
        while let byte = self.peek, byte != UInt8(ascii: ";"), name.count < 10 {
            name.append(byte)
            self.advance()
        }
        guard self.isAt(";") else { throw start.defect("an entity does not end, or an & should be written &amp;") }
        self.advance()
        let text = String(decoding: name, as: UTF8.self)
        switch text {
        case "amp": return [UInt8(ascii: "&")]
        case "lt": return [UInt8(ascii: "<")]
        case "gt": return [UInt8(ascii: ">")]
        case "quot": return [UInt8(ascii: "\"")]
        case "apos": return [UInt8(ascii: "'")]
        default: break
        }
        guard text.hasPrefix("#") else { throw start.defect("the entity \(text.prefix(10)) is not read") }
        let digits = text.dropFirst(text.hasPrefix("#x") ? 2 : 1)
        guard digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: text.hasPrefix("#x") ? 16 : 10),
            let scalar = Unicode.Scalar(value), value >= 0x20 || [0x09, 0x0A, 0x0D].contains(value),
            value != 0xFFFE, value != 0xFFFF
        else { throw start.defect("there is no character with this number in XML") }
        return Array(String(Character(scalar)).utf8)
    }
}
