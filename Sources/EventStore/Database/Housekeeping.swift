import LogLines
package import Logging
import Pinning
package import Postgres

/// What has to be done to the ledger's tables from time to time, by whichever node comes first.
package struct Housekeeping: Sendable {
    /// When a snapshot is worth its while.
    package struct Cadence: Sendable {
        /// Events since the newest stored one that are reason enough.
        package var events: Int64 = 50_000
        /// Events that are reason enough once the newest stored one is older than ``age``.
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

    /// - Parameter telemetryDays: How long what clients reported is kept.
    package init(
        ledger: Ledger, pool: PostgresPool, snapshotKey: SnapshotKey? = nil, cadence: Cadence = Cadence(),
        telemetryDays: Int = 14, logger: Logger
    ) {
        self.telemetryDays = telemetryDays
        self.ledger = ledger
        self.pool = pool
        self.snapshots = SnapshotStore(pool: pool, key: snapshotKey, logger: logger)
        self.cadence = cadence
        self.logger = logger
    }

    /// What is done once an hour.
    private struct Chore {
        var statement: PreparedStatement
        /// How much one call does, where the call answers with how much it did; nil where one call does all.
        var limit: Int64?

        static func all(telemetryDays: Int) -> [Chore] {
            [
                Chore(statement: Statements.ensurePartitions),
                Chore(statement: Statements.forgetCommands, limit: 10_000),
                Chore(statement: Statements.forgetAdoption),
                Chore(statement: Statements.forgetDeliveries, limit: 10_000),
                Chore(statement: Statements.forgetObservations),
                Chore(statement: Statements.forgetSnapshots(before: LedgerState.foldVersion)),
                Chore(statement: Statements.forgetOutcomes(days: telemetryDays), limit: 10_000),
            ]
        }

        /// How long one chore is gone on with; the rest waits for the next hour.
        static let patience = Duration.seconds(120)
    }

    /// Makes partitions ahead and forgets old idempotency keys, counts, reports, observations, deliveries and snapshots of
    /// earlier forms once an hour, and keeps a snapshot whenever one is due; until cancelled.
    package func run() async {
        var ticks = 0
        while !Task.isCancelled {
            do {
                if ticks % 360 == 0 { try await self.sweep() }
                try await self.keepSnapshot()
            } catch is CancellationError {
                return
            } catch {
                self.logger.log(.housekeepingFailed, ["error": "\(error)"])
            }
            ticks += 1
            try? await Task.sleep(for: .seconds(10))
        }
    }

    /// Makes partitions ahead and forgets all that is old. A chore that fails keeps the others from nothing.
    package func sweep() async throws(CancellationError) {
        for chore in Chore.all(telemetryDays: self.telemetryDays) {
            do { try await self.perform(chore) } catch {
                guard !Task.isCancelled else { throw CancellationError() }
                self.logger.log(.housekeepingFailed, ["statement": "\(chore.statement.sql)", "error": "\(error)"])
            }
        }
    }

    private func perform(_ chore: Chore) async throws {
        let end = ContinuousClock.now + Chore.patience
        repeat {
            let row = try await self.pool.query(chore.statement.sql).only
            guard let limit = chore.limit, try row.int64(0) >= limit else { return }
        } while ContinuousClock.now < end && !Task.isCancelled
    }

    /// Keeps a snapshot if one is due. What counts is the newest stored one, whoever made it.
    package func keepSnapshot() async throws {
        let view = self.ledger.view
        // A ledger that does not fit is not to be started from.
        guard self.ledger.fault == nil, view.head.position >= self.cadence.fewEvents else { return }
        guard self.cadence.isDue(at: view.head.position, newest: try await self.snapshots.newest()) else { return }
        try await self.snapshots.store(view)
    }
}
