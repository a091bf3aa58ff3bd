import EventStore
import PinWire

/// The place of a signed document among those of its app: the later one is served.
///
/// By version, and within a version by the time of issue. A time in the future, further than clocks differ, is of a clock that has
/// been put right since. Clients refuse such a document, so within its version any other is later. `publish_documents` lets one
/// of the present take its place, too.
struct Issuance: Comparable {
    let version: Int64
    let issuedAt: Timestamp
    /// True where it was issued in the future, further than clocks differ.
    let isAhead: Bool

    init(version: Int64, issuedAt: Timestamp, at now: Timestamp) {
        self.version = version
        self.issuedAt = issuedAt
        self.isAhead = Self.isAhead(issuedAt, of: now)
    }

    static func < (left: Issuance, right: Issuance) -> Bool {
        guard left.version == right.version else { return left.version < right.version }
        guard left.isAhead == right.isAhead else { return left.isAhead }
        return left.issuedAt < right.issuedAt
    }

    /// True of a time of issue that lies in the future, further than clocks differ.
    static func isAhead(_ issuedAt: Timestamp, of now: Timestamp) -> Bool {
        now.adding(seconds: Head.tolerance) < issuedAt
    }

    /// The time at which to issue the first document of a version: whichever node signs it, no earlier than those of the versions before.
    ///
    /// A node that signs a version may not have the document of the version before yet, which another node signs at the same
    /// moment by a clock of its own. Both take the second of the last event that they know: the later version knows the event
    /// that made it, and times in the ledger never fall. Only where that event is old, or from the future, they take the clock's.
    ///
    /// - Parameters:
    ///   - now: The time by the clock, in whole seconds.
    ///   - event: The time of the last event that the node knows.
    ///   - held: When the document that the node has was issued; nil where it has none.
    static func first(at now: Timestamp, lastEvent event: Timestamp, after held: Timestamp?) -> Timestamp {
        let isLate = event.adding(seconds: Head.tolerance) < now
        let time = isLate || self.isAhead(event, of: now) ? now : event.wholeSeconds
        guard let held, !self.isAhead(held, of: now) else { return time }
        return max(time, held)
    }

    /// The time at which to issue a document again under its version: later than the held one, of two the later wins. One from
    /// the future is issued with the present.
    static func again(at now: Timestamp, after held: Timestamp) -> Timestamp {
        self.isAhead(held, of: now) ? now : max(now, held.adding(seconds: 1))
    }
}
