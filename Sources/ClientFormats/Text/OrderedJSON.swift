package import PinWire

/// A JSON value (RFC 8259) whose objects keep the order of their members.
///
/// For formats that sign or compare text in an order of their own; where RFC 8785's order will do, use `JSON` of
/// PinWire. Written without white space, as UTF-8. Duplicate member names are not detected.
package enum OrderedJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Written as RFC 8785 writes numbers.
    case number(Double)
    /// A number in hundredths, always written with a point: `5.0`, `5.25`. Clients in Dart read a number without one as
    /// an integer and fail to use it as a share.
    case hundredths(Int64)
    case string(String)
    case array([OrderedJSON])
    case object([Member])

    /// One member of an object.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: OrderedJSON

        package init(_ name: String, _ value: OrderedJSON) {
            self.name = name
            self.value = value
        }
    }

    /// The characters of strings that are escaped although they need not be.
    package enum Escaping: Sendable {
        /// None: only quotes, backslashes and control characters are, as RFC 8785 escapes them.
        case minimal
        /// `<`, `>`, `&`, U+2028 and U+2029 too, as `\u003c` and so on: what Go's `encoding/json` does.
        case html
    }

    /// A value of PinWire; members of objects are sorted as RFC 8785 sorts them.
    package init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { OrderedJSON($0) })
        case .object(let members):
            let sorted = members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            self = .object(sorted.map { Member($0.key, OrderedJSON($0.value)) })
        }
    }

    /// An object of the members that have a value, in their order.
    package static func members(_ members: KeyValuePairs<String, OrderedJSON?>) -> OrderedJSON {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    /// The value's text as UTF-8, without white space.
    package func bytes(escaping: Escaping = .minimal) -> [UInt8] {
        var out: [UInt8] = []
        self.append(to: &out)
        return escaping == .html ? Self.escapedForHTML(out) : out
    }

    /// ``bytes(escaping:)`` as a string.
    package func text(escaping: Escaping = .minimal) -> String {
        String(decoding: self.bytes(escaping: escaping), as: UTF8.self)
    }

    /// Appends the unescaped form of ``bytes(escaping:)``.
    func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): JSON.appendInteger(value, to: &out)
        case .number(let value): JSON.number(value).appendCanonical(to: &out)
        case .hundredths(let value): out.append(contentsOf: Self.decimal(hundredths: value).utf8)
        case .string(let text): JSON.appendQuoted(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (place, member) in members.enumerated() {
                if place > 0 { out.append(UInt8(ascii: ",")) }
                JSON.appendQuoted(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.append(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func decimal(hundredths: Int64) -> String {
        let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        let digits = rest % 10 == 0 ? "\(rest / 10)" : (rest < 10 ? "0\(rest)" : "\(rest)")
        return "\(hundredths < 0 ? "-" : "")\(whole).\(digits)"
    }

    /// None of these characters stands in JSON outside of strings, so that the whole text can be searched.
    private static func escapedForHTML(_ text: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                out.append(contentsOf: "\\u00\(Hex.encode([byte]))".utf8)
            case 0xE2 where rest.starts(with: [0xE2, 0x80, 0xA8]) || rest.starts(with: [0xE2, 0x80, 0xA9]):
                out.append(contentsOf: (rest[rest.startIndex + 2] == 0xA8 ? "\\u2028" : "\\u2029").utf8)
                rest = rest.dropFirst(2)
            default: out.append(byte)
            }
            rest = rest.dropFirst()
        }
        return out
    }
}

extension OrderedJSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: OrderedJSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, OrderedJSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
