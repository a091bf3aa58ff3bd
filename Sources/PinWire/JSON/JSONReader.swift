/// A strict pull parser of JSON: it reads a text in place, value by value, and makes nothing of what the caller skips.
///
/// The only parser of JSON: ``JSON/init(parsing:limits:)`` builds its tree on it. (``CanonicalScanner`` is a short cut for
/// what the program itself has written.) It leaves two checks to the reader of an object: repeated names, and long ones.
struct JSONReader {
    /// Valid as long as the buffer that the reader was made of.
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: JSONLimits
    private var at = 0
    private var nodes = 0
    private var depth = 0

    /// A reader of a buffer, which MUST stay where it is until the reader's last use.
    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// - Parameter offset: Nil for the present place.
    func failure(_ message: String, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(message: message, offset: offset ?? self.at, pointer: JSONPointer())
    }

    /// The first byte of what comes next, behind white space; nil at the end.
    mutating func next() -> UInt8? {
        while self.at < self.bytes.count {
            switch self.bytes[self.at] {
            case 0x20, 0x0A, 0x0D, 0x09: self.at += 1
            case let byte: return byte
            }
        }
        return nil
    }

    /// Nothing but white space is left.
    mutating func end() throws(JSONSyntaxError) {
        guard self.next() == nil else { throw self.failure("there is more after the end of the value") }
    }

    // MARK: Values

    /// Counts the value that comes next.
    mutating func begin() throws(JSONSyntaxError) {
        self.nodes += 1
        guard self.nodes <= self.limits.nodes else {
            throw self.failure("the text has more than \(self.limits.nodes) values")
        }
    }

