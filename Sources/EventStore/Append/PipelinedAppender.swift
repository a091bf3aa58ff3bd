import Logging
import Postgres

/// Sends batches one behind the other from the thread of the connection, so that the database hardly waits between
/// them.
///
/// The next batch follows the database's answer without another thread, and the senders of recorded commands are
/// answered while that batch is on its way. Anything but the plain case ends the pipeline and is left to the writer.
struct PipelinedAppender: Sendable {
    /// A batch and its outcome.
    struct SentBatch: Sendable {
        var pending: PendingBatch
        var batch: Batch
        var isAnnounced: Bool
        var outcome: Result<AppendOutcome, any Error>
    }

    let ledger: Ledger
    let queue: CommandQueue
    let lease: AppendLease?
    let notifier: AppendNotifier
    let logger: Logger
    let metrics: AppendMetrics

    /// Sends a batch and those that gather behind it.
    ///
    /// - Returns: The last batch, not answered; nil where that is answered too.
    func run(_ pending: PendingBatch, _ batch: Batch, on connection: isolated PostgresConnection) -> SentBatch? {
        var (pending, batch) = (pending, batch)
        var recorded: (pending: PendingBatch, batch: Batch)?
        while true {
            self.ledger.beginWriting(batch)
            let (isAnnounced, begun) = (self.notifier.isDue, ContinuousClock.now)
            let outcome = Result {
                let outcome = try AppendOutcome(
                    appending: batch, isAnnounced: isAnnounced, with: self.ledger.keys?.current, on: connection
                ) {
                    Self.answer(&recorded)
                }
                if case .appended = outcome, !batch.isEmpty || batch.confirms { try connection.checkCommitsWait() }
                return outcome
            }
            self.metrics.note(commands: pending.count, since: begun)
            Self.answer(&recorded)
            guard case .success(.appended) = outcome, batch.refusedWithKey.isEmpty else {
                return SentBatch(pending: pending, batch: batch, isAnnounced: isAnnounced, outcome: outcome)
            }
            self.ledger.take(batch)
            self.ledger.database.noteWrite(self.logger)
            self.notifier.note(batch, isAnnounced: isAnnounced)
            recorded = (pending, batch)
            guard self.mayGoOn(behind: batch), let next = self.queue.next() else {
                Self.answer(&recorded)
                return nil
            }
            (pending, batch) = next
        }
    }

    private static func answer(_ recorded: inout (pending: PendingBatch, batch: Batch)?) {
        guard let (settled, batch) = recorded.take() else { return }
        var pending = settled
        pending.takeRecorded(by: batch)
        pending.takeRefused(by: batch)
        pending.answer()
    }

    private func mayGoOn(behind batch: Batch) -> Bool {
        self.ledger.fault == nil && self.ledger.view.head == batch.after.head && self.lease?.isOver != true
    }
}

extension Ledger {
    /// Takes in what this node has appended.
    func take(_ batch: Batch) {
        self.advance(
            from: batch.base.head, to: batch.after, changing: batch.streams.keys, isLocal: true, entries: batch.bytes)
    }
}
