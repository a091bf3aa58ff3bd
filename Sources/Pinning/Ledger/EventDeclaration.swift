import PinWire

/// What is declared of a type of event: its name in the ledger, its group in filters, and the members of its data.
package struct EventKind: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        /// Empty for a value that is all the members of the data.
        package var name: String
        package var isOptional: Bool
    }

    package var type: String
    /// The form of its data, from 1. Earlier forms are still read, and no longer recorded.
    package var schema: Int
    package var group: EventGroup
    package var fields: [Field]
    /// Whether the app's document may become much larger by it. What adds some bytes at most, such as a mode, a pin's
    /// end or a kill switch, must never wait for room.
    package var addsToDocument: Bool
    /// The ``FeatureLevel`` from which on it may be recorded.
    package var level: Int64
}

/// The declaration of a type of event. One list of fields is read, written and asked for hosts.
struct EventDeclaration<each Value: Sendable>: DeclaredEvent {
    let kind: EventKind
    let fields: (repeat EventField<each Value>)
    private let make: @Sendable (repeat each Value) throws(JSONDefect) -> Event

    /// - Parameters:
    ///   - type: The name in the ledger. It never changes.
    ///   - schema: The form of the data.
    ///   - level: The ``FeatureLevel`` from which on it may be recorded.
    ///   - fields: In canonical order, that is by their names.
    ///   - make: The event with these values of the fields.
    init(
        _ type: String, schema: Int = 1, _ group: EventGroup, addsToDocument: Bool = false,
        from level: Int64 = FeatureLevel.first,
        _ fields: repeat EventField<each Value>,
        make: @escaping @Sendable (repeat each Value) throws(JSONDefect) -> Event
    ) {
        var declared: [EventKind.Field] = []
        for field in repeat each fields {
            declared.append(EventKind.Field(name: field.name, isOptional: field.isOptional))
        }
        self.kind = EventKind(
            type: type, schema: schema, group: group, fields: declared, addsToDocument: addsToDocument, level: level)
        self.fields = (repeat each fields)
        self.make = make
    }

    func read(_ data: JSONField) throws(JSONDefect) -> Event {
        var members = try data.members()
        let event = try self.make(repeat (each self.fields).read(&members))
        try members.refuseUnknown()
        return event
    }
}

/// An ``EventDeclaration`` with any fields.
protocol DeclaredEvent: Sendable {
    var kind: EventKind { get }

    /// Reads the data of an event of this type; a missing, malformed or unknown member is a defect.
    func read(_ data: JSONField) throws(JSONDefect) -> Event
}

/// Gets to know an event's declaration together with the values of its fields.
protocol EventVisitor {
    associatedtype Output

    mutating func visit<each Value: Sendable>(
        _ declaration: EventDeclaration<repeat each Value>, _ values: repeat each Value
    ) -> Output
}

struct EventKindReader: EventVisitor {
    func visit<each Value: Sendable>(
        _ declaration: EventDeclaration<repeat each Value>, _ values: repeat each Value
    ) -> EventKind { declaration.kind }
}

/// The hosts that an event is about, given the app before it.
struct EventHosts: EventVisitor {
    let app: App?

    func visit<each Value: Sendable>(
        _ declaration: EventDeclaration<repeat each Value>, _ values: repeat each Value
    ) -> [HostPattern] {
        var hosts: [HostPattern] = []
        repeat hosts.append(contentsOf: (each declaration.fields).hosts(each values, self.app))
        return hosts
    }
}

/// An event's data as a JSON value.
struct EventMembers: EventVisitor {
    func visit<each Value: Sendable>(
        _ declaration: EventDeclaration<repeat each Value>, _ values: repeat each Value
    ) -> [String: JSON] {
        var members: [String: JSON] = [:]
        repeat (each declaration.fields).collect(each values, &members)
        return members
    }
}

extension CanonicalObject: EventVisitor {
    /// Adds an event's data, byte for byte what ``EventMembers`` gives, without making JSON values first.
    mutating func visit<each Value: Sendable>(
        _ declaration: EventDeclaration<repeat each Value>, _ values: repeat each Value
    ) {
        repeat (each declaration.fields).write(each values, &self)
    }
}
