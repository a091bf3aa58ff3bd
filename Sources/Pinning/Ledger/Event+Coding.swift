package import PinWire

extension Event {
    /// The form of the event's `data`: the last of its type, except in an event that was recorded in an earlier one.
    package var schema: Int { self.kind.schema }

    private static let declarations: [any DeclaredEvent] = [
        AppEvent.Declared.all, WatchEvent.Declared.all, FleetEvent.Declared.all, KeyEvent.Declared.all,
        AccessEvent.Declared.all, WebhookEvent.Declared.all, LogEvent.Declared.all, ChangeEvent.Declared.all,
        AuditEvent.Declared.all,
    ].flatMap { $0 }.sorted { ($0.kind.type, $0.kind.schema) < ($1.kind.type, $1.kind.schema) }

    /// Every form of a type, the first one first.
    private static let declared = Dictionary(grouping: declarations) { $0.kind.type }

    /// All kinds of events that this program knows, by their names, each in its last form.
    package static let kinds: [EventKind] = declared.values.compactMap(\.last?.kind).sorted { $0.type < $1.type }

    /// The last form of a type that this program knows; nil for a type that it does not know.
    static func lastSchema(of type: String) -> Int? { declared[type]?.last?.kind.schema }

    /// The names of all events that this program knows.
    package static let types: [String] = kinds.map(\.type)

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .app(let event): event.visit(&visitor)
        case .watch(let event): event.visit(&visitor)
        case .fleet(let event): event.visit(&visitor)
        case .keys(let event): event.visit(&visitor)
        case .access(let event): event.visit(&visitor)
        case .webhooks(let event): event.visit(&visitor)
        case .log(let event): event.visit(&visitor)
        case .changes(let event): event.visit(&visitor)
        case .audit(let event): event.visit(&visitor)
        }
    }

    /// The declaration of the event's type, without its reader and writer.
    package var kind: EventKind {
        var reader = EventKindReader()
        return self.visit(&reader)
    }

    /// The event's name in the ledger.
    package var type: String { self.kind.type }

    /// The event's data, without its name.
    package var data: JSON {
        var members = EventMembers()
        return .object(self.visit(&members))
    }

    /// The canonical bytes of ``data``.
    var dataBytes: [UInt8] {
        var data = CanonicalObject()
        self.visit(&data)
        return data.finish()
    }

    /// Reads an event back from the ledger, in any form that was ever recorded.
    ///
    /// An event keeps its form: its ``data`` and ``schema`` are those that were recorded, so that its bytes can be made again.
    ///
    /// Strict: an unknown type, schema version or member is a defect, so that a node which does not understand the
    /// ledger stops following it rather than serve something else than what was recorded.
    package init(type: String, schema: Int, data: JSON) throws(JSONDefect) {
        guard let forms = Self.declared[type] else {
            throw JSONDefect(pointer: JSONPointer(["type"]), message: "is \(type), which this program does not know")
        }
        guard let declaration = forms.first(where: { $0.kind.schema == schema }) else {
            throw JSONDefect(
                pointer: JSONPointer(["schema"]), message: "is \(schema), which this program does not know")
        }
        self = try declaration.read(JSONField(data, at: JSONPointer(["data"])))
    }
}

extension Optional<JSONField> {
    /// `Optional.map` that keeps the typed error.
    package func mapped<T>(_ read: (JSONField) throws(JSONDefect) -> T) throws(JSONDefect) -> T? {
        guard let self else { return nil }
        return try read(self)
    }
}
