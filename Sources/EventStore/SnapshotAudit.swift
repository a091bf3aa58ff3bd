package import Logging
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Folds the ledger from its beginning up to the snapshot that a node started from, and compares the two.
///
/// A snapshot may be wrong although nobody damaged it: a fold that was mended without a new version, or a hand that had
/// the key. Where the states differ the ledger is halted, so that nothing more is made or published from it.
///
/// It takes a small share of one core and holds a second state while it runs. If the process dies it starts again with
/// the next one.
package struct SnapshotAudit: Sendable {
    private let ledger: Ledger
    private let reader: LedgerReader
    private let position: Int64
    private let digest: [UInt8]
    private let logger: Logger
    /// Of each second, how much it may work.
    private let share: Double

    /// Entries read in one statement: some milliseconds of work.
    private static let pageSize = 1024
    /// How long to wait for a database that does not answer.
    private static let retry = Duration.seconds(10)

    /// Nil where the node did not start from a snapshot.
    package init?(
        of start: SnapshotStore.Start, ledger: Ledger, pool: PostgresPool, share: Double = 0.2, logger: Logger
    ) {
        guard let digest = start.stateDigest else { return nil }
        self.ledger = ledger
        self.reader = LedgerReader(pool: pool)
        self.position = start.view.head.position
        self.digest = digest
        self.share = min(max(share, 0.01), 1)
        self.logger = logger
    }

    /// Compares once; returns early when it is cancelled or the node has halted anyway.
    package func run() async {
        do {
            guard let view = try await self.fold() else { return }
            guard await SnapshotBody.digest(of: view.state) == self.digest else {
                throw LedgerFault.snapshot(position: self.position)
            }
            self.logger.info(
                "the snapshot this node started from is what the ledger makes",
                metadata: ["position": "\(self.position)"]
            )
        } catch let fault as LedgerFault {
            self.ledger.halt(fault)
            self.logger.critical(
                "the ledger does not fit what this node started from: it stops following it",
                metadata: ["fault": "\(fault)"]
            )
        } catch {
            // Cancelled.
        }
    }

    private func fold() async throws -> LedgerView? {
        var view = LedgerView()
        let clock = ContinuousClock()
        while view.head.position < self.position {
            guard self.ledger.fault == nil else { return nil }
            let begin = clock.now
            let page: LedgerPage
            do {
                page = try await self.reader.page(at: view.head.position..<self.position, limit: Self.pageSize)
            } catch let error as PostgresError where error.code != .cancelled {
                self.logger.warning("the audit of the snapshot waits", metadata: ["error": "\(error)"])
                try await Task.sleep(for: Self.retry)
                continue
            }
            let before = view.head.position
            try view.apply(page)
            guard view.head.position > before else {
                throw LedgerFault.position(expected: before, found: self.position)
            }
            // What was worked is slept off, at the wanted ratio.
            try await Task.sleep(for: begin.duration(to: clock.now) * (1 / self.share - 1))
        }
        return view
    }
}
