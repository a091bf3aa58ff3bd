import Postgres
import Synchronization

/// Notifies the other nodes, at intervals, that the ledger has grown.
///
/// Each notification wakes every node. Where batches follow each other quickly, those in between are not announced; the
/// next batch that is due is, or the writer announces the last one when nothing follows. The other nodes learn of an
/// event at most about ``interval`` after it. If this process ends before that, they find the event by their poll every
/// second.
final class AppendNotifier: Sendable {
    private struct Content {
        var last: ContinuousClock.Instant?
        /// The ledger's end, where it has not been announced.
        var owed: Int64?
    }

    private let content = Mutex(Content())

    private static let interval = Duration.milliseconds(10)

    /// Whether to announce the next batch.
    var isDue: Bool {
        self.content.withLock { $0.last.map { $0 + Self.interval <= ContinuousClock.now } ?? true }
    }

    /// Records that a batch is in the ledger.
    func note(_ batch: Batch, isAnnounced: Bool) {
        guard batch.after.head.position > batch.base.head.position else { return }
        self.content.withLock { content in
            if isAnnounced { content.last = .now }
            content.owed = isAnnounced ? nil : batch.after.head.position
        }
    }

    /// The time until the pending announcement is due; nil where none is pending.
    var waitForOwed: Duration? {
        self.content.withLock { content in
            guard content.owed != nil else { return nil }
            return content.last.map { ContinuousClock.now.duration(to: $0 + Self.interval) } ?? .zero
        }
    }

    /// Drops the pending announcement: the other nodes' polls find the events.
    func forget() {
        self.content.withLock { $0.owed = nil }
    }

    /// Sends the pending announcement.
    func announce(on connection: isolated PostgresConnection) throws {
        guard let position = self.content.withLock({ $0.owed }) else { return }
        try connection.query(prepared: Statements.announce, [.text(String(position))])
        self.content.withLock { content in
            content.last = .now
            content.owed = nil
        }
    }
}
