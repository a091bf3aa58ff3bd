/// Why a text is not acceptable JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, as a sentence without a full stop.
    public let message: String
    /// Byte offset from the start of the text.
    public let offset: Int
    /// JSON pointer (RFC 6901) of the value being read.
    public let pointer: JSONPointer

    public var description: String {
        "\(self.message), at byte \(self.offset)\(self.pointer.path.isEmpty ? "" : " (\(self.pointer))")"
    }
}

/// Limits on a text; above them, it is refused before memory is spent.
public struct JSONLimits: Sendable {
    /// Nesting of arrays and objects.
    public var depth: Int
    /// Values in all, at every level.
    public var nodes: Int
    /// Marks in a row that a string may have; see ``StreamSafeText``.
    package var marks = StreamSafeText.markLimit

    /// Bytes that a member's name may have, unescaped.
    package static let nameLength = 1024

    public init(depth: Int = 32, nodes: Int = 10_000) {
        self.depth = depth
        self.nodes = nodes
    }

    /// The limits for the program's own records, of a time when texts had other bounds.
    package static func stored(depth: Int, nodes: Int) -> JSONLimits {
        var limits = JSONLimits(depth: depth, nodes: nodes)
        limits.marks = StreamSafeText.storedMarkLimit
        return limits
    }
}

