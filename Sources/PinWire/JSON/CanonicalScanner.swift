/// Reads canonical JSON (RFC 8785) piece by piece in place, without making values of it.
///
/// It understands what ``JSON/canonicalBytes`` writes, and of strings only those without escapes. At anything else a
/// method returns nil or false, and the reader then takes the whole text to ``JSON/init(parsing:limits:)``, which
/// accepts it or says what is wrong: this scanner is a short cut and never the judge.
///
/// Why it stands beside ``JSONReader``: in canonical text the order of members and their spelling are known, so that the names
/// of a whole event are compared as literals and nothing is made but the values themselves. A node folds a million events
/// at its start this way, and allocates little more than a pin or a host for each. ``JSONReader`` has to expect white space,
/// any order and escapes, and makes a text of every name.
package struct CanonicalScanner {
    /// Valid as long as the buffer from which the scanner was made.
    package let bytes: UnsafeBufferPointer<UInt8>
    /// Where reading goes on.
    package private(set) var at: Int

    /// A scanner of a buffer, which MUST stay where it is until the scanner's last use.
    package init(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int = 0) {
        self.bytes = bytes
        self.at = start
    }

    package var isAtEnd: Bool { self.at == self.bytes.count }

    /// Skips `literal` if it comes next.
    package mutating func skip(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard count <= self.bytes.count - self.at else { return false }
        let wanted = literal.utf8Start
        for offset in 0..<count where self.bytes[self.at + offset] != wanted[offset] { return false }
        self.at += count
        return true
    }

    /// The bytes inside a string without escapes, which are valid UTF-8 and keep the bounds of ``StreamSafeText``.
    package mutating func plainBytes() -> UnsafeBufferPointer<UInt8>? {
        guard self.at < self.bytes.count, self.bytes[self.at] == UInt8(ascii: "\"") else { return nil }
        let start = self.at + 1
        var place = start
        var isASCII = true
        while place < self.bytes.count {
            let byte = self.bytes[place]
            if byte == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(rebasing: self.bytes[start..<place])
                guard isASCII || String(streamSafe: text) != nil else { return nil }
                self.at = place + 1
                return text
            }
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { return nil }
            if byte >= 0x80 { isASCII = false }
            place += 1
        }
        return nil
    }

    /// A string without escapes.
    package mutating func plainText() -> String? {
        self.plainBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// A whole number from 0 to ``JSON/largestInteger``.
    package mutating func natural() -> Int64? {
        let start = self.at
        var place = start
        var value: Int64 = 0
        while place < self.bytes.count, place - start < 17 {
            let digit = self.bytes[place] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            value = value * 10 + Int64(digit)
            place += 1
        }
        guard place > start, value <= JSON.largestInteger, place == start + 1 || self.bytes[start] != UInt8(ascii: "0")
        else { return nil }
        self.at = place
        return value
    }

    /// A boolean.
    package mutating func bool() -> Bool? {
        if self.skip("true") { return true }
        if self.skip("false") { return false }
        return nil
    }

    /// A time in the form of ``Timestamp/rfc3339``.
    package mutating func timestamp() -> Timestamp? {
        guard self.skip("\"") else { return nil }
        func number(_ offset: Int, _ count: Int) -> Int64 {
            var value: Int64 = 0
            for place in (self.at + offset)..<(self.at + offset + count) {
                let digit = self.bytes[place] &- UInt8(ascii: "0")
                // Makes the value too large for any of the places it may stand in.
                guard digit < 10 else { return 1_000_000 }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        func has(_ mark: Unicode.Scalar, _ offset: Int) -> Bool { self.bytes[self.at + offset] == UInt8(ascii: mark) }
        guard self.bytes.count - self.at >= 21, has("-", 4), has("-", 7), has("T", 10), has(":", 13), has(":", 16)
        else { return nil }
        let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
        let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
        guard (1970...9999).contains(year), (1...12).contains(month), hour < 24, minute < 60, second < 60,
            (1...Timestamp.days(in: month, of: year)).contains(day)
        else { return nil }
        var fraction: Int64 = 0
        var length = 19
        if has(".", 19) {
            guard self.bytes.count - self.at >= 28 else { return nil }
            fraction = number(20, 6)
            guard (1..<1_000_000).contains(fraction) else { return nil }
            length = 26
        }
        guard has("Z", length), has("\"", length + 1) else { return nil }
        self.at += length + 2
        let days = Timestamp.dayNumber(year: year, month: month, day: day)
        return Timestamp(
            microseconds: (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + fraction
        )
    }

    /// A pin's canonical text. Nil for one that begins as an SSH key does, too.
    package mutating func pin() -> Pin? {
        guard self.skip("\"sha256/") else { return nil }
        let start = self.at
        guard let pin = self.digest() else { return nil }
        // SSH keys begin so; a real pin does once in 16 million times.
        if self.bytes[start] == UInt8(ascii: "A"), self.bytes[start + 1] == UInt8(ascii: "A") { return nil }
        if self.bytes[start] == UInt8(ascii: "B"), self.bytes[start + 1] == UInt8(ascii: "B") { return nil }
        return pin
    }

    /// The 44 characters of base64 of a pin, and the quotation mark behind them.
    mutating func digest() -> Pin? {
        let start = self.at
        guard self.bytes.count - start >= 45 else { return nil }
        defer { self.at = start + 45 }
        guard self.bytes[start + 44] == UInt8(ascii: "\""), self.bytes[start + 43] == UInt8(ascii: "=") else {
            return nil
        }
        var isValid: UInt8 = 0
        func sextet(_ place: Int) -> UInt64 {
            let value = CanonicalScanner.sextets[Int(self.bytes[start + place])]
            isValid |= value
            return UInt64(value & 63)
        }
        // 64 bits are ten characters and four bits of the next.
        let w0 = (0..<10).reduce(UInt64(0)) { $0 << 6 | sextet($1) } << 4 | sextet(10) >> 2
        let w1 = (11..<21).reduce(sextet(10) & 3) { $0 << 6 | sextet($1) } << 2 | sextet(21) >> 4
        let w2 = (22..<32).reduce(sextet(21) & 15) { $0 << 6 | sextet($1) }
        let w3 = (32..<42).reduce(UInt64(0)) { $0 << 6 | sextet($1) } << 4 | sextet(42) >> 2
        // The last character carries four bits of the pin and two that must be zero.
        guard isValid & 0x80 == 0, sextet(42) & 3 == 0 else { return nil }
        return Pin(words: (w0, w1, w2, w3))
    }

    /// The value of each character of base64; 128 for all others.
    private static let sextets: [UInt8] = {
        var table = [UInt8](repeating: 0x80, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    /// The text of the object that begins here, found by its braces alone.
    package mutating func object() -> UnsafeBufferPointer<UInt8>? {
        guard self.at < self.bytes.count, self.bytes[self.at] == UInt8(ascii: "{") else { return nil }
        return self.nested()
    }

    /// Skips the value that begins here, found by its brackets alone. False where there is none, or a string in it has an escape.
    mutating func skipValue() -> Bool {
        guard self.at < self.bytes.count else { return false }
        switch self.bytes[self.at] {
        case UInt8(ascii: "\""): return self.plainBytes() != nil
        case UInt8(ascii: "{"), UInt8(ascii: "["): return self.nested() != nil
        default:
            let start = self.at
            while self.at < self.bytes.count, !Self.ends.contains(self.bytes[self.at]) { self.at += 1 }
            return self.at > start
        }
    }

    /// What stands behind a number or a word.
    private static let ends = Array(",}]".utf8)

    private mutating func nested() -> UnsafeBufferPointer<UInt8>? {
        let start = self.at
        self.at += 1
        var depth = 1
        while self.at < self.bytes.count {
            switch self.bytes[self.at] {
            case UInt8(ascii: "\""):
                guard self.plainBytes() != nil else { return nil }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            self.at += 1
            if depth == 0 { return UnsafeBufferPointer(rebasing: self.bytes[start..<self.at]) }
        }
        return nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether these are the bytes of `literal`.
    package func matches(_ literal: StaticString) -> Bool {
        guard self.count == literal.utf8CodeUnitCount else { return false }
        let wanted = literal.utf8Start
        for place in 0..<self.count where self[place] != wanted[place] { return false }
        return true
    }
}