    /// The members of an object, each of which `body` MUST read or ``skip()``. False for any other value, which is skipped.
    mutating func object(
        _ body: (inout JSONReader, String) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "{") else {
            try self.skip()
            return false
        }
        try self.begin()
        try self.enter()
        var isFirst = true
        while let member = try self.memberName(isFirst: isFirst) {
            isFirst = false
            try self.colon()
            try body(&self, member.name)
        }
        return true
    }

    /// The elements of an array, each of which `body` MUST read or ``skip()``. False for any other value, which is skipped.
    mutating func array(_ body: (inout JSONReader) throws(JSONSyntaxError) -> Void) throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "[") else {
            try self.skip()
            return false
        }
        try self.begin()
        try self.enter()
        var isFirst = true
        while try self.hasElement(isFirst: isFirst) {
            isFirst = false
            try body(&self)
        }
        return true
    }

    /// The text of a string; nil for any other value, which is skipped.
    mutating func text() throws(JSONSyntaxError) -> String? {
        guard self.next() == UInt8(ascii: "\"") else {
            try self.skip()
            return nil
        }
        try self.begin()
        return try self.string()
    }

    /// A whole number; nil for any other value, which is skipped.
    mutating func integer() throws(JSONSyntaxError) -> Int64? {
        guard let first = self.next(), Self.beginsNumber(first) else {
            try self.skip()
            return nil
        }
        try self.begin()
        if let whole = self.shortInteger() { return whole }
        return try self.number().integerValue
    }

    /// Whether null comes next; if so, goes past it.
    mutating func null() throws(JSONSyntaxError) -> Bool {
        guard self.next() == UInt8(ascii: "n") else { return false }
        try self.skip()
        return true
    }

    /// Goes past any value.
    mutating func skip() throws(JSONSyntaxError) {
        switch self.next() {
        case UInt8(ascii: "{"):
            _ = try self.object { (reader, _) throws(JSONSyntaxError) in try reader.skip() }
        case UInt8(ascii: "["):
            _ = try self.array { (reader) throws(JSONSyntaxError) in try reader.skip() }
        default:
            try self.begin()
            _ = try self.scalar()
        }
    }

    // MARK: Parts of values

    /// Goes into the object or array whose first byte comes next.
    mutating func enter() throws(JSONSyntaxError) {
        guard self.depth < self.limits.depth else {
            throw self.failure("the text is nested deeper than \(self.limits.depth) levels")
        }
        self.depth += 1
        self.at += 1
    }

    /// The name of the next member and where it begins; nil behind the last one, outside of the object.
    mutating func memberName(isFirst: Bool) throws(JSONSyntaxError) -> (name: String, start: Int)? {
        guard try self.goesOn(to: UInt8(ascii: "}"), "brace", isFirst: isFirst) else { return nil }
        guard self.next() == UInt8(ascii: "\"") else { throw self.failure("a member name should be here") }
        let start = self.at
        return (try self.string(), start)
    }

    /// Goes past what separates a member's name and its value.
    mutating func colon() throws(JSONSyntaxError) {
        guard self.next() == UInt8(ascii: ":") else { throw self.failure("a colon should be here") }
        self.at += 1
    }

    /// Whether there is another element; false behind the last one, outside of the array.
    mutating func hasElement(isFirst: Bool) throws(JSONSyntaxError) -> Bool {
        try self.goesOn(to: UInt8(ascii: "]"), "bracket", isFirst: isFirst)
    }

    private mutating func goesOn(
        to end: UInt8, _ name: StaticString, isFirst: Bool
    ) throws(JSONSyntaxError) -> Bool {
        let byte = self.next()
        if byte == end {
            self.depth -= 1
            self.at += 1
            return false
        }
        if isFirst { return true }
        guard byte == UInt8(ascii: ",") else { throw self.failure("a comma or a closing \(name) should be here") }
        self.at += 1
        return true
    }

    /// What comes next, which is neither an object nor an array.
    mutating func scalar() throws(JSONSyntaxError) -> JSON {
        switch self.next() {
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case let byte? where Self.beginsNumber(byte): return try self.number()
        case nil: throw self.failure("the text ends where a value should be")
        default: throw self.failure("there is no JSON value here")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONSyntaxError) -> JSON {
        let count = word.utf8CodeUnitCount
        guard count <= self.bytes.count - self.at else { throw self.failure("there is no JSON value here") }
        for offset in 0..<count where self.bytes[self.at + offset] != word.utf8Start[offset] {
            throw self.failure("there is no JSON value here")
        }
        self.at += count
        return value
    }

    // MARK: Numbers

    private static func beginsNumber(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || Self.isDigit(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private mutating func number() throws(JSONSyntaxError) -> JSON {
        if let whole = self.shortInteger() { return .integer(whole) }
        let start = self.at
        if self.isNext("-") { self.at += 1 }
        let first = self.at
        try self.digits()
        if self.at > first + 1, self.bytes[first] == UInt8(ascii: "0") {
            throw self.failure("a number has no leading zero", at: first + 1)
        }
        if self.isNext(".") {
            self.at += 1
            try self.digits()
        }
        if self.isNext("e") || self.isNext("E") {
            self.at += 1
            if self.isNext("+") || self.isNext("-") { self.at += 1 }
            try self.digits()
        }
        guard self.at - start <= 400 else { throw self.failure("the number is absurdly long", at: start) }
        let text = String(decoding: self.bytes[start..<self.at], as: UTF8.self)
        if let whole = Int64(text), whole.magnitude <= UInt64(JSON.largestInteger) { return .integer(whole) }
        guard let value = Double(text), value.isFinite else {
            throw self.failure("the number is too large", at: start)
        }
        if value.rounded() == value, value.magnitude <= Double(JSON.largestInteger) { return .integer(Int64(value)) }
        return .number(value)
    }

    private func isNext(_ mark: Unicode.Scalar) -> Bool {
        self.at < self.bytes.count && self.bytes[self.at] == UInt8(ascii: mark)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = self.at
        while self.at < self.bytes.count, Self.isDigit(self.bytes[self.at]) { self.at += 1 }
        guard self.at > start else { throw self.failure("a digit should be here") }
    }

    /// A whole number of at most 15 digits and no sign: most numbers. Nil, with nothing read, for any other.
    private mutating func shortInteger() -> Int64? {
        var place = self.at
        var value: Int64 = 0
        while place < self.bytes.count, place - self.at < 16, Self.isDigit(self.bytes[place]) {
            value = value * 10 + Int64(self.bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        let count = place - self.at
        guard (1...15).contains(count), count == 1 || self.bytes[self.at] != UInt8(ascii: "0") else { return nil }
        if place < self.bytes.count {
            switch self.bytes[place] {
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
            default: break
            }
        }
        self.at = place
        return value
    }

    // MARK: Strings

    private mutating func string() throws(JSONSyntaxError) -> String {
        let start = self.at
        // Nearly every string is plain ASCII without an escape.
        var end = start + 1
        var isASCII = true
        while end < self.bytes.count, self.bytes[end] >= 0x20, self.bytes[end] != UInt8(ascii: "\\") {
            if self.bytes[end] == UInt8(ascii: "\"") {
                let units = self.bytes[(start + 1)..<end]
                let text = isASCII ? String(decoding: units, as: UTF8.self) : try self.text(of: units, at: start)
                self.at = end + 1
                return text
            }
            if self.bytes[end] >= 0x80 { isASCII = false }
            end += 1
        }
        return try self.string(from: start, plainUpTo: end)
    }

    /// The rest of a string that has an escape, or something that no string may have, at `end`.
    @inline(never)
    private mutating func string(from start: Int, plainUpTo end: Int) throws(JSONSyntaxError) -> String {
        var units = Array(self.bytes[(start + 1)..<end])
        self.at = end
        while self.at < self.bytes.count {
            let byte = self.bytes[self.at]
            switch byte {
            case UInt8(ascii: "\""):
                let text = try self.text(of: units, at: start)
                self.at += 1
                return text
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

    /// The text that was spelled from byte `start` on.
    private func text(of units: some Collection<UInt8>, at start: Int) throws(JSONSyntaxError) -> String {
        if let text = String(streamSafe: units, marks: self.limits.marks) { return text }
        guard String(validating: units, as: UTF8.self) == nil else {
            throw self.failure("the string has more than \(self.limits.marks) combining marks in a row", at: start)
        }
        throw self.failure("the string is not valid UTF-8", at: start)
    }

    private mutating func escape(into units: inout [UInt8]) throws(JSONSyntaxError) {
        let start = self.at - 1
        guard self.at < self.bytes.count else { throw self.failure("the text ends in an escape") }
        let mark = self.bytes[self.at]
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
                guard self.isNext("\\"), self.at + 1 < self.bytes.count, self.bytes[self.at + 1] == UInt8(ascii: "u")
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

    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
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
