import Addresses
import PinWire
import Pinning
import Synchronization

/// Counts the requests that the ledger is to know of, until they are recorded: those alike as one.
///
/// However many come, and from however many callers, it holds few: callers that are known have places that strangers cannot take, and no caller
/// takes more than some of them. Beyond that, requests are only counted. If the process dies, what it has counted since the
/// last round is lost; the log has a line of what was refused.
package final class AuditCounter: Sendable {
    /// The most different records of callers that are known, of one of them, and of strangers, between two rounds.
    static let (knownLimit, callerLimit, strangerLimit) = (400, 20, 32)

    /// What makes requests alike.
    private struct Key: Hashable {
        /// The party of a known caller, or else the network of a stranger.
        var caller: String
        var operation: String?
        var app: AppID?
        var outcome: AuditRecord.Outcome
        var problem: String?
    }

    private struct Content {
        var known: [Key: AuditRecord] = [:]
        var strangers: [Key: AuditRecord] = [:]
        /// How many records each known caller has.
        var places: [String: Int] = [:]
        var omitted: Int64 = 0
        /// When strangers' requests were last taken.
        var strangersTakenAt: Timestamp?
        /// How long they then wait, in seconds.
        var strangersWait: Int64 = AuditCounter.shortestWait
    }

    private let content = Mutex(Content())

    /// How long strangers' requests wait to be recorded, in seconds: longer while they keep coming, so that a scan of days makes few
    /// events.
    static let (shortestWait, longestWait): (Int64, Int64) = (60, 3_600)

    init() {}

    /// Counts a request.
    func note(_ record: AuditRecord) {
        let caller = record.actor?.party ?? ClientNetwork(of: record.address).description
        var key = Key(
            caller: caller, operation: record.operation, app: record.app, outcome: record.outcome,
            problem: record.problem)
        self.content.withLock { content in
            guard record.actor != nil else {
                Self.add(record, key, to: &content.strangers, limit: Self.strangerLimit, &content.omitted)
                return
            }
            if content.known[key] == nil, content.places[caller, default: 0] >= Self.callerLimit {
                // One that asks for more and more other things: what it asked for is left out.
                key.operation = nil
                key.app = nil
                var record = record
                record.operation = nil
                record.app = nil
                Self.add(record, key, to: &content.known, limit: Self.knownLimit + 100, &content.omitted)
                return
            }
            if content.known[key] == nil { content.places[caller, default: 0] += 1 }
            Self.add(record, key, to: &content.known, limit: Self.knownLimit, &content.omitted)
        }
    }

    private static func add(
        _ record: AuditRecord, _ key: Key, to records: inout [Key: AuditRecord], limit: Int, _ omitted: inout Int64
    ) {
        if records[key] != nil {
            records[key]?.add(record)
        } else if records.count < limit {
            records[key] = record
        } else {
            omitted += 1
        }
    }

    /// Takes out what is to be recorded now, the earliest first.
    func take(at now: Timestamp) -> (records: [AuditRecord], omitted: Int64) {
        self.content.withLock { content in
            var records = Array(content.known.values)
            content.known = [:]
            content.places = [:]
            let since = content.strangersTakenAt
            let isDue = since.map { $0.adding(seconds: content.strangersWait) <= now } ?? true
            if isDue {
                let isQuiet = since.map { $0.adding(seconds: 2 * Self.longestWait) <= now } ?? true
                if !content.strangers.isEmpty || content.omitted > 0 {
                    content.strangersWait =
                        isQuiet ? Self.shortestWait : min(2 * content.strangersWait, Self.longestWait)
                    content.strangersTakenAt = now
                }
                records += content.strangers.values
                content.strangers = [:]
            }
            let omitted = isDue ? content.omitted : 0
            content.omitted -= omitted
            return (records.sorted { ($0.firstTime, $0.firstRequestID) < ($1.firstTime, $1.firstRequestID) }, omitted)
        }
    }

    /// Puts back what could not be recorded.
    func putBack(_ records: some Sequence<AuditRecord>, omitted: Int64) {
        for record in records { self.note(record) }
        self.content.withLock { $0.omitted += omitted }
    }
}
