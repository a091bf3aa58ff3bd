import LogLines
package import Logging
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Folds the ledger from its beginning up to the snapshot that a node started from, and compares the two: the tree over
/// the entries, and the state.
///
/// A snapshot may be wrong although it was not damaged: a fold was corrected without a new version, or an attacker had
/// the key. Where the states differ the ledger is halted, so that nothing more is made or published from it. Where entries are
/// pruned that the node cannot read, nothing is compared.
///
/// It takes a small share of one core and holds a second state while it runs. If the process dies, the next one starts
/// it again.
package struct SnapshotAudit: Sendable {
    private let ledger: Ledger
    private let reader: LedgerReader
    private let head: Head
    private let digest: [UInt8]
    private let logger: Logger
    /// The share of each second in which it may work.
    private let share: Double

    /// The number of entries read in one statement: some milliseconds of work.
    private static let pageSize = 1024
    /// How long to wait for a database that does not answer.
    private static let retry = Duration.seconds(10)

    /// Nil where the node did not start from a snapshot.
    package init?(
        of start: SnapshotStore.Start, ledger: Ledger, pool: PostgresPool, bundles: BundleDirectory? = nil,
        share: Double = 0.2, logger: Logger
    ) {
        guard let digest = start.stateDigest else { return nil }
        self.ledger = ledger
        self.reader = LedgerReader(pool: pool, bundles: bundles)
        self.head = start.view.head
        self.digest = digest
        self.share = min(max(share, 0.01), 1)
        self.logger = logger
    }

    /// Compares once; returns early when it is cancelled or the node has halted anyway.
    package func run() async {
        do {
            guard let view = try await self.fold() else { return }
            // The snapshot's tree is that of the recorded hashes; an entry that was changed together with its hash shows
            // only in the tree over the entries.
            try self.head.check(view.head)
            guard view.head.lastTime == self.head.lastTime, await SnapshotSeal.digest(of: view.state) == self.digest
            else {
                throw LedgerFault.snapshot(position: self.head.position)
            }
            self.logger.log(.snapshotVerified, ["position": "\(self.head.position)"])
        } catch let fault as LedgerFault where fault.isPruned {
            self.logger.log(.snapshotNotAudited, ["fault": "\(fault)"])
        } catch let fault as LedgerFault {
            self.ledger.halt(fault)
            self.logger.log(.snapshotRefuted, ["fault": "\(fault)"])
        } catch {
            // Cancelled.
        }
    }

    private func fold() async throws -> LedgerView? {
        var view = LedgerView()
        let clock = ContinuousClock()
        while view.head.position < self.head.position {
            guard self.ledger.fault == nil else { return nil }
            let begin = clock.now
            let page: LedgerPage
            do {
                page = try await self.reader.page(
                    at: view.head.position..<self.head.position, limit: Self.pageSize, knowing: self.ledger.knownLevel)
            } catch let error as PostgresError where error.code != .cancelled {
                self.logger.log(.snapshotAuditDelayed, ["error": "\(error)"])
                try await Task.sleep(for: Self.retry)
                continue
            } catch let error where error is BundleDirectory.Unreadable || error is LedgerReader.Behind {
                self.logger.log(.snapshotAuditDelayed, ["error": "\(error)"])
                try await Task.sleep(for: Self.retry)
                continue
            }
            try view.apply(page, before: self.head)
            // Sleeps in proportion to the work done.
            try await Task.sleep(for: begin.duration(to: clock.now) * (1 / self.share - 1))
        }
        return view
    }
}
