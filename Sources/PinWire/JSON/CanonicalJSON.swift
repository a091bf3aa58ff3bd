extension JSON {
    /// The one canonical encoding of this value (RFC 8785, JSON Canonicalization Scheme), as UTF-8.
    ///
    /// Members are sorted by UTF-16 code units, numbers are spelled as ECMAScript spells them, and only what must be
    /// escaped is. These bytes are hashed, signed, stored and served: encode once and keep the bytes.
    public var canonicalBytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256)
        self.appendCanonical(to: &out)
        return out
    }

    /// ``canonicalBytes`` as a string.
    public var canonicalText: String { String(decoding: self.canonicalBytes, as: UTF8.self) }

    /// Appends ``canonicalBytes``.
    package func appendCanonical(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): Self.appendInteger(value, to: &out)
        case .number(let value): out.append(contentsOf: Self.ecmaScriptText(of: value).utf8)
        case .string(let text): Self.appendQuoted(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.appendCanonical(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { Self.precedes($0.key, $1.key) }).enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                Self.appendQuoted(member.key, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.appendCanonical(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// RFC 8785 section 3.2.3: order of names by UTF-16 code units (not by code points: they differ above U+FFFF).
    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf16.lexicographicallyPrecedes(right.utf16)
    }

    /// Appends a whole number in decimal.
    package static func appendInteger(_ value: Int64, to out: inout [UInt8]) {
        out.append(contentsOf: String(value).utf8)
    }

    /// Appends a string as RFC 8785 writes it.
    package static func appendQuoted(_ text: String, to out: inout [UInt8]) {
        var text = text
        out.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            // Stretches without anything to escape are copied unchanged: nearly always all of it.
            var start = 0
            for (place, byte) in utf8.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
                out.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<place]))
                self.appendEscape(of: byte, to: &out)
                start = place + 1
            }
            out.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        out.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(byte)
        case 0x08: out.append(UInt8(ascii: "b"))
        case 0x09: out.append(UInt8(ascii: "t"))
        case 0x0A: out.append(UInt8(ascii: "n"))
        case 0x0C: out.append(UInt8(ascii: "f"))
        case 0x0D: out.append(UInt8(ascii: "r"))
        default:
            out.append(contentsOf: "u00".utf8)
            for digit in [byte >> 4, byte & 15] {
                out.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }

    /// ECMAScript's Number::toString (ECMA-262 section 6.1.6.1.20) from the shortest digits that round-trip, which is
    /// what Swift prints. A non-finite number has no JSON spelling; the parser never makes one, and it is written `null`
    /// as JSON.stringify does.
    static func ecmaScriptText(of value: Double) -> String {
        guard value.isFinite else { return "null" }
        guard value != 0 else { return "0" }
        let sign = value < 0 ? "-" : ""
        var mantissa = Substring(value.magnitude.description)
        var exponent = 0
        if let mark = mantissa.firstIndex(of: "e") {
            exponent = Int(mantissa[mantissa.index(after: mark)...]) ?? 0
            mantissa = mantissa[..<mark]
        }
        let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
        let whole = parts[0]
        let fraction = parts.count > 1 ? parts[1] : ""
        // value = 0.DIGITS × 10^point
        var digits = Array((whole + fraction).utf8)
        var point = whole.utf8.count + exponent
        while digits.first == UInt8(ascii: "0") {
            digits.removeFirst()
            point -= 1
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        let count = digits.count
        let text = String(decoding: digits, as: UTF8.self)
        switch point {
        case count...21 where count <= point:
            return sign + text + String(repeating: "0", count: point - count)
        case 1...21:
            return sign + String(text.prefix(point)) + "." + String(text.dropFirst(point))
        case -5...0:
            return sign + "0." + String(repeating: "0", count: -point) + text
        default:
            let shown = point - 1
            let head = count == 1 ? text : String(text.prefix(1)) + "." + String(text.dropFirst(1))
            return sign + head + "e" + (shown < 0 ? "-" : "+") + String(shown.magnitude)
        }
    }
}
