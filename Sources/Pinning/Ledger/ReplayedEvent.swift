package import PinWire

/// The part of one entry that the fold needs: the event, its position and its time. The actor and the reason are left
/// out.
///
/// Made from an entry's bytes for reading long ledgers, in a fraction of the time that ``Entry/init(bytes:)`` takes,
/// and as strict: it accepts exactly the bytes that that one reads and ``Entry/bytes`` would write.
package struct ReplayedEvent: Hashable, Sendable {
    package var position: Int64
    package var stream: StreamID
    package var streamVersion: Int64
    package var time: Timestamp
    package var event: Event

    package init(_ entry: Entry) {
        self.position = entry.position
        self.stream = entry.stream
        self.streamVersion = entry.streamVersion
        self.time = entry.time
        self.event = entry.event
    }

    /// Reads an entry's bytes.
    ///
    /// - Parameter names: The last names read, kept from entry to entry.
    package init(bytes: UnsafeBufferPointer<UInt8>, names: inout RecentNames) throws(JSONDefect) {
        if let step = Self.scan(bytes, &names) {
            self = step
        } else {
            self.init(try Entry(canonical: Array(bytes)))
        }
    }

    /// The fast path; nil where the slow one has to judge.
    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ names: inout RecentNames) -> ReplayedEvent? {
        guard let type = self.type(of: bytes) else { return nil }
        var scanner = CanonicalScanner(bytes)
        guard scanner.skip("{\"actor\":{\"id\":"), scanner.plainBytes() != nil, scanner.skip(",\"kind\":"),
            scanner.skip("\"token\"") || scanner.skip("\"system\"") || scanner.skip("\"local\""),
            scanner.skip(",\"name\":"), scanner.plainBytes() != nil, scanner.skip("},")
        else { return nil }
        if scanner.skip("\"causation_id\":") {
            guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil }
        }
        if scanner.skip("\"correlation_id\":") {
            guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil }
        }
        guard scanner.skip("\"data\":"), let event = Event(type: type, data: &scanner, &names), scanner.skip(",") else {
            return nil
        }
        _ = scanner.skip("\"forced\":true,")
        if scanner.skip("\"idempotency_key\":") {
            guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil }
        }
        guard scanner.skip("\"position\":"), let position = scanner.natural(), scanner.skip(",") else { return nil }
        if scanner.skip("\"reason\":") { guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil } }
        if scanner.skip("\"request_id\":") { guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil } }
        guard scanner.skip("\"schema\":1,\"stream\":"), let name = scanner.plainBytes(),
            let stream = StreamID(plain: name, &names), scanner.skip(",\"stream_version\":"),
            let version = scanner.natural(),
            scanner.skip(",\"time\":"), let time = scanner.timestamp(), scanner.skip(",\"type\":"),
            scanner.at == bytes.count - type.count - 3
        else { return nil }
        return ReplayedEvent(position: position, stream: stream, streamVersion: version, time: time, event: event)
    }

    private init(position: Int64, stream: StreamID, streamVersion: Int64, time: Timestamp, event: Event) {
        self.position = position
        self.stream = stream
        self.streamVersion = streamVersion
        self.time = time
        self.event = event
    }

    /// The entry's type: its last member, `"…"}` at the very end. What stands before it is checked on the way there.
    private static func type(of bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        let end = bytes.count - 2
        guard end > 0, bytes[end] == UInt8(ascii: "\""), bytes[end + 1] == UInt8(ascii: "}") else { return nil }
        var start = end
        while start > 0, bytes[start - 1] != UInt8(ascii: "\"") { start -= 1 }
        guard start > 0 else { return nil }
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }
}

extension Entry {
    /// Reads an entry's bytes, and refuses those that another writer than ``bytes`` would have made.
    package init(canonical bytes: [UInt8]) throws(JSONDefect) {
        self = try Entry(bytes: bytes)
        guard self.bytes == bytes else {
            throw JSONDefect(pointer: JSONPointer(), message: "is not written in the canonical form")
        }
    }
}

extension StreamID {
    /// The stream of a name in a buffer; nil for a malformed name.
    fileprivate init?(plain name: UnsafeBufferPointer<UInt8>, _ names: inout RecentNames) {
        if name.count > 4, name[0] == UInt8(ascii: "a"), name[1] == UInt8(ascii: "p"), name[2] == UInt8(ascii: "p"),
            name[3] == UInt8(ascii: "/")
        {
            guard let id = names.app(UnsafeBufferPointer(rebasing: name[4...])) else { return nil }
            self = .app(id)
        } else if name.count > 6, UnsafeBufferPointer(rebasing: name[..<6]).matches("watch/") {
            guard let id = names.app(UnsafeBufferPointer(rebasing: name[6...])) else { return nil }
            self = .watch(id)
        } else if name.matches("fleet") {
            self = .fleet
        } else if name.matches("keys") {
            self = .keys
        } else if name.matches("access") {
            self = .access
        } else if name.matches("webhooks") {
            self = .webhooks
        } else if name.matches("log") {
            self = .log
        } else {
            return nil
        }
    }
}
