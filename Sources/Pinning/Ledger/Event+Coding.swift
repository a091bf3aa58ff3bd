package import PinWire

extension Event {
    /// The version of the event's `data` that this program writes. All types are still in their first.
    package var schema: Int { 1 }

    private static let declarations: [any DeclaredEvent] = [
        AppEvent.Declared.all, WatchEvent.Declared.all, FleetEvent.Declared.all, KeyEvent.Declared.all,
        AccessEvent.Declared.all, WebhookEvent.Declared.all, LogEvent.Declared.all,
    ].flatMap { $0 }.sorted { $0.kind.type < $1.kind.type }

    private static let declared = Dictionary(declarations.map { ($0.kind.type, $0) }) { first, _ in first }

    /// All kinds of events that this program knows, by their names.
    package static let kinds: [EventKind] = declarations.map(\.kind)

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

    /// Reads an event back from the ledger: the one place where old schema versions would be converted.
    ///
    /// Strict: an unknown type, schema version or member is a defect, so that a node which does not understand the
    /// ledger stops following it rather than serve something else than what was recorded.
    package init(type: String, schema: Int, data: JSON) throws(JSONDefect) {
        guard schema == 1 else {
            throw JSONDefect(
                pointer: JSONPointer(["schema"]), message: "is \(schema), which this program does not know")
        }
        guard let declaration = Self.declared[type] else {
            throw JSONDefect(pointer: JSONPointer(["type"]), message: "is \(type), which this program does not know")
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
