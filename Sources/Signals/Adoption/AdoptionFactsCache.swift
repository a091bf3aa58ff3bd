import PinWire
import Pinning
import Synchronization

/// The apps whose adoption a node has at hand: a limited number, each for as long as it is asked for.
final class AdoptionFactsCache: Sendable {
    private struct Entry {
        var facts: AdoptionFacts?
        var askedAt: ContinuousClock.Instant
        var madeAt: ContinuousClock.Instant?
    }

    private let entries = Mutex<[AppID: Entry]>([:])
    let windowSeconds: Int64

    private static let limit = 1000
    private static let freshness = Duration.seconds(30)
    private static let patience = Duration.seconds(600)

    init(windowSeconds: Int64) { self.windowSeconds = windowSeconds }

    /// The present facts, noting the request. An app beyond the limit replaces the one that was asked for the longest
    /// time ago.
    func facts(of app: AppID, at now: ContinuousClock.Instant) -> AdoptionFacts? {
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

    /// The apps whose facts are missing or no longer fresh; forgets the apps that were not asked for.
    func wanted(at now: ContinuousClock.Instant) -> [AppID] {
        self.entries.withLock { entries in
            entries = entries.filter { now - $0.value.askedAt < Self.patience }
            return entries.filter { entry in
                entry.value.madeAt.map { now - $0 >= Self.freshness } ?? true
            }.map(\.key)
        }
    }

    func keep(_ facts: AdoptionFacts, of app: AppID, at now: ContinuousClock.Instant) {
        self.entries.withLock { entries in
            entries[app]?.facts = facts
            entries[app]?.madeAt = now
        }
    }
}
