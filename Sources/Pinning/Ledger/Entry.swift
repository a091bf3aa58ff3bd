package import PinWire

/// One event as it stands in the ledger: the event, its position, its actor and its reason.
package struct Entry: Hashable, Sendable {
    /// Dense index in the ledger, from 0; also the leaf index in the transparency log.
    package var position: Int64
    package var stream: StreamID
    /// Dense index in the stream, from 1.
    package var streamVersion: Int64
    /// When it was recorded; never falls from one position to the next.
    package var time: Timestamp
    /// When it was decided, where the ledger ends in the future by that clock; nil where that is ``time``.
    package var decidedAt: Timestamp?
    package var event: Event
    package var origin: Origin

    package init(
        position: Int64, stream: StreamID, streamVersion: Int64, time: Timestamp, decidedAt: Timestamp? = nil,
        event: Event, origin: Origin
    ) {
        self.position = position
        self.stream = stream
        self.streamVersion = streamVersion
        self.time = time
        self.decidedAt = decidedAt
        self.event = event
        self.origin = origin
    }

    /// When it takes effect: the fold takes it in at this instant.
    package var effectiveAt: Timestamp { self.decidedAt ?? self.time }

    /// The entry's bytes: canonical JSON (RFC 8785), written once, stored, hashed and never encoded again.
    package var bytes: [UInt8] {
        var out = CanonicalObject(capacity: 512)
        out.object("actor") { actor in
            actor.add("id", self.origin.actor.id)
            actor.add("kind", self.origin.actor.kind.rawValue)
            actor.add("name", self.origin.actor.name)
            actor.add("principal_id", self.origin.actor.principalID)
        }
        out.add("causation_id", self.origin.causationID)
        out.add("correlation_id", self.origin.correlationID)
        out.object("data") { self.event.visit(&$0) }
        if let decidedAt { out.add("decided_at", decidedAt) }
        if self.origin.isForced { out.add("forced", true) }
        out.add("idempotency_key", self.origin.idempotencyKey)
        out.add("position", self.position)
        out.add("reason", self.origin.reason?.text)
        out.add("request_id", self.origin.requestID)
        out.add("schema", Int64(self.event.schema))
        out.add("stream", self.stream.text)
        out.add("stream_version", self.streamVersion)
        out.add("time", self.time)
        out.add("type", self.event.type)
        return out.finish()
    }

    /// The content of ``bytes``.
    package var json: JSON {
        .members([
            "actor": self.origin.actor.json,
            "causation_id": self.origin.causationID.map { .string($0) },
            "correlation_id": self.origin.correlationID.map { .string($0) },
            "data": self.event.data,
            "decided_at": self.decidedAt.map { .string($0.rfc3339) },
            "forced": self.origin.isForced ? true : nil,
            "idempotency_key": self.origin.idempotencyKey.map { .string($0) },
            "position": .integer(self.position),
            "reason": (self.origin.reason?.text).map { .string($0) },
            "request_id": self.origin.requestID.map { .string($0) },
            "schema": .integer(Int64(self.event.schema)),
            "stream": .string(self.stream.text),
            "stream_version": .integer(self.streamVersion),
            "time": .string(self.time.rfc3339),
            "type": .string(self.event.type),
        ])
    }

    /// Reads an entry's bytes back.
    package init(bytes: [UInt8]) throws(JSONDefect) {
        let json: JSON
        do { json = try JSON(parsing: bytes, limits: .stored(depth: 16, nodes: 100_000)) } catch {
            throw JSONDefect(pointer: JSONPointer(), message: error.description)
        }
        self = try JSONField(json).object { (members) throws(JSONDefect) in
            let streamField = try members.required("stream")
            guard let stream = StreamID(text: try streamField.string()) else {
                throw streamField.defect("names no stream")
            }
            let any: ClosedRange<Int64> = 0...JSON.largestInteger
            let time = try members.required("time").timestamp()
            let decided = members.optional("decided_at")
            let decidedAt = try decided?.timestamp()
            if let decided, let decidedAt, decidedAt >= time { throw decided.defect("is not earlier than time") }
            return Entry(
                position: try members.required("position").integer(any),
                stream: stream,
                streamVersion: try members.required("stream_version").integer(any),
                time: time,
                decidedAt: decidedAt,
                event: try Event(
                    type: try members.required("type").string(),
                    schema: Int(try members.required("schema").integer(1...1_000_000)),
                    data: try members.required("data").value
                ),
                origin: Origin(
                    actor: try Actor(try members.required("actor")),
                    reason: try members.optional("reason").mapped { (field) throws(JSONDefect) in
                        Reason(recorded: try field.string())
                    },
                    isForced: try members.optional("forced")?.bool() ?? false,
                    requestID: try members.optional("request_id")?.string(),
                    correlationID: try members.optional("correlation_id")?.string(),
                    causationID: try members.optional("causation_id")?.string(),
                    idempotencyKey: try members.optional("idempotency_key")?.string()
                )
            )
        }
    }
}

extension LaterProgram {
    /// Why an entry that this program cannot read needs a later one; nil where it is no entry of any program.
    package init?(unread bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes, limits: .stored(depth: 16, nodes: 100_000)),
            let type = json["type"]?.stringValue, let schema = json["schema"]?.integerValue,
            schema > Event.lastSchema(of: type) ?? 0
        else { return nil }
        let name = String(shown: type.utf8.prefix(100))
        self = Event.lastSchema(of: type) == nil ? .type(name) : .schema(Int(schema), type: name)
    }
}

/// The origin of a command: who, why, and by which request.
package struct Origin: Hashable, Sendable {
    package var actor: Actor
    package var reason: Reason?
    /// Whether the actor overrode a guard rail.
    package var isForced: Bool
    package var requestID: String?
    package var correlationID: String?
    package var causationID: String?
    /// Chosen by the caller; unique within the actor's person or service account, or else within the actor.
    package var idempotencyKey: String?

    package init(
        actor: Actor, reason: Reason? = nil, isForced: Bool = false, requestID: String? = nil,
        correlationID: String? = nil, causationID: String? = nil, idempotencyKey: String? = nil
    ) {
        self.actor = actor
        self.reason = reason
        self.isForced = isForced
        self.requestID = requestID
        self.correlationID = correlationID
        self.causationID = causationID
        self.idempotencyKey = idempotencyKey
    }
}
