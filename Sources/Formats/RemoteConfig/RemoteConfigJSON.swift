import PinWire

/// A JSON value whose members keep the order in which they were given.
///
/// For texts that people compare with what the clients' documentation prints, and for conditional values, which the
/// service keeps in the order of the conditions. Compact, escaped as RFC 8785 escapes; one value has one text.
package indirect enum RemoteConfigJSON: Hashable, Sendable {
    case bool(Bool)
    case integer(Int64)
    /// A number in hundredths, always written with a point: `5.0`, `5.25`. Clients in Dart read a number without one as
    /// an integer and fail to use it as a share.
    case hundredths(Int64)
    case string(String)
    case array([RemoteConfigJSON])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: RemoteConfigJSON

        package init(_ name: String, _ value: RemoteConfigJSON) {
            self.name = name
            self.value = value
        }
    }

    /// The value's one text, as UTF-8.
    package var bytes: [UInt8] {
        var out: [UInt8] = []
        self.append(to: &out)
        return out
    }

    /// ``bytes`` as a string.
    package var text: String { String(decoding: self.bytes, as: UTF8.self) }

    private func append(to out: inout [UInt8]) {
        switch self {
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): JSON.appendInteger(value, to: &out)
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
}

extension RemoteConfigJSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: RemoteConfigJSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, RemoteConfigJSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
