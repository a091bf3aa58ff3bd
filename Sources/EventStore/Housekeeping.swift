package import Logging
package import Postgres

/// What has to be done to the ledger's tables from time to time, by whichever node comes first.
package struct Housekeeping: Sendable {
    private let ledger: Ledger
    private let pool: PostgresPool
    private let snapshots: SnapshotStore
    private let logger: Logger

    package init(ledger: Ledger, pool: PostgresPool, logger: Logger) {
        self.ledger = ledger
        self.pool = pool
        self.snapshots = SnapshotStore(pool: pool, logger: logger)
        self.logger = logger
    }

    /// Makes partitions ahead and forgets old idempotency keys once an hour, and keeps a snapshot whenever the ledger has
    /// grown by ``SnapshotStore/interval``; until cancelled.
    package func run() async {
        var lastSnapshot = self.ledger.position
        var minutes = 0
        while !Task.isCancelled {
            do {
                if minutes % 60 == 0 {
                    _ = try await self.pool.query(Statements.ensurePartitions.sql)
                    _ = try await self.pool.query(Statements.forgetCommands.sql)
                }
                let view = self.ledger.view
                if view.head.position - lastSnapshot >= SnapshotStore.interval {
                    try await self.snapshots.store(view)
                    lastSnapshot = view.head.position
                }
            } catch is CancellationError {
                return
            } catch {
                self.logger.warning("housekeeping failed, and will be tried again", metadata: ["error": "\(error)"])
            }
            minutes += 1
            try? await Task.sleep(for: .seconds(60))
        }
    }
}
