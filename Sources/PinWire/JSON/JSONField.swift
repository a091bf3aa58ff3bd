/// One defect of a JSON text, and its place.
public struct JSONDefect: Error, Hashable, Sendable, CustomStringConvertible {
    public let pointer: JSONPointer
    /// What is wrong, as a sentence without a full stop.
    public let message: String

    public init(pointer: JSONPointer, message: String) {
        self.pointer = pointer
        self.message = message
    }

    public var description: String { "\(self.pointer.text.isEmpty ? "the body" : self.pointer.text): \(self.message)" }
}

/// A JSON value together with its place, for exact error messages.
public struct JSONField: Sendable {
    public let value: JSON
    public let pointer: JSONPointer

    public init(_ value: JSON, at pointer: JSONPointer = JSONPointer()) {
        self.value = value
        self.pointer = pointer
    }

    /// A defect of this value.
    public func defect(_ message: String) -> JSONDefect { JSONDefect(pointer: self.pointer, message: message) }

    /// The text of a string.
    public func string() throws(JSONDefect) -> String {
        guard case .string(let text) = self.value else {
            throw self.defect("must be a string, and is \(self.value.kind)")
        }
        return text
    }

    /// A boolean.
    public func bool() throws(JSONDefect) -> Bool {
        guard case .bool(let value) = self.value else {
            throw self.defect("must be true or false, and is \(self.value.kind)")
        }
        return value
    }

    /// A whole number within `range`.
    public func integer(_ range: ClosedRange<Int64>) throws(JSONDefect) -> Int64 {
        guard case .integer(let value) = self.value else {
            throw self.defect("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        guard range.contains(value) else {
            throw self.defect("must be from \(range.lowerBound) to \(range.upperBound), and is \(value)")
        }
        return value
    }

    /// The elements of an array of at most `limit`.
    public func elements(atMost limit: Int) throws(JSONDefect) -> [JSONField] {
        guard case .array(let elements) = self.value else {
            throw self.defect("must be an array, and is \(self.value.kind)")
        }
        guard elements.count <= limit else {
            throw self.defect("may have at most \(limit) elements, and has \(elements.count)")
        }
        return elements.enumerated().map { JSONField($1, at: self.pointer.appending(String($0))) }
    }

    /// One of the raw values of `T`.
    public func oneOf<T: RawRepresentable & CaseIterable>(_ type: T.Type) throws(JSONDefect) -> T
    where T.RawValue == String {
        if case .string(let text) = self.value, let found = T(rawValue: text) { return found }
        throw self.defect("must be one of \(T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))")
    }

    /// An instant in the form of RFC 3339.
    public func timestamp() throws(JSONDefect) -> Timestamp {
        guard let time = Timestamp(rfc3339: try self.string()) else {
            throw self.defect("must be a time such as 2026-01-31T12:00:00Z (RFC 3339)")
        }
        return time
    }

    /// Reads an object through `body` and refuses members that it did not ask for.
    public func object<T>(_ body: (inout JSONMembers) throws(JSONDefect) -> T) throws(JSONDefect) -> T {
        var reader = try self.members()
        let result = try body(&reader)
        try reader.refuseUnknown()
        return result
    }

    /// The members of an object. After the last one it knows, the caller calls ``JSONMembers/refuseUnknown()``.
    package func members() throws(JSONDefect) -> JSONMembers {
        guard case .object(let members) = self.value else {
            throw self.defect("must be an object, and is \(self.value.kind)")
        }
        return JSONMembers(members, at: self.pointer)
    }

    /// Parses a string through a throwing initialiser whose error says what is wrong.
    public func parse<T, E: Error & CustomStringConvertible>(
        _ parse: (String) throws(E) -> T
    ) throws(JSONDefect) -> T {
        let text = try self.string()
        do { return try parse(text) } catch { throw self.defect(error.description) }
    }
}

/// The members of one object, each read at most once, so that the remaining ones are unknown.
public struct JSONMembers: Sendable {
    private var unread: [String: JSON]
    private var known: [String] = []
    public let pointer: JSONPointer

    init(_ members: [String: JSON], at pointer: JSONPointer) {
        self.unread = members
        self.pointer = pointer
    }

    /// The member `name`; nil where it is missing or null.
    public mutating func optional(_ name: String) -> JSONField? {
        self.known.append(name)
        guard let value = self.unread.removeValue(forKey: name), value != .null else { return nil }
        return JSONField(value, at: self.pointer.appending(name))
    }

    /// The member `name`, which must be there and not null.
    public mutating func required(_ name: String) throws(JSONDefect) -> JSONField {
        guard let field = self.optional(name) else {
            throw JSONDefect(pointer: self.pointer.appending(name), message: "is required")
        }
        return field
    }

    /// Whether the member `name` is there at all, even as null.
    public func mentions(_ name: String) -> Bool { self.unread[name] != nil }

    /// Refuses a member that was not asked for.
    package func refuseUnknown() throws(JSONDefect) {
        guard let name = self.unread.keys.min() else { return }
        throw JSONDefect(
            pointer: self.pointer.appending(name),
            message: "is not a member here; known are \(self.known.joined(separator: ", "))"
        )
    }
}
