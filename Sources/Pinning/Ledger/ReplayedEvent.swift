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
    /// As ``Entry/decidedAt``.
    package var decidedAt: Timestamp?
    package var event: Event

    package init(_ entry: Entry) {
        self.position = entry.position
        self.stream = entry.stream
        self.streamVersion = entry.streamVersion
        self.time = entry.time
        self.decidedAt = entry.decidedAt
        self.event = entry.event
    }

    /// Reads an entry's bytes.
    ///
    /// - Parameter names: The last names read, kept from entry to entry.
    package init(bytes: UnsafeBufferPointer<UInt8>, names: inout RecentNames) throws(JSONDefect) {
        if let scanned = ScannedEntry(bytes, &names) {
            self = scanned.step
        } else {
            self.init(try Entry(canonical: Array(bytes)))
        }
    }

    init(
        position: Int64, stream: StreamID, streamVersion: Int64, time: Timestamp, decidedAt: Timestamp?, event: Event
    ) {
        self.position = position
        self.stream = stream
        self.streamVersion = streamVersion
        self.time = time
        self.decidedAt = decidedAt
        self.event = event
    }

    /// When it takes effect: the fold takes it in at this instant.
    package var effectiveAt: Timestamp { self.decidedAt ?? self.time }
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
