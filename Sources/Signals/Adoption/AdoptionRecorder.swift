import Concurrency
package import CoreMetrics
import Exposition
package import Keys
import LogLines
package import Logging
package import PinWire
package import Pinning
import Postgres
import Synchronization

/// Counts which document versions clients hold, and records it every few seconds: adoption, learned from the requests
/// that clients make anyway.
///
/// If the process dies, the counts since the last recording are lost: twelve seconds at the most, two on an event loop
/// and ten here, and the next process begins from the recorded ones. While the database is away, counting goes on in
/// bounded memory. Counts whose recording has an unknown outcome are given up, because they could be added twice;
/// sketches are merged again.
///
/// A node that may not write keeps its counts in memory: its own answers include them, those of other nodes do not.
package actor AdoptionRecorder {
    private let store: AdoptionStore
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let currentVersion: @Sendable (AppID) -> Int64?
    private let counted: Counter
    private let uncounted: Counter
    /// Where seen clients are counted.
    package nonisolated let intake: AdoptionIntake
    private nonisolated let factsCache: AdoptionFactsCache
    private nonisolated let surges = KnownSurges()
    private var watch = SurgeWatch()

    private var tally = AdoptionTally()
    /// Being written to the database.
    private var recording: (rows: [AdoptionTally.Row], sketches: [AdoptionTally.Sketch]) = ([], [])
    private var isRefused = false
    private var lost: Int64 = 0

    private static let interval = Duration.seconds(10)
    /// After a refusal: a right may be granted, a standby become the primary.
    private static let refusedRounds = 30
    private static let rowsAtOnce = 2000
    private static let sketchesAtOnce = 100

    /// - Parameters:
    ///   - salts: The salts for install ids, the same on every node that has them; nil for a node without the
    ///     key-encryption key, which counts requests and no installs.
    ///   - windowSeconds: How far back ``facts(of:)`` goes: an active client asks at least once in a document's
    ///     lifetime.
    ///   - currentVersion: The version of an app's document; nil where there is none.
    package init(
        store: AdoptionStore, salts: DailySalts?, windowSeconds: Int64, logger: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        clock: @escaping @Sendable () -> Timestamp, currentVersion: @escaping @Sendable (AppID) -> Int64?
    ) {
        self.store = store
        self.logger = logger
        self.clock = clock
        self.currentVersion = currentVersion
        func counter(_ outcome: String) -> Counter {
            Counter(label: MetricFamily.sightings.rawValue, dimensions: [("outcome", outcome)], factory: metrics)
        }
        (self.counted, self.uncounted) = (counter("counted"), counter("lost"))
        self.intake = AdoptionIntake(salts: salts, clock: clock)
        self.factsCache = AdoptionFactsCache(windowSeconds: windowSeconds)
    }

    // MARK: Seeing and knowing

    /// Counts clients' reports that came without a request for the document; nothing for an app that has none.
    ///
    /// - Parameter isSigned: Whether they showed that they are clients of the app: gates count only those.
    package nonisolated func note(_ reports: some Collection<ClientReport>, of app: AppID, isSigned: Bool) {
        guard let version = self.currentVersion(app) else { return }
        self.intake.note(reports, of: app, current: version, isSigned: isSigned)
    }

    /// The surge of an app on this node, which counts far more than ever before; nil where there is none.
    package nonisolated func surge(of app: AppID) -> AdoptionSurge? { self.surges.surge(of: app) }

    /// The facts about the versions that an app's clients hold, at most about half a minute old. Nil where they are not
    /// known yet: the request makes this node find them out, and keep them at hand for as long as they are asked for
    /// every ten minutes.
    package nonisolated func facts(of app: AppID) -> AdoptionFacts? { self.factsCache.facts(of: app, at: .now) }

    /// All facts about an app's clients over the last `hours`: the recorded ones, and those that this node will record.
    package func summary(of app: AppID, hours: Int64) async throws -> AdoptionSummary {
        try await self.summary(of: app, windowSeconds: hours * 3600)
    }

    private func summary(of app: AppID, windowSeconds: Int64) async throws -> AdoptionSummary {
        let spans = AdoptionSummary.Spans(measuredAt: self.clock(), windowSeconds: windowSeconds)
        // The database first: counts that are recorded meanwhile are missing for a moment, and not counted twice.
        var summary = try await self.store.load(app, spans)
        self.takeIn()
        for row in self.recording.rows where row.app == app { summary.add(row) }
        for row in self.tally.rows(of: app) { summary.add(row) }
        for sketch in self.tally.sketches(of: app) { summary.add(sketch) }
        return summary
    }

    /// The counts that are not recorded yet.
    package var unrecordedRows: [AdoptionTally.Row] {
        self.takeIn()
        return self.recording.rows + self.tally.rows
    }

    // MARK: Recording

    /// Counts and records until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.follow() }
            group.addTask { await self.recordNowAndThen() }
            group.addTask { await self.refreshFacts() }
            await group.waitForAll()
        }
        // Not cancelled with the rest: the counts up to the end are recorded, where the database accepts them.
        await finish(within: .seconds(1)) { await self.record() }
    }

    private func follow() async {
        for await _ in self.intake.arrivals { self.takeIn() }
    }

    private func takeIn() {
        let now = self.clock()
        let (seen, lost) = self.intake.empty(into: &self.tally, at: now)
        self.watch.add(seen, at: now)
        self.counted.increment(by: seen.values.reduce(0, +))
        self.lost += lost
    }

    private func recordNowAndThen() async {
        var round = 0
        await PeriodicWorker(every: Self.interval, first: .afterInterval).run {
            round += 1
            await self.lookForSurges()
            if !self.isRefused || round.isMultiple(of: Self.refusedRounds) { await self.record() }
        }
    }

    /// Records the counts up to now.
    package func record() async {
        self.takeIn()
        // Another call is recording.
        guard self.recording.rows.isEmpty, self.recording.sketches.isEmpty else { return }
        self.recording = self.tally.take(at: self.clock())
        do {
            while !self.recording.rows.isEmpty { try await self.recordRows() }
            while !self.recording.sketches.isEmpty {
                try await self.store.merge(Array(self.recording.sketches.prefix(Self.sketchesAtOnce)))
                self.recording.sketches.removeFirst(min(Self.sketchesAtOnce, self.recording.sketches.count))
            }
            if self.isRefused { self.logger.log(.clientsCountedAgain) }
            self.isRefused = false
        } catch {
            self.tally.putBack(self.recording.rows, self.recording.sketches)
            self.recording = ([], [])
            self.complain(error)
        }
        self.lost += self.tally.takeDropped()
        if self.lost > 0 {
            self.logger.log(.clientsLost, ["uncounted": "\(self.lost)"])
            self.uncounted.increment(by: self.lost)
            self.lost = 0
        }
    }

    /// Logs the apps that are counted far more often than before.
    func lookForSurges() async {
        self.takeIn()
        for app in self.watch.unknown {
            // While the database is away nothing is known of earlier hours.
            guard let usual = try? await self.store.busiestHour(of: app, in: self.watch.before) else { return }
            self.watch.learn(usual, of: app)
        }
        let new = self.watch.takeNew()
        guard !new.isEmpty else { return }
        self.surges.add(new, at: self.clock())
        for (app, surge) in new {
            self.logger.log(
                .trafficSurge,
                [
                    "app": "\(app)", "hour": "\(surge.hour)", "counted": "\(surge.sightings)",
                    "before": "\(surge.usual)",
                ])
        }
    }

    private func recordRows() async throws {
        let rows = Array(self.recording.rows.prefix(Self.rowsAtOnce))
        do { try await self.store.add(rows) } catch let error as PostgresError where error.code == .outcomeUnknown {
            self.recording.rows.removeFirst(rows.count)
            self.lost += rows.reduce(0) { $0 + $1.count.sightings }
            throw error
        }
        self.recording.rows.removeFirst(rows.count)
    }

    private func complain(_ error: any Error) {
        // Insufficient privilege, and a transaction that may only read.
        guard ["42501", "25006"].contains((error as? PostgresError)?.sqlState) else {
            return self.logger.log(.clientsNotCounted, ["error": "\(error)"])
        }
        guard !self.isRefused else { return }
        self.isRefused = true
        self.logger.log(.clientsCountedInMemory)
    }

    // MARK: The facts for rules

    private func refreshFacts() async {
        await PeriodicWorker(every: .seconds(1)).run {
            for app in self.factsCache.wanted(at: .now) {
                // While the database is away, the known facts stay, with their time.
                guard let summary = try? await self.summary(of: app, windowSeconds: self.factsCache.windowSeconds)
                else { break }
                self.factsCache.keep(summary.facts, of: app, at: .now)
            }
        }
    }
}