extension JSON {
    /// Parses a whole text as one JSON value, strictly by RFC 8259 and narrower: UTF-8 without a byte order mark, no
    /// duplicate names in an object (RFC 7493 section 2.3), none of more than 1024 bytes, no lone surrogates, no number
    /// that overflows a double, no more than 30 combining marks in a row (UAX #15 section 13). So the time to read the
    /// text, and to use its values, grows linearly with the text.
    public init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: Array(bytes), limits: limits)
        self = try parser.document()
    }

    /// Parses a whole text as one JSON value; see ``init(parsing:limits:)``.
    public init(text: String, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

/// A recursive-descent reader over one byte array. Recursion is bounded by ``JSONLimits/depth``.
private struct JSONParser {
    let bytes: [UInt8]
    let limits: JSONLimits
    var at = 0
    var nodes = 0
    /// The path to the present value; spelled out only for an error.
    var path: [Part] = []

    enum Part {
        case member(String)
        case element(Int)

        var text: String {
            switch self {
            case .member(let name): name
            case .element(let index): String(index)
            }
        }
    }

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    func failure(_ message: String, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(message: message, offset: offset ?? self.at, pointer: JSONPointer(self.path.map(\.text)))
    }

    mutating func document() throws(JSONSyntaxError) -> JSON {
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw self.failure("the text begins with a byte order mark") }
        guard self.bytes.contains(where: { !Self.isSpace($0) }) else { throw self.failure("the text is empty") }
        self.skipSpace()
        let value = try self.value(depth: 0)
        self.skipSpace()
        guard self.at == self.bytes.count else { throw self.failure("there is more after the end of the value") }
        return value
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    mutating func skipSpace() {
        while self.at < self.bytes.count, Self.isSpace(self.bytes[self.at]) { self.at += 1 }
    }

    var next: UInt8? { self.at < self.bytes.count ? self.bytes[self.at] : nil }

    mutating func value(depth: Int) throws(JSONSyntaxError) -> JSON {
        self.nodes += 1
        guard self.nodes <= self.limits.nodes else {
            throw self.failure("the text has more than \(self.limits.nodes) values")
        }
        switch self.next {
        case UInt8(ascii: "{"): return try self.object(depth: depth + 1)
        case UInt8(ascii: "["): return try self.array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case nil: throw self.failure("the text ends where a value should be")
        case let byte? where byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
            return try self.number()
        default: throw self.failure("there is no JSON value here")
        }
    }

    mutating func word(_ text: String, _ value: JSON) throws(JSONSyntaxError) -> JSON {
        guard self.bytes[self.at...].starts(with: text.utf8) else { throw self.failure("there is no JSON value here") }
        self.at += text.utf8.count
        return value
    }

    mutating func object(depth: Int) throws(JSONSyntaxError) -> JSON {
        guard depth <= self.limits.depth else {
            throw self.failure("the text is nested deeper than \(self.limits.depth) levels")
        }
        self.at += 1
        var members: [String: JSON] = [:]
        self.skipSpace()
        if self.next == UInt8(ascii: "}") {
            self.at += 1
            return .object(members)
        }
        while true {
            self.skipSpace()
            guard self.next == UInt8(ascii: "\"") else { throw self.failure("a member name should be here") }
            let start = self.at
            let name = try self.string()
            guard name.utf8.count <= JSONLimits.nameLength else {
                throw self.failure("a member name has more than \(JSONLimits.nameLength) bytes", at: start)
            }
            self.path.append(.member(name))
            guard members[name] == nil else { throw self.failure("the member name stands here twice", at: start) }
            self.skipSpace()
            guard self.next == UInt8(ascii: ":") else { throw self.failure("a colon should be here") }
            self.at += 1
            self.skipSpace()
            members[name] = try self.value(depth: depth)
            self.path.removeLast()
            self.skipSpace()
            switch self.next {
            case UInt8(ascii: ","): self.at += 1
            case UInt8(ascii: "}"):
                self.at += 1
                return .object(members)
            default: throw self.failure("a comma or a closing brace should be here")
            }
        }
    }

    mutating func array(depth: Int) throws(JSONSyntaxError) -> JSON {
        guard depth <= self.limits.depth else {
            throw self.failure("the text is nested deeper than \(self.limits.depth) levels")
        }
        self.at += 1
        var elements: [JSON] = []
        self.skipSpace()
        if self.next == UInt8(ascii: "]") {
            self.at += 1
            return .array(elements)
        }
        while true {
            self.skipSpace()
            self.path.append(.element(elements.count))
            elements.append(try self.value(depth: depth))
            self.path.removeLast()
            self.skipSpace()
            switch self.next {
            case UInt8(ascii: ","): self.at += 1
            case UInt8(ascii: "]"):
                self.at += 1
                return .array(elements)
            default: throw self.failure("a comma or a closing bracket should be here")
            }
        }
    }

    mutating func number() throws(JSONSyntaxError) -> JSON {
        let start = self.at
        func isDigit(_ byte: UInt8?) -> Bool {
            byte.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        }
        if self.next == UInt8(ascii: "-") { self.at += 1 }
        guard isDigit(self.next) else { throw self.failure("a digit should be here") }
        if self.next == UInt8(ascii: "0") {
            self.at += 1
            guard !isDigit(self.next) else { throw self.failure("a number has no leading zero") }
        } else {
            while isDigit(self.next) { self.at += 1 }
        }
        if self.next == UInt8(ascii: ".") {
            self.at += 1
            guard isDigit(self.next) else { throw self.failure("a digit should be here") }
            while isDigit(self.next) { self.at += 1 }
        }
        if self.next == UInt8(ascii: "e") || self.next == UInt8(ascii: "E") {
            self.at += 1
            if self.next == UInt8(ascii: "+") || self.next == UInt8(ascii: "-") { self.at += 1 }
            guard isDigit(self.next) else { throw self.failure("a digit should be here") }
            while isDigit(self.next) { self.at += 1 }
        }
        if let whole = Self.short(self.bytes[start..<self.at]) { return .integer(whole) }
        guard self.at - start <= 400 else { throw self.failure("the number is absurdly long", at: start) }
        let text = String(decoding: self.bytes[start..<self.at], as: UTF8.self)
        if let whole = Int64(text), whole.magnitude <= UInt64(JSON.largestInteger) { return .integer(whole) }
        guard let value = Double(text), value.isFinite else {
            throw self.failure("the number is too large", at: start)
        }
        if value.rounded() == value, value.magnitude <= Double(JSON.largestInteger) { return .integer(Int64(value)) }
        return .number(value)
    }

    /// A whole number of at most 15 digits and no sign: most numbers.
    static func short(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.count <= 15 else { return nil }
        var value: Int64 = 0
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    mutating func string() throws(JSONSyntaxError) -> String {
        let start = self.at
        self.at += 1
        // Nearly every string has no escape, and is copied unchanged.
        var end = self.at
        while end < self.bytes.count, self.bytes[end] >= 0x20, self.bytes[end] != UInt8(ascii: "\""),
            self.bytes[end] != UInt8(ascii: "\\")
        {
            end += 1
        }
        if end < self.bytes.count, self.bytes[end] == UInt8(ascii: "\"") {
            let text = try self.text(of: self.bytes[self.at..<end], at: start)
            self.at = end + 1
            return text
        }
        var units = Array(self.bytes[self.at..<end])
        self.at = end
        while let byte = self.next {
            switch byte {
            case UInt8(ascii: "\""):
                self.at += 1
                return try self.text(of: units[...], at: start)
            case UInt8(ascii: "\\"):
                self.at += 1
                try self.escape(into: &units)
            case 0..<0x20: throw self.failure("a control character in a string must be escaped")
            default:
                units.append(byte)
                self.at += 1
            }
        }
        throw self.failure("the string does not end", at: start)
    }

    /// The text of the number from byte `start` on.
    func text(of units: ArraySlice<UInt8>, at start: Int) throws(JSONSyntaxError) -> String {
        if let text = String(streamSafe: units, marks: self.limits.marks) { return text }
        guard String(validating: units, as: UTF8.self) == nil else {
            throw self.failure("the string has more than \(self.limits.marks) combining marks in a row", at: start)
        }
        throw self.failure("the string is not valid UTF-8", at: start)
    }

    mutating func escape(into units: inout [UInt8]) throws(JSONSyntaxError) {
        let start = self.at - 1
        guard let mark = self.next else { throw self.failure("the text ends in an escape") }
        self.at += 1
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): units.append(mark)
        case UInt8(ascii: "b"): units.append(0x08)
        case UInt8(ascii: "f"): units.append(0x0C)
        case UInt8(ascii: "n"): units.append(0x0A)
        case UInt8(ascii: "r"): units.append(0x0D)
        case UInt8(ascii: "t"): units.append(0x09)
        case UInt8(ascii: "u"):
            let first = try self.codeUnit()
            var scalar = UInt32(first)
            if (0xD800..<0xDC00).contains(first) {
                guard self.next == UInt8(ascii: "\\"), self.at + 1 < self.bytes.count,
                    self.bytes[self.at + 1] == UInt8(ascii: "u")
                else { throw self.failure("a surrogate stands alone", at: start) }
                self.at += 2
                let second = try self.codeUnit()
                guard (0xDC00..<0xE000).contains(second) else {
                    throw self.failure("a surrogate stands alone", at: start)
                }
                scalar = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(scalar) else { throw self.failure("a surrogate stands alone", at: start) }
            units.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: throw self.failure("there is no such escape", at: start)
        }
    }

    mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
        guard self.at + 4 <= self.bytes.count else { throw self.failure("an escape needs four hexadecimal digits") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(self.bytes[self.at])).hexDigitValue, self.bytes[self.at] < 0x80
            else {
                throw self.failure("an escape needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            self.at += 1
        }
        return unit
    }
}
