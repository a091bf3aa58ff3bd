/// Reads JSON (RFC 8259) in place, value by value, and makes values only of the parts that are asked for.
///
/// As strict about the text as ``JSON/init(parsing:limits:)``, except for names that stand in one object twice, which
/// the reader of the object has to check. A value of another kind than expected is skipped and read as nil.
struct JSONCursor {
    /// Valid as long as the buffer from which the cursor was made.
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: JSONLimits
    private var at = 0
    private var nodes = 0
    private var depth = 0

    /// A cursor of a buffer, which MUST stay where it is until the cursor's last use.
    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    func failure(_ message: String) -> JSONSyntaxError {
        JSONSyntaxError(message: message, offset: self.at, pointer: JSONPointer())
    }

    private mutating func skipSpace() {
        while self.at < self.bytes.count {
            switch self.bytes[self.at] {
            case 0x20, 0x0A, 0x0D, 0x09: self.at += 1
            default: return
            }
        }
    }

    /// The first byte of the next token; nil at the end.
    private mutating func next() -> UInt8? {
        self.skipSpace()
        return self.at < self.bytes.count ? self.bytes[self.at] : nil
    }

    /// Skips a mark if it comes next.
    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard self.next() == UInt8(ascii: mark) else { return false }
        self.at += 1
        return true
    }

    private mutating func begin() throws(JSONSyntaxError) {
        self.nodes += 1
        guard self.nodes <= self.limits.nodes else {
            throw self.failure("the text has more than \(self.limits.nodes) values")
        }
    }

    /// Whether only white space is left.
    mutating func end() throws(JSONSyntaxError) {
        guard self.next() == nil else { throw self.failure("there is more after the end of the value") }
    }

    // MARK: Values

    /// The members of an object, each of which `body` MUST read or ``skip()``. False for any other value.
    ///
    /// For a name that no reader can know, because it is longer than ``nameLength`` or not ASCII, `body` gets the empty
    /// text.
    mutating func object(
        _ body: (inout JSONCursor, String) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "{") else {
            try self.skip()
            return false
        }
        try self.enter()
        if !self.take("}") {
            repeat {
                guard self.next() == UInt8(ascii: "\"") else { throw self.failure("a member's name should be here") }
                let name = try self.name()
                guard self.take(":") else { throw self.failure("a colon should be here") }
                try body(&self, name)
            } while self.take(",")
            guard self.take("}") else { throw self.failure("a comma or the object's end should be here") }
        }
        self.depth -= 1
        return true
    }

    /// The elements of an array, each of which `body` MUST read or ``skip()``. False for any other value.
    mutating func array(_ body: (inout JSONCursor) throws(JSONSyntaxError) -> Void) throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "[") else {
            try self.skip()
            return false
        }
        try self.enter()
        if !self.take("]") {
            repeat { try body(&self) } while self.take(",")
            guard self.take("]") else { throw self.failure("a comma or the array's end should be here") }
        }
        self.depth -= 1
        return true
    }

    private mutating func enter() throws(JSONSyntaxError) {
        try self.begin()
        self.depth += 1
        guard self.depth <= self.limits.depth else {
            throw self.failure("the text is nested deeper than \(self.limits.depth) levels")
        }
        self.at += 1
    }

    /// The text of a string.
    mutating func text() throws(JSONSyntaxError) -> String? {
        guard self.next() == UInt8(ascii: "\"") else {
            try self.skip()
            return nil
        }
        try self.begin()
        return try self.rawText()
    }

    /// A whole number.
    mutating func integer() throws(JSONSyntaxError) -> Int64? {
        guard let first = self.next(), first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10 else {
            try self.skip()
            return nil
        }
        try self.begin()
        return try self.number()
    }

    /// Whether null comes next; if so, skips it.
    mutating func null() throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "n") else { return false }
        try self.skip()
        return true
    }

    /// Skips any value.
    mutating func skip() throws(JSONSyntaxError) {
        switch self.next() {
        case UInt8(ascii: "{"):
            _ = try self.object { (cursor, _) throws(JSONSyntaxError) in try cursor.skip() }
        case UInt8(ascii: "["):
            _ = try self.array { (cursor) throws(JSONSyntaxError) in try cursor.skip() }
        case UInt8(ascii: "\""): _ = try self.text()
        case UInt8(ascii: "t"): try self.word("true")
        case UInt8(ascii: "f"): try self.word("false")
        case UInt8(ascii: "n"): try self.word("null")
        case let byte? where byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10: _ = try self.integer()
        case nil: throw self.failure("the text ends where a value should be")
        default: throw self.failure("there is no JSON value here")
        }
    }

    // MARK: Texts and numbers

    private mutating func word(_ word: StaticString) throws(JSONSyntaxError) {
        try self.begin()
        let count = word.utf8CodeUnitCount
        guard count <= self.bytes.count - self.at else { throw self.failure("there is no JSON value here") }
        for offset in 0..<count where self.bytes[self.at + offset] != word.utf8Start[offset] {
            throw self.failure("there is no JSON value here")
        }
        self.at += count
    }

    /// Bytes of the longest name that a reader can ask for.
    private static let nameLength = 64

    private mutating func name() throws(JSONSyntaxError) -> String {
        let name = try self.rawText()
        return name.utf8.count <= Self.nameLength && name.isASCII ? name : ""
    }

    private mutating func rawText() throws(JSONSyntaxError) -> String {
        let start = self.at + 1
        var place = start
        var isPlain = true
        while place < self.bytes.count {
            let byte = self.bytes[place]
            if byte == UInt8(ascii: "\"") {
                defer { self.at = place + 1 }
                if isPlain { return String(decoding: self.bytes[start..<place], as: UTF8.self) }
                // Text that is not plain ASCII is rare, and is left to the parser.
                guard case .string(let text) = try self.parse(start - 1, place + 1) else { return "" }
                return text
            }
            if byte == UInt8(ascii: "\\") {
                isPlain = false
                place += 1
            } else if byte < 0x20 || byte >= 0x80 {
                isPlain = false
            }
            place += 1
        }
        throw self.failure("the text ends within a string")
    }

    private mutating func number() throws(JSONSyntaxError) -> Int64? {
        let start = self.at
        var place = start
        var value: Int64 = 0
        var isPlain = self.bytes[start] != UInt8(ascii: "0")
        scan: while place < self.bytes.count {
            switch self.bytes[place] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if place - start < 15 {
                    value = value * 10 + Int64(self.bytes[place] - UInt8(ascii: "0"))
                } else {
                    isPlain = false
                }
            case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
                isPlain = false
            default: break scan
            }
            place += 1
        }
        defer { self.at = place }
        if isPlain { return value }
        return try self.parse(start, place).integerValue
    }

    /// The parser's result for some bytes.
    private func parse(_ start: Int, _ end: Int) throws(JSONSyntaxError) -> JSON {
        do { return try JSON(parsing: self.bytes[start..<end]) } catch {
            throw JSONSyntaxError(message: error.message, offset: start + error.offset, pointer: JSONPointer())
        }
    }
}
