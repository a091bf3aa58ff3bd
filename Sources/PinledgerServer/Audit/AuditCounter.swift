import Addresses
import PinWire
import Pinning
import Synchronization

/// Counts the requests that the ledger is to know of, until they are recorded: those alike as one.
///
/// However many come, and from however many callers, it holds few, and few are recorded: callers that are known have places that
/// strangers cannot take, no caller takes more than some of them, and what repeats is recorded once and then at intervals. Beyond the
/// places, requests are only counted. If the process dies, what it has counted since the last record is lost; the log has a line of what
/// was refused.
package final class AuditCounter: Sendable {
    /// The most different records of callers that are known, of one of them, and of strangers, that wait at a time.
    static let (knownLimit, callerLimit, strangerLimit) = (2_000, 20, 32)

    /// How long strangers' requests wait to be recorded, in seconds: longer while they keep coming, so that a scan of days makes few
    /// events.
    static let (shortestWait, longestWait): (Int64, Int64) = (60, 3_600)

    /// How long a known caller's requests wait that were recorded before, in seconds: a program that asks again and again, perhaps for the
    /// history with these very records in it, makes few events.
    static func repetitionWait(_ outcome: AuditRecord.Outcome) -> Int64 { outcome == .read ? 3_600 : 600 }

    /// What makes requests alike.
    private struct Key: Hashable {
        /// The party of a known caller, or else the network of a stranger.
        var caller: String
        var operation: String?
        var app: AppID?
        var outcome: AuditRecord.Outcome
        var problem: String?

        init(_ record: AuditRecord) {
            self.caller = record.actor?.party ?? ClientNetwork(of: record.address).description
            self.operation = record.operation
            self.app = record.app
            self.outcome = record.outcome
            self.problem = record.problem
        }
    }

    private struct Content {
        var known: [Key: AuditRecord] = [:]
        var strangers: [Key: AuditRecord] = [:]
        /// How many records each known caller has that wait.
        var places: [String: Int] = [:]
        /// When what known callers asked for was last taken, for as long as repetitions wait.
        var taken: [Key: Timestamp] = [:]
        var omitted: Int64 = 0
        /// When strangers' requests were last taken.
        var strangersTakenAt: Timestamp?
        /// How long they then wait, in seconds.
        var strangersWait: Int64 = AuditCounter.shortestWait
    }

    private let content = Mutex(Content())

    init() {}

    /// Counts a request.
    func note(_ record: AuditRecord) {
        var (record, key) = (record, Key(record))
        self.content.withLock { content in
            guard record.actor != nil else {
                Self.add(record, key, to: &content.strangers, limit: Self.strangerLimit, &content.omitted)
                return
            }
            if content.known[key] == nil, content.places[key.caller, default: 0] >= Self.callerLimit {
                // One that asks for more and more things: what it asked for is left out.
                record.operation = nil
                record.app = nil
                key = Key(record)
            }
            let isNew = content.known[key] == nil
            Self.add(record, key, to: &content.known, limit: Self.knownLimit, &content.omitted)
            if isNew, content.known[key] != nil { content.places[key.caller, default: 0] += 1 }
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
            var records = Self.takeKnown(&content, at: now)
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

    private static func takeKnown(_ content: inout Content, at now: Timestamp) -> [AuditRecord] {
        func waits(_ key: Key, since time: Timestamp) -> Bool {
            now < time.adding(seconds: Self.repetitionWait(key.outcome))
        }
        content.taken = content.taken.filter { waits($0.key, since: $0.value) }
        // What is known of repetitions is bounded too: then some are recorded sooner.
        if content.taken.count > 2 * Self.knownLimit { content.taken = [:] }
        let due = content.known.filter { content.taken[$0.key] == nil }
        for (key, _) in due {
            content.known[key] = nil
            content.taken[key] = now
        }
        content.places = content.known.keys.reduce(into: [:]) { $0[$1.caller, default: 0] += 1 }
        return Array(due.values)
    }

    /// Puts back what could not be recorded; it waits for nothing.
    func putBack(_ records: some Sequence<AuditRecord>, omitted: Int64) {
        for record in records {
            self.content.withLock { _ = $0.taken.removeValue(forKey: Key(record)) }
            self.note(record)
        }
        self.content.withLock { $0.omitted += omitted }
    }
}
