import PinWire

/// A member of an event's data: how it is read, how it is written, and which hosts it names.
///
/// A class, so that a walk through an event's fields copies references and not closures.
final class EventField<Value: Sendable>: Sendable {
    /// The member's name; empty for a value that is all the members of the data.
    let name: String
    let isOptional: Bool
    let read: @Sendable (inout JSONMembers) throws(JSONDefect) -> Value
    /// Writes the canonical bytes.
    let write: @Sendable (Value, inout CanonicalObject) -> Void
    /// Writes the JSON value.
    let collect: @Sendable (Value, inout [String: JSON]) -> Void
    /// The hosts that the value names, given the app before the event.
    let hosts: @Sendable (Value, App?) -> [HostPattern]

    /// A member that is always there.
    init(_ name: StaticString, _ value: MemberValue<Value>) {
        let key = "\(name)"
        self.name = key
        self.isOptional = false
        self.read = { (members) throws(JSONDefect) in try value.read(try members.required(key)) }
        self.write = { value.write($0, name, &$1) }
        self.collect = { $1[key] = value.json($0) }
        self.hosts = value.hosts
    }

    /// A member that is missing for nil.
    init<Wrapped>(optional name: StaticString, _ value: MemberValue<Wrapped>) where Value == Wrapped? {
        let key = "\(name)"
        self.name = key
        self.isOptional = true
        self.read = { (members) throws(JSONDefect) in try members.optional(key).mapped(value.read) }
        self.write = { wrapped, data in
            if let wrapped { value.write(wrapped, name, &data) }
        }
        self.collect = { $1[key] = $0.map(value.json) }
        self.hosts = { wrapped, app in wrapped.map { value.hosts($0, app) } ?? [] }
    }

    /// All the members of the data. An event has no other field beside it.
    init(
        all read: @escaping @Sendable (inout JSONMembers) throws(JSONDefect) -> Value,
        _ members: @escaping @Sendable (Value) -> [String: JSON],
        hosts: @escaping @Sendable (Value) -> [HostPattern] = { _ in [] }
    ) {
        self.name = ""
        self.isOptional = false
        self.read = read
        self.write = { $1.add(members: members($0)) }
        self.collect = { $1 = members($0) }
        self.hosts = { value, _ in hosts(value) }
    }
}

/// How a member's value is read and written.
struct MemberValue<Value: Sendable>: Sendable {
    let read: @Sendable (JSONField) throws(JSONDefect) -> Value
    let json: @Sendable (Value) -> JSON
    /// Writes what ``json`` gives.
    let write: @Sendable (Value, StaticString, inout CanonicalObject) -> Void
    let hosts: @Sendable (Value, App?) -> [HostPattern]

    /// - Parameter write: Writes what `json` gives, if that takes no JSON value.
    init(
        _ read: @escaping @Sendable (JSONField) throws(JSONDefect) -> Value,
        _ json: @escaping @Sendable (Value) -> JSON,
        write: (@Sendable (Value, StaticString, inout CanonicalObject) -> Void)? = nil,
        hosts: @escaping @Sendable (Value, App?) -> [HostPattern] = { _, _ in [] }
    ) {
        self.read = read
        self.json = json
        self.write = write ?? { $2.add($1, json($0)) }
        self.hosts = hosts
    }

    /// The same value, which names hosts.
    func naming(_ hosts: @escaping @Sendable (Value, App?) -> [HostPattern]) -> Self {
        Self(self.read, self.json, write: self.write, hosts: hosts)
    }

    /// Elements in their order.
    static func list<Element>(of element: MemberValue<Element>, atMost limit: Int = .max) -> Self
    where Value == [Element] {
        Self(
            { (field) throws(JSONDefect) in
                var list: [Element] = []
                for field in try field.elements(atMost: limit) { list.append(try element.read(field)) }
                return list
            }, { .array($0.map(element.json)) })
    }

