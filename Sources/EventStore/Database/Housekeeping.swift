import Concurrency
package import CoreMetrics
import Exposition
import LogLines
package import Logging
import Metrics
import Pinning
package import Postgres

/// The recurring maintenance of the ledger's tables, done by the first node that comes.
package struct Housekeeping: Sendable {
    /// When a snapshot is due.
    package struct Cadence: Sendable {
        /// The number of events since the newest stored one that make it due.
        package var events: Int64 = 50_000
        /// The number of events that make it due once the newest stored one is older than ``age``.
        package var fewEvents: Int64 = 1000
        package var age = Duration.seconds(15 * 60)

        package init() {}

        /// Whether to store a fold at `position` beside the newest stored one.
        func isDue(at position: Int64, newest: (position: Int64, age: Duration)?) -> Bool {
            guard let newest else { return position >= self.fewEvents }
            let grown = position - newest.position
            return grown >= self.events || grown >= self.fewEvents && newest.age >= self.age
        }
    }

    private let ledger: Ledger
    private let pool: PostgresPool
    private let snapshots: SnapshotStore
    private let cadence: Cadence
    private let telemetryDays: Int
    private let logger: Logger
    private let snapshotDuration: CoreMetrics.Timer

    /// - Parameter telemetryDays: How many days clients' reports are kept.
    package init(
        ledger: Ledger, pool: PostgresPool, snapshotKey: SnapshotKey? = nil, cadence: Cadence = Cadence(),
        telemetryDays: Int = 14, logger: Logger, metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) {
        self.snapshotDuration = Timer(label: MetricFamily.snapshotDuration.rawValue, factory: metrics)
        self.telemetryDays = telemetryDays
        self.ledger = ledger
        self.pool = pool
        self.snapshots = SnapshotStore(pool: pool, key: snapshotKey, logger: logger)
        self.cadence = cadence
        self.logger = logger
    }

    /// The hourly tasks.
    private struct Chore {
        var statement: PreparedStatement
        /// How many rows one call handles, where the call answers with their number; nil where one call does all.
        var limit: Int64?

        /// Fails where a lock is held for long, by ANALYZE or VACUUM, and is tried again soon: without a partition nothing is recorded.
        static let partitions = Chore(statement: Statements.ensurePartitions)

        static func all(telemetryDays: Int) -> [Chore] {
            [
                Chore(statement: Statements.forgetCommands, limit: 10_000),
                Chore(statement: Statements.forgetAdoption),
                Chore(statement: Statements.forgetDeliveries, limit: 10_000),
                Chore(statement: Statements.forgetObservations),
                Chore(statement: Statements.forgetNodes),
                Chore(statement: Statements.forgetTokenUses),
                Chore(statement: Statements.forgetSnapshots(before: LedgerState.foldVersion)),
                Chore(statement: Statements.forgetOutcomes(days: telemetryDays), limit: 10_000),
            ]
        }

        /// How long one task may go on; the rest waits for the next hour.
        static let patience = Duration.seconds(120)
    }

    /// When what is due, in rounds of ten seconds.
    struct Schedule: Sendable {
        enum Round: Hashable, Sendable {
            case everything
            /// Partitions alone, which could not be made before.
            case partitions
            case nothing
        }

        private var ticks = 0
        /// True where the last attempt to make partitions has failed.
        var lacksPartitions = false

        mutating func next() -> Round {
            defer { self.ticks += 1 }
            if self.ticks % 360 == 0 { return .everything }
            return self.lacksPartitions ? .partitions : .nothing
        }
    }

    /// Creates partitions ahead, removes old idempotency keys, counts, reports, observations, deliveries, uses of tokens and
    /// snapshots of earlier forms once an hour, and stores a snapshot whenever one is due; until cancelled.
    package func run() async {
        var schedule = Schedule()
        await PeriodicWorker(every: .seconds(10)).run(logging: .housekeepingFailed, to: self.logger) {
            switch schedule.next() {
            case .everything: schedule.lacksPartitions = try await !self.sweep()
            // That they are missing is in the log already.
            case .partitions: schedule.lacksPartitions = (try? await self.perform(.partitions)) == nil
            case .nothing: break
            }
            try await self.keepSnapshot()
        }
    }

    /// Creates partitions ahead and removes all old rows. A task that fails does not prevent the others.
    ///
    /// - Returns: False where partitions could not be made.
    @discardableResult
    package func sweep() async throws(CancellationError) -> Bool {
        let hasPartitions = try await self.isDone(.partitions)
        for chore in Chore.all(telemetryDays: self.telemetryDays) { _ = try await self.isDone(chore) }
        return hasPartitions
    }

    /// Performs a task, and says in the log where it fails.
    private func isDone(_ chore: Chore) async throws(CancellationError) -> Bool {
        do {
            try await self.perform(chore)
            return true
        } catch {
            guard !Task.isCancelled else { throw CancellationError() }
            self.logger.log(.housekeepingFailed, ["statement": "\(chore.statement.sql)", "error": "\(error)"])
            return false
        }
    }

    private func perform(_ chore: Chore) async throws {
        let end = ContinuousClock.now + Chore.patience
        repeat {
            let row = try await self.pool.query(chore.statement.sql).only
            guard let limit = chore.limit, try row.int64(0) >= limit else { return }
        } while ContinuousClock.now < end && !Task.isCancelled
    }

    /// Stores a snapshot if one is due. It counts from the newest stored one, whichever node made it.
    package func keepSnapshot() async throws {
        let view = self.ledger.view
        // No node may start from a ledger with a fault; and where others have the key, theirs are the ones to start from.
        guard self.ledger.fault == nil, self.ledger.refusal != .noKey, view.head.position >= self.cadence.fewEvents
        else { return }
        guard self.cadence.isDue(at: view.head.position, newest: try await self.snapshots.newest()) else { return }
        let begun = ContinuousClock.now
        try await self.snapshots.store(view)
        self.snapshotDuration.record(duration: ContinuousClock.now - begun)
    }
}
