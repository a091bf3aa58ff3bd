import PinWire
import Pinning
import Synchronization

/// What a node has at hand of the apps whose clients' reports somebody asks for: so many, each for as long as it is asked
/// for.
final class TelemetryPicture: Sendable {
    private struct Entry {
        var book: TelemetryBook?
        var facts: TelemetryFacts?
        /// The database's clock when the book was read last.
        var readAt: Timestamp?
        var askedAt: ContinuousClock.Instant
        var madeAt: ContinuousClock.Instant?
    }

    private let entries = Mutex<[AppID: Entry]>([:])

    private static let limit = 500
    private static let freshness = Duration.seconds(2)
    private static let patience = Duration.seconds(600)

    /// What there is, noting that it is wanted. An app beyond the limit takes the place of the one that was asked for the
    /// longest time ago.
    func facts(of app: AppID, at now: ContinuousClock.Instant) -> TelemetryFacts? {
        self.entries.withLock { entries in
            if entries[app] == nil, entries.count >= Self.limit,
                let oldest = entries.min(by: { $0.value.askedAt < $1.value.askedAt })?.key
            {
                entries[oldest] = nil
            }
            entries[app, default: Entry(askedAt: now)].askedAt = now
            return entries[app]?.facts
        }
    }

    /// The apps whose facts are missing or no longer fresh, forgetting those that nobody has asked for.
    func wanted(at now: ContinuousClock.Instant) -> [(app: AppID, book: TelemetryBook?, readAt: Timestamp?)] {
        self.entries.withLock { entries in
            entries = entries.filter { now - $0.value.askedAt < Self.patience }
            return entries.filter { entry in
                entry.value.madeAt.map { now - $0 >= Self.freshness } ?? true
            }.map { ($0.key, $0.value.book, $0.value.readAt) }
        }
    }

    /// - Parameter isChanged: Whether the book has changed in more than its time.
    func keep(
        _ book: TelemetryBook, isChanged: Bool, readAt: Timestamp, at now: ContinuousClock.Instant
    ) {
        let known = self.entries.withLock { $0[book.app]?.facts }
        var facts = isChanged ? book.facts : known ?? book.facts
        facts.measuredAt = book.measuredAt
        self.entries.withLock { entries in
            entries[book.app]?.book = book
            entries[book.app]?.facts = facts
            entries[book.app]?.readAt = readAt
            entries[book.app]?.madeAt = now
        }
    }
}
