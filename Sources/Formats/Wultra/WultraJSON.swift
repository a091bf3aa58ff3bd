import PinWire

/// A JSON value whose members keep the order in which they were given, as Wultra's clients and scripts are used to.
///
/// Nothing is escaped that need not be (RFC 8259 section 7), so that a slash stands as it is.
enum WultraJSON {
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([WultraJSON])
    case object([(name: String, value: WultraJSON)])

    /// An object of the members that have a value: what is null is left out.
    static func members(_ members: KeyValuePairs<String, WultraJSON?>) -> WultraJSON {
        .object(members.compactMap { name, value in value.map { (name, $0) } })
    }

    /// The text as UTF-8, without white space.
    var bytes: [UInt8] {
        var out: [UInt8] = []
        self.append(to: &out)
        return out
    }

    /// Appends ``bytes``.
    func append(to out: inout [UInt8]) {
        switch self {
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): JSON.appendInteger(value, to: &out)
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
}
