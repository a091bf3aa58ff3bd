/// A JSON value (RFC 8259) as a plain Swift value.
///
/// Whole numbers within ±(2^53 − 1) are ``integer(_:)`` however they were spelled (`7`, `7.0`, `7e0`), all others
/// ``number(_:)``: so equal values are equal, and their canonical text is the same.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The largest magnitude of a whole number that every JSON reader holds exactly: 2^53 − 1 (RFC 7493 section 2.2).
    public static let largestInteger: Int64 = 9_007_199_254_740_991

    /// The member `name` of an object; nil for a missing one and for anything but an object.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The text of a string value.
    public var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The whole number of an integer value.
    public var integerValue: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The elements of an array value.
    public var arrayValue: [JSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members of an object value.
    public var objectValue: [String: JSON]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The kind of this value, in the words of an error message.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// An object of the members that have a value.
    public static func members(_ members: KeyValuePairs<String, JSON?>) -> JSON {
        var present: [String: JSON] = [:]
        for (name, value) in members {
            if let value { present[name] = value }
        }
        return .object(present)
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
