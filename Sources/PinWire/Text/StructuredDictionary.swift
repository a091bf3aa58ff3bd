/// A dictionary of an HTTP field (RFC 8941 section 3.2), as far as the fields read here need it: members whose values
/// are integers, tokens, strings or bytes; for values of other kinds only their presence.
///
/// A text that is not a dictionary to its last byte is malformed as a whole (section 4.2); of members with the same key
/// the last counts.
package struct StructuredDictionary: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case integer(Int64)
        case token(String)
        case string(String)
        case bytes([UInt8])
        /// A decimal, a boolean or an inner list.
        case other
    }

    private var members: [String: Value] = [:]

    /// The value of a member; its parameters do not count.
    package subscript(_ key: String) -> Value? { self.members[key] }

    package var count: Int { self.members.count }

    /// The most bytes of a field.
    package static let maximumLength = 1024

    /// Reads a field's value, several joined by commas; nil where it is malformed or too long.
    package init?(_ field: String) {
        guard field.utf8.count <= Self.maximumLength else { return nil }
        var scanner = StructuredFieldScanner(field)
        scanner.skip { $0 == UInt8(ascii: " ") }
        while !scanner.isAtEnd {
            guard let key = scanner.key() else { return nil }
            var value = Value.other
            if scanner.take("=") {
                guard let item = scanner.member() else { return nil }
                value = item
            }
            guard scanner.parameters() else { return nil }
            self.members[key] = value
            scanner.skip(StructuredFieldScanner.isBlank)
            if scanner.isAtEnd { return }
            // A comma with nothing after it is an error.
            guard scanner.take(",") else { return nil }
            scanner.skip(StructuredFieldScanner.isBlank)
            guard !scanner.isAtEnd else { return nil }
        }
    }
}

/// Reads a structured field from its first byte to its last.
private struct StructuredFieldScanner {
    private let bytes: [UInt8]
    private var at = 0

    init(_ field: String) {
        var bytes = Array(field.utf8)
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        self.bytes = bytes
    }

    var isAtEnd: Bool { self.at == self.bytes.count }

    private var next: UInt8? { self.isAtEnd ? nil : self.bytes[self.at] }

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while let byte = self.next, isSkipped(byte) { self.at += 1 }
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.next == UInt8(ascii: character) else { return false }
        self.at += 1
        return true
    }

    private mutating func text(_ belongs: (UInt8) -> Bool) -> String {
        let start = self.at
        self.skip(belongs)
        return String(decoding: self.bytes[start..<self.at], as: UTF8.self)
    }

    /// Section 4.2.3.3.
    mutating func key() -> String? {
        guard let first = self.next, Self.isLowerCase(first) || first == UInt8(ascii: "*") else { return nil }
        return self.text { Self.isLowerCase($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }
    }

    /// A value: an item, or an inner list (section 4.2.1.2) of items.
    mutating func member() -> StructuredDictionary.Value? {
        guard self.take("(") else { return self.item() }
        while true {
            self.skip { $0 == UInt8(ascii: " ") }
            if self.take(")") { return .other }
            guard self.item() != nil, self.parameters() else { return nil }
            guard self.next == UInt8(ascii: " ") || self.next == UInt8(ascii: ")") else { return nil }
        }
    }

    /// Section 4.2.3.2; false where they are malformed.
    mutating func parameters() -> Bool {
        while self.take(";") {
            self.skip { $0 == UInt8(ascii: " ") }
            guard self.key() != nil else { return false }
            if self.take("="), self.item() == nil { return false }
        }
        return true
    }

    /// Section 4.2.3.1, without parameters.
    private mutating func item() -> StructuredDictionary.Value? {
        guard let first = self.next else { return nil }
        switch first {
        case UInt8(ascii: "\""): return self.string()
        case UInt8(ascii: ":"): return self.byteSequence()
        case UInt8(ascii: "?"):
            self.at += 1
            return self.take("0") || self.take("1") ? .other : nil
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return self.number()
        default:
            guard Self.isLetter(first) || first == UInt8(ascii: "*") else { return nil }
            return .token(
                self.text {
                    Self.isLetter($0) || Self.isDigit($0) || "!#$%&'*+-.^_`|~:/".utf8.contains($0)
                })
        }
    }

    /// Section 4.2.4: an integer of up to 15 digits, or a decimal of up to 12 and 3.
    private mutating func number() -> StructuredDictionary.Value? {
        let isNegative = self.take("-")
        let whole = self.text(Self.isDigit)
        guard !whole.isEmpty, whole.utf8.count <= 15, let value = Int64(whole) else { return nil }
        guard self.take(".") else { return .integer(isNegative ? -value : value) }
        let fraction = self.text(Self.isDigit)
        return whole.utf8.count <= 12 && (1...3).contains(fraction.utf8.count) ? .other : nil
    }

    /// Section 4.2.5.
    private mutating func string() -> StructuredDictionary.Value? {
        self.at += 1
        var text: [UInt8] = []
        while let byte = self.next {
            self.at += 1
            switch byte {
            case UInt8(ascii: "\""): return .string(String(decoding: text, as: UTF8.self))
            case UInt8(ascii: "\\"):
                guard let escaped = self.next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    return nil
                }
                self.at += 1
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    /// Section 4.2.7. Padding must be there, and stray bits are refused.
    private mutating func byteSequence() -> StructuredDictionary.Value? {
        self.at += 1
        let text = self.text { Self.isLetter($0) || Self.isDigit($0) || "+/=".utf8.contains($0) }
        guard self.take(":") else { return nil }
        return Base64.decode(text).map { .bytes($0) } ?? .other
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    private static func isLowerCase(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }
    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
}
