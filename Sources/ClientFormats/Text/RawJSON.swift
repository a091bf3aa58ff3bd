package import PinWire

/// A JSON text that is parsed only where a value is read, so that everything else stays unchanged: the order of
/// members, the spelling of numbers and strings, unknown members.
package struct RawJSON: Hashable, Sendable {
    /// The text of this value, without white space around it.
    package let bytes: [UInt8]
    /// The parsed value.
    package let value: JSON

    /// Reads a whole text; see ``JSON/init(parsing:limits:)``.
    package init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        self.value = try JSON(parsing: bytes, limits: limits)
        var cutter = Cutter(bytes: bytes)
        self.bytes = Array(bytes[cutter.cut()])
    }

    /// A value in its canonical spelling.
    package init(_ value: JSON) {
        self.bytes = value.canonicalBytes
        self.value = value
    }

    /// An object of these members, no two of one name, in their order.
    package init(members: [(name: String, value: RawJSON)]) {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        var values: [String: JSON] = [:]
        for (place, member) in members.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            JSON.appendQuoted(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: member.value.bytes)
            values[member.name] = member.value.value
        }
        bytes.append(UInt8(ascii: "}"))
        self.init(bytes: bytes, value: .object(values))
    }

    /// An array of these elements.
    package init(elements: [RawJSON]) {
        let bytes = elements.map(\.bytes).joined(separator: [UInt8(ascii: ",")])
        self.init(
            bytes: [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")], value: .array(elements.map(\.value)))
    }

    private init(bytes: [UInt8], value: JSON) {
        self.bytes = bytes
        self.value = value
    }

    /// The members of an object in their order; nil for anything else.
    package var members: [(name: String, value: RawJSON)]? {
        guard case .object(let values) = self.value else { return nil }
        var cutter = Cutter(bytes: self.bytes, at: 1)
        var members: [(name: String, value: RawJSON)] = []
        while members.count < values.count {
            let token = self.bytes[cutter.cut()]
            let text = self.bytes[cutter.cut()]
            // A name in a text that was read as a whole can be read by itself, and is one of those that were read.
            guard let name = try? JSON(parsing: token).stringValue, let value = values[name] else { break }
            members.append((name, RawJSON(bytes: Array(text), value: value)))
        }
        return members
    }

    /// Whether another text has the same meaning. White space, the order of members and escapes in strings do not
    /// matter; the spelling of a number does, since to some clients `5` is not `5.0`.
    package func isSame(as other: RawJSON) -> Bool {
        guard self.value == other.value else { return false }
        switch self.value {
        case .null, .bool, .string: return true
        case .integer, .number: return self.bytes == other.bytes
        case .array:
            return zip(self.elements ?? [], other.elements ?? []).allSatisfy { $0.isSame(as: $1) }
        case .object:
            let others = Dictionary((other.members ?? []).map { ($0.name, $0.value) }) { first, _ in first }
            return (self.members ?? []).allSatisfy { name, value in others[name].map(value.isSame(as:)) ?? false }
        }
    }

    /// The elements of an array; nil for anything else.
    package var elements: [RawJSON]? {
        guard case .array(let values) = self.value else { return nil }
        var cutter = Cutter(bytes: self.bytes, at: 1)
        return values.map { RawJSON(bytes: Array(self.bytes[cutter.cut()]), value: $0) }
    }
}

/// Finds where values begin and end in a text that is known to be JSON.
private struct Cutter {
    let bytes: [UInt8]
    var at = 0

    /// The next value, or the next name of a member; skips the separator before it.
    mutating func cut() -> Range<Int> {
        while self.at < self.bytes.count, Self.separates(self.bytes[self.at]) { self.at += 1 }
        let start = self.at
        var depth = 0
        while self.at < self.bytes.count {
            let byte = self.bytes[self.at]
            switch byte {
            case UInt8(ascii: "\""): self.skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                self.at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return start..<self.at }
                depth -= 1
                self.at += 1
            case _ where depth == 0 && Self.separates(byte): return start..<self.at
            default:
                self.at += 1
                continue
            }
            if depth == 0 { return start..<self.at }
        }
        return start..<self.at
    }

    private mutating func skipString() {
        self.at += 1
        while self.at < self.bytes.count, self.bytes[self.at] != UInt8(ascii: "\"") {
            self.at += self.bytes[self.at] == UInt8(ascii: "\\") ? 2 : 1
        }
        self.at = min(self.at + 1, self.bytes.count)
    }

    private static func separates(_ byte: UInt8) -> Bool {
        [0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ","), UInt8(ascii: ":")].contains(byte)
    }
}
