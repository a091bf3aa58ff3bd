import Concurrency
import LogLines
package import Logging
package import PinWire
package import Pinning
package import Postgres
import Synchronization

/// Records clients' reports, every second, and knows what all nodes have recorded.
///
/// If the process dies, the reports since the last recording are lost: one second, and the time of one statement. The
/// next process starts its counts from zero, and installs that were recorded before are not counted twice. While the
/// database is away, counting goes on in bounded memory and is recorded later. A row is written whole each time, so
/// that an unknown outcome of a recording does no harm: the next one repeats it.
///
/// All of its work, and the reading of reports (``perform(_:)``), is done on one thread of its own that yields to those
/// that serve documents.
package actor TelemetryRecorder {
    private nonisolated let thread: ThreadExecutor
    /// The same thread, for tasks that prepare its work.
    package nonisolated let executor: ThreadTaskExecutor
    private let store: TelemetryStore
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    /// Where reports are left.
    package nonisolated let intake: TelemetryIntake
    private nonisolated let factsCache = TelemetryFactsCache()
    /// The name of this process's rows; other processes may add their own and never overwrite these.
    private let node: String
    /// Rows that could not be recorded yet, the newest of each minute.
    private var waiting: [TelemetryRow.Name: TelemetryRow] = [:]
    private var isRecording = false
    private var hasFailed = false
    /// Whether the last read left out apps that were asked for.
    private var isBlind = false
    private var lost: Int64 = 0
    private var turnedAway: Int64 = 0

    private static let interval = Duration.seconds(1)
    /// In seconds.
    private static let longestAge: Int64 = 60
    private static let rowsAtOnce = 500
    private static let bytesAtOnce = 4 * 1024 * 1024
    private static let waitingLimit = 100_000
    private static let waitingBytes = 64 * 1024 * 1024

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.thread.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - node: Different for every process.
    ///   - thread: Used by nothing else. It ends with the recorder.
    package init(
        store: TelemetryStore, intake: TelemetryIntake, node: String, thread: ThreadExecutor, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.thread = thread
        self.executor = ThreadTaskExecutor(thread)
        self.store = store
        self.intake = intake
        self.node = node
        self.logger = logger
        self.clock = clock
    }

    deinit { self.thread.stop() }

    /// Runs slow work where it delays nothing.
    package func perform<Result: Sendable, Failure: Error>(
        _ work: @Sendable () throws(Failure) -> Result
    ) throws(Failure) -> Result { try work() }

    // MARK: Knowing

    /// An app's clients' reports of the last day, as a rule a few seconds old and never older than a minute. Nil where
    /// they are not known: the request makes this node find them out, and keep them at hand for as long as they are
    /// asked for every ten minutes.
    package nonisolated func facts(of app: AppID) -> TelemetryFacts? {
        guard let facts = self.factsCache.facts(of: app, at: .now),
            self.clock() <= facts.measuredAt.adding(seconds: Self.longestAge)
        else { return nil }
        return facts
    }

    /// All records of an app's clients over the last `hours`, the present one included.
    package func summary(of app: AppID, hours: Int64) async throws -> TelemetrySummary {
        let now = self.clock()
        let last = now.startOfHour
        var read: [Timestamp: OutcomeHour] = [:]
        for back in 0..<hours {
            let hour = last.adding(seconds: -3600 * back)
            let found = try await self.store.load(app, hour: hour)
            if !found.cells.isEmpty { read[hour] = found }
        }
        return TelemetrySummary(app: app, measuredAt: now, hours: read)
    }

    // MARK: Recording

    /// Records until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.recordNowAndThen() }
            group.addTask { await self.refreshFacts() }
            await group.waitForAll()
        }
        // Not cancelled with the rest: the counts up to the end are recorded, where the database accepts them.
        await finish(within: .seconds(1)) { await self.record() }
    }

    private func recordNowAndThen() async {
        await PeriodicWorker(every: Self.interval, first: .afterInterval).run { await self.record() }
    }

    /// Records the counts up to now.
    package func record() async {
        self.takeIn()
        // Another call is recording.
        guard !self.isRecording else { return }
        self.isRecording = true
        defer { self.isRecording = false }
        do {
            while let rows = self.nextRows() {
                try await self.store.record(rows, by: self.node)
                // The next recording takes newer counts of the same minute.
                for row in rows where self.waiting[row.name] == row { self.waiting[row.name] = nil }
            }
            if self.hasFailed { self.logger.log(.reportsRecordedAgain) }
            self.hasFailed = false
        } catch {
            if !self.hasFailed {
                self.logger.log(.reportsNotRecorded, ["error": "\(error)"])
            }
            self.hasFailed = true
        }
    }

    private func takeIn() {
        let (rows, dropped) = self.intake.empty(at: self.clock())
        for row in rows { self.waiting[row.name] = row }
        let lost = self.dropOldest()
        if lost > 0 { self.intake.countLost(lost) }
        self.lost += dropped + lost
        let turnedAway = self.intake.counts.turnedAway
        guard dropped + lost > 0 || turnedAway > self.turnedAway + 1000 else { return }
        self.logger.log(.reportsLost, ["lost_reports": "\(self.lost)", "requests_turned_away": "\(turnedAway)"])
        self.turnedAway = turnedAway
    }

    /// Drops the oldest rows where too many wait; returns the number of reports in them.
    private func dropOldest() -> Int64 {
        var bytes = self.waiting.values.reduce(0) { $0 + $1.size }
        guard self.waiting.count > Self.waitingLimit || bytes > Self.waitingBytes else { return 0 }
        var lost: Int64 = 0
        for row in self.waiting.values.sorted(by: { $0.minute < $1.minute }) {
            guard self.waiting.count > Self.waitingLimit || bytes > Self.waitingBytes else { break }
            self.waiting[row.name] = nil
            bytes -= row.size
            lost += row.reports
        }
        return lost
    }

    private func nextRows() -> [TelemetryRow]? {
        var rows: [TelemetryRow] = []
        var bytes = 0
        for row in self.waiting.values {
            if !rows.isEmpty, bytes + row.size > Self.bytesAtOnce { continue }
            rows.append(row)
            bytes += row.size
            if rows.count == Self.rowsAtOnce { break }
        }
        return rows.isEmpty ? nil : rows
    }

    // MARK: The facts for rules

    private func refreshFacts() async {
        await PeriodicWorker(every: .seconds(1)).run {
            var failure: (any Error)?
            do {
                if self.factsCache.wantsReporting(at: .now) { try await self.findReporting() }
            } catch { failure = error }
            for (app, summary, readAt) in self.factsCache.wanted(at: .now) {
                // A failure for one app must not affect the others.
                do { try await self.refresh(app, summary, since: readAt) } catch { failure = error }
            }
            if let failure, !self.isBlind, !Task.isCancelled {
                self.logger.log(.reportsUnreadable, ["error": "\(failure)"])
            }
            self.isBlind = failure != nil
        }
    }

    private func findReporting() async throws {
        let now = self.clock()
        let apps = try await self.store.reportingApps(since: Self.firstHour(at: now))
        self.factsCache.keep(reporting: apps, measuredAt: now, at: .now)
    }

    /// The beginning of the facts.
    private static func firstHour(at now: Timestamp) -> Timestamp {
        now.startOfHour.adding(seconds: -3600 * (TelemetrySummary.factHours - 1))
    }

    private func refresh(_ app: AppID, _ known: TelemetrySummary?, since: Timestamp?) async throws {
        let now = self.clock()
        let first = Self.firstHour(at: now)
        let readAt = try await self.store.now()
        // Changes that were not yet committed at the last read are read now.
        let since = since?.adding(seconds: -30) ?? Timestamp(seconds: 0)
        var hours: [Timestamp: OutcomeHour] = [:]
        for hour in try await self.store.changedHours(of: app, from: first, since: since) {
            hours[hour] = try await self.store.load(app, hour: hour)
        }
        var summary = known ?? TelemetrySummary(app: app, measuredAt: now)
        let isChanged = known == nil || !hours.isEmpty || summary.hours.keys.contains { $0 < first }
        summary.take(hours, at: now)
        summary.forget(before: first)
        self.factsCache.keep(summary, isChanged: isChanged, readAt: readAt, at: .now)
    }
}

extension TelemetryRow {
    /// The key of a process's row.
    struct Name: Hashable {
        var app: AppID
        var isAuthenticated: Bool
        var minute: Timestamp
    }

    var name: Name { Name(app: self.app, isAuthenticated: self.isAuthenticated, minute: self.minute) }
    var size: Int { self.content.count + self.units.count + 100 }
}
