import PinWire
import Pinning
import Synchronization

/// The apps whose clients' reports a node has at hand: a limited number, each for as long as it is asked for.
///
/// Workers that act on reports ask every few seconds, those that warn go through all apps once a minute. So an app that
/// was asked for a moment ago keeps its place, however many others are asked for once. Apps without reports are known
/// to have none, without a place for each.
final class TelemetryFactsCache: Sendable {
    fileprivate struct Entry {
        var summary: TelemetrySummary?
        var facts: TelemetryFacts?
        /// The database's clock when the summary was last read.
        var readAt: Timestamp?
        var askedAt: ContinuousClock.Instant
        var madeAt: ContinuousClock.Instant?

        /// Whether the app is known to have no reports.
        var isEmpty: Bool { self.facts?.cells.isEmpty == true }
    }

    /// The apps with any reports, and when that was found out.
    fileprivate struct Reporting {
        var apps: Set<AppID>
        var measuredAt: Timestamp
        var madeAt: ContinuousClock.Instant
    }

    fileprivate struct Content {
        var entries: [AppID: Entry] = [:]
        var reporting: Reporting?
        /// The last request for an app that found no place.
        var crowdedAt: ContinuousClock.Instant?
    }

    private let content = Mutex(Content())
    private let limit: Int

    private static let freshness = Duration.seconds(2)
    private static let patience = Duration.seconds(600)
    /// How long an app keeps its place under load: longer than the interval of the workers that act.
    fileprivate static let tenure = Duration.seconds(15)
    /// How often the apps with reports are looked up, and for how long after a full cache.
    private static let interval = Duration.seconds(10)
    private static let crowdedness = Duration.seconds(120)

    init(limit: Int = 500) { self.limit = limit }

    /// The present facts, noting the request; nil where they are not known yet.
    func facts(of app: AppID, at now: ContinuousClock.Instant) -> TelemetryFacts? {
        self.content.withLock { content in
            if content.entries[app] != nil || content.makePlace(for: app, of: self.limit, at: now) {
                content.entries[app, default: Entry(askedAt: now)].askedAt = now
                return content.entries[app]?.facts
            }
            content.crowdedAt = now
            guard let reporting = content.reporting, !reporting.apps.contains(app) else { return nil }
            return TelemetryFacts(measuredAt: reporting.measuredAt, cells: [])
        }
    }

    /// The apps whose facts are missing or no longer fresh; forgets the apps that were not asked for.
    func wanted(at now: ContinuousClock.Instant) -> [(app: AppID, summary: TelemetrySummary?, readAt: Timestamp?)] {
        self.content.withLock { content in
            content.entries = content.entries.filter { now - $0.value.askedAt < Self.patience }
            return content.entries.filter { entry in
                entry.value.madeAt.map { now - $0 >= Self.freshness } ?? true
            }.map { ($0.key, $0.value.summary, $0.value.readAt) }
        }
    }

    /// Whether the apps with reports are to be looked up.
    func wantsReporting(at now: ContinuousClock.Instant) -> Bool {
        self.content.withLock { content in
            guard let crowdedAt = content.crowdedAt, now - crowdedAt < Self.crowdedness else {
                content.reporting = nil
                return false
            }
            return content.reporting.map { now - $0.madeAt >= Self.interval } ?? true
        }
    }

    /// - Parameter apps: All apps with records within the time of the facts.
    func keep(reporting apps: Set<AppID>, measuredAt: Timestamp, at now: ContinuousClock.Instant) {
        self.content.withLock {
            $0.reporting = Reporting(apps: apps, measuredAt: measuredAt, madeAt: now)
        }
    }

    /// - Parameter isChanged: Whether the summary has changed in more than its time.
    func keep(
        _ summary: TelemetrySummary, isChanged: Bool, readAt: Timestamp, at now: ContinuousClock.Instant
    ) {
        let known = self.content.withLock { $0.entries[summary.app]?.facts }
        var facts = isChanged ? summary.facts : known ?? summary.facts
        facts.measuredAt = summary.measuredAt
        self.content.withLock { content in
            content.entries[summary.app]?.summary = summary
            content.entries[summary.app]?.facts = facts
            content.entries[summary.app]?.readAt = readAt
            content.entries[summary.app]?.madeAt = now
        }
    }
}

extension TelemetryFactsCache.Content {
    /// Whether there is a place for one more app, if necessary that of an app without reports, or else of the one that
    /// was asked for the longest time ago.
    fileprivate mutating func makePlace(
        for app: AppID, of limit: Int, at now: ContinuousClock.Instant
    ) -> Bool {
        guard self.entries.count >= limit else { return true }
        // An app without reports needs no place; while it is unknown which apps have reports, every app may take one.
        if let reporting, !reporting.apps.contains(app) { return false }
        let oldest = self.entries.min {
            $0.value.isEmpty == $1.value.isEmpty ? $0.value.askedAt < $1.value.askedAt : $0.value.isEmpty
        }
        guard let oldest, oldest.value.isEmpty || now - oldest.value.askedAt >= TelemetryFactsCache.tenure else {
            return false
        }
        self.entries[oldest.key] = nil
        return true
    }
}
