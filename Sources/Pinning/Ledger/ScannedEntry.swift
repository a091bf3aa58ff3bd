import PinWire

/// One entry read in place: what the fold needs of it, and where its other members stand.
///
/// A short cut for entries in the canonical form whose texts have no escapes, which are nearly all; never the judge: where
/// it gives nil, ``Entry/init(canonical:)`` reads the entry or says what is wrong with it. What it accepts, that one accepts
/// with the same content.
package struct ScannedEntry {
    package let step: ReplayedEvent
    // The members' bytes, valid as long as the entry's.
    package let actorID: UnsafeBufferPointer<UInt8>
    package let actorKind: UnsafeBufferPointer<UInt8>
    package let idempotencyKey: UnsafeBufferPointer<UInt8>?
    package let stream: UnsafeBufferPointer<UInt8>
    package let type: UnsafeBufferPointer<UInt8>

    /// - Parameter names: The last names read, kept from entry to entry.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, _ names: inout RecentNames) {
        guard let type = Self.type(of: bytes) else { return nil }
        var scanner = CanonicalScanner(bytes)
        guard scanner.skip("{\"actor\":{\"id\":"), let actorID = scanner.plainBytes(), scanner.skip(",\"kind\":"),
            let actorKind = scanner.plainBytes(),
            actorKind.matches("token") || actorKind.matches("system") || actorKind.matches("local"),
            scanner.skip(",\"name\":"), scanner.plainBytes() != nil
        else { return nil }
        if scanner.skip(",\"principal_id\":") { guard scanner.plainBytes() != nil else { return nil } }
        guard scanner.skip("},") else { return nil }
        if scanner.skip("\"causation_id\":") {
            guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil }
        }
        if scanner.skip("\"correlation_id\":") {
            guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil }
        }
        guard scanner.skip("\"data\":"), let event = Event(type: type, data: &scanner, &names), scanner.skip(",") else {
            return nil
        }
        var decidedAt: Timestamp?
        if scanner.skip("\"decided_at\":") {
            decidedAt = scanner.timestamp()
            guard decidedAt != nil, scanner.skip(",") else { return nil }
        }
        _ = scanner.skip("\"forced\":true,")
        var key: UnsafeBufferPointer<UInt8>?
        if scanner.skip("\"idempotency_key\":") {
            key = scanner.plainBytes()
            guard key != nil, scanner.skip(",") else { return nil }
        }
        guard scanner.skip("\"position\":"), let position = scanner.natural(), scanner.skip(",") else { return nil }
        if scanner.skip("\"reason\":") { guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil } }
        if scanner.skip("\"request_id\":") { guard scanner.plainBytes() != nil, scanner.skip(",") else { return nil } }
        guard scanner.skip("\"schema\":1,\"stream\":"), let name = scanner.plainBytes(),
            let stream = StreamID(plain: name, &names), scanner.skip(",\"stream_version\":"),
            let version = scanner.natural(),
            scanner.skip(",\"time\":"), let time = scanner.timestamp(), scanner.skip(",\"type\":"),
            scanner.at == bytes.count - type.count - 3, decidedAt.map({ $0 < time }) ?? true
        else { return nil }
        self.step = ReplayedEvent(
            position: position, stream: stream, streamVersion: version, time: time, decidedAt: decidedAt, event: event)
        self.actorID = actorID
        self.actorKind = actorKind
        self.idempotencyKey = key
        self.stream = name
        self.type = type
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
