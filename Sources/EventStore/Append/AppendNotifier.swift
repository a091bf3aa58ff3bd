import Postgres
import Synchronization

/// How often the other nodes are told that the ledger has grown.
///
/// Each announcement wakes every node. Where batches follow each other quickly, those in between are not announced; the
/// next one that is due is, or the writer says so when nothing follows. The others hear of an event about ``interval``
/// after it at the latest. Where something comes in between, such as this process's end, they find it by the look they
/// take every second.
final class AppendNotifier: Sendable {
    private struct Content {
        var last: ContinuousClock.Instant?
        /// Where the ledger ends that nobody was told of.
        var owed: Int64?
    }

    private let content = Mutex(Content())

    private static let interval = Duration.milliseconds(10)

    /// Whether the next batch is to be announced.
    var isDue: Bool {
        self.content.withLock { $0.last.map { $0 + Self.interval <= ContinuousClock.now } ?? true }
    }

    /// Says that a batch is in the ledger.
    func note(_ batch: Batch, isAnnounced: Bool) {
        guard batch.after.head.position > batch.base.head.position else { return }
        self.content.withLock { content in
            if isAnnounced { content.last = .now }
            content.owed = isAnnounced ? nil : batch.after.head.position
        }
    }

    /// How long it is until what was not announced is to be; nil where everything was.
    var waitForOwed: Duration? {
        self.content.withLock { content in
            guard content.owed != nil else { return nil }
            return content.last.map { ContinuousClock.now.duration(to: $0 + Self.interval) } ?? .zero
        }
    }

    /// Leaves it to the others' own look.
    func forget() {
        self.content.withLock { $0.owed = nil }
    }

    /// Announces what was not.
    func announce(on connection: isolated PostgresConnection) throws {
        guard let position = self.content.withLock({ $0.owed }) else { return }
        try connection.query(prepared: Statements.announce, [.text(String(position))])
        self.content.withLock { content in
            content.last = .now
            content.owed = nil
        }
    }
}