    /// A text that `parse` reads and whose error says what is wrong with it.
    static func parsed<E: Error & CustomStringConvertible>(
        _ parse: @escaping @Sendable (String) throws(E) -> Value, _ text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self({ (field) throws(JSONDefect) in try field.parse(parse) }, { .string(text($0)) })
    }
}

extension MemberValue<String> {
    static var text: Self {
        Self({ (field) throws(JSONDefect) in try field.string() }, { .string($0) })
    }

    /// A text that is always the same.
    static func constant(_ text: String) -> Self {
        Self(
            { (field) throws(JSONDefect) in
                guard try field.string() == text else { throw field.defect("must be \(text)") }
                return text
            }, { .string($0) })
    }
}

extension MemberValue<LogName> {
    static var logName: Self {
        Self(
            { (field) throws(JSONDefect) in
                guard let name = LogName(try field.string()) else { throw field.defect("must be \(LogName.rule)") }
                return name
            }, { .string($0.text) })
    }
}

extension MemberValue<OutgoingURL> {
    static var address: Self { .parsed(OutgoingURL.init(_:), \.text) }
}

extension MemberValue<Bool> {
    static var flag: Self { Self({ (field) throws(JSONDefect) in try field.bool() }, { .bool($0) }) }
}

extension MemberValue<Int> {
    static func integer(_ range: ClosedRange<Int64>) -> Self {
        Self({ (field) throws(JSONDefect) in Int(try field.integer(range)) }, { .integer(Int64($0)) })
    }
}

extension MemberValue<Int64> {
    /// A number of things.
    static func count(from least: Int64) -> Self {
        Self({ (field) throws(JSONDefect) in try field.integer(least...JSON.largestInteger) }, { .integer($0) })
    }
}

extension MemberValue<Timestamp> {
    static var time: Self {
        Self(
            { (field) throws(JSONDefect) in try field.timestamp() }, { .string($0.rfc3339) },
            write: { $2.add($1, $0) })
    }
}

extension MemberValue<HostPattern> {
    static var host: Self { Self.parsed(HostPattern.init(_:), \.text).naming { host, _ in [host] } }
}

extension MemberValue<Pin> {
    static var pin: Self {
        Self(
            { (field) throws(JSONDefect) in try field.parse(Pin.init(text:)) }, { .string($0.description) },
            write: { $2.add($1, $0) })
    }
}

extension MemberValue<[UInt8]> {
    /// Bytes in a text form.
    ///
    /// - Parameter form: What `decode` takes, as the end of "must be".
    static func bytes(
        _ form: String, count: Int? = nil, decode: @escaping @Sendable (String) -> [UInt8]?,
        encode: @escaping @Sendable ([UInt8]) -> String
    ) -> Self {
        Self(
            { (field) throws(JSONDefect) in
                guard let bytes = decode(try field.string()), bytes.count == count ?? bytes.count else {
                    throw field.defect("must be \(form)")
                }
                return bytes
            }, { .string(encode($0)) })
    }
}

extension MemberValue where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the raw values.
    static var word: Self {
        Self({ (field) throws(JSONDefect) in try field.oneOf(Value.self) }, { .string($0.rawValue) })
    }
}

extension MemberValue<JSONField> {
    /// Any value: the declaration's `make` reads it.
    static var any: Self { Self({ $0 }, { $0.value }) }
}

extension MemberValue<JSON> {
    /// Any object, kept as it is.
    static var object: Self {
        Self(
            { (field) throws(JSONDefect) in
                guard case .object = field.value else { throw field.defect("must be an object") }
                return field.value
            }, { $0 })
    }
}

extension MemberValue<[OverriddenFinding]> {
    static var findings: Self {
        Self.list(
            of: MemberValue<OverriddenFinding>({ (f) throws(JSONDefect) in try OverriddenFinding(f) }, \.json),
            atMost: 10_000)
    }
}
