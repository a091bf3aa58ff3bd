package import PinWire

/// The record of requests: the state of the stream `audit`. The fold keeps its length alone; the records are in the history.
package struct AuditTrail: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0

    package init() {}

    package mutating func evolve(_ event: AuditEvent, at time: Timestamp) { self.version += 1 }

    func decide(_ command: AuditCommand) throws(Refusal) -> [AuditEvent] {
        switch command {
        case .record(let node, let records, let omitted):
            return records.isEmpty && omitted == 0 ? [] : [.requestsAudited(node: node, records, omitted: omitted)]
        }
    }
}

/// A fact about requests that changed nothing.
package enum AuditEvent: Hashable, Sendable {
    /// What a node counted since its last such event; `omitted` is the number of requests for which it had no room.
    case requestsAudited(node: String, [AuditRecord], omitted: Int64)

    /// The most records of one event: even long names leave it within an entry of the log.
    package static let recordLimit = 40
}

/// A command about the record of requests. Only the server itself gives it.
package enum AuditCommand: Hashable, Sendable {
    /// At most ``AuditEvent/recordLimit`` records.
    case record(node: String, [AuditRecord], omitted: Int64)
}

extension AuditEvent {
    enum Declared {
        static let requestsAudited = EventDeclaration(
            "RequestsAudited", .audit, EventField("node", .text), EventField("omitted", .count(from: 0)),
            EventField(
                "records",
                .list(
                    of: MemberValue<AuditRecord>({ (f) throws(JSONDefect) in try AuditRecord(f) }, \.json),
                    atMost: AuditEvent.recordLimit))
        ) { .audit(.requestsAudited(node: $0, $2, omitted: $1)) }

        static let all: [any DeclaredEvent] = [requestsAudited]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .requestsAudited(let node, let records, let omitted):
            visitor.visit(Declared.requestsAudited, node, omitted, records)
        }
    }
}
