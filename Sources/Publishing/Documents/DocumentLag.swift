import Concurrency
package import EventStore
import LogLines
package import Logging
import PinWire
import Pinning
import Synchronization

/// Watches for documents that stay behind the ledger: because no node signs, or because older ones were put back.
///
/// A node that signs repairs that by itself. A node that only reads serves the stored documents, and can only report
/// that they are old.
package final class DocumentLag: Sendable {
    private struct Content {
        /// When an app's document was first seen to be behind.
        var since: [AppID: ContinuousClock.Instant] = [:]
        var late = 0
        /// State of the ledger and of the documents at which none was behind; nil where one was.
        var current: Compared?
    }

    /// State of the ledger and of the documents, by the numbers of their changes.
    private struct Compared: Equatable {
        var ledger: UInt64
        var table: UInt64
    }

    private let ledger: Ledger
    private let table: DocumentTable
    private let grace: Duration
    private let logger: Logger
    private let content = Mutex(Content())

    /// - Parameter grace: How long nodes may take to publish recorded changes.
    package init(ledger: Ledger, table: DocumentTable, grace: Duration = .seconds(10), logger: Logger) {
        self.ledger = ledger
        self.table = table
        self.grace = grace
        self.logger = logger
    }

    /// The number of apps whose documents have been behind the ledger for longer than nodes may take.
    package var count: Int { self.content.withLock { $0.late } }

    /// Watches until cancelled.
    package func run() async {
        await PeriodicWorker(every: min(self.grace, .seconds(5))).run { await self.look() }
    }

    /// Compares every served document's version with the ledger's.
    package func look() async {
        let compared = Compared(ledger: self.ledger.revision, table: self.table.generation)
        // Nothing has changed, and nothing was behind.
        guard self.content.withLock({ $0.current != compared }) else { return }
        let state = self.ledger.view.state
        // Before the first signing key there is nothing to serve, and a halted node reports that itself.
        guard state.keys.active != nil, self.ledger.fault == nil else { return }
        let now = ContinuousClock.now
        var behind: [AppID: Int64] = [:]
        for (count, app) in state.apps.keys.enumerated() {
            if count % 20 == 19 { await Task.yield() }
            guard let version = state.documentVersion(of: app) else { continue }
            let served = self.table[app]?.version ?? 0
            if served < version { behind[app] = served }
        }
        let (before, late) = self.content.withLock { content in
            var since: [AppID: ContinuousClock.Instant] = [:]
            for app in behind.keys { since[app] = content.since[app] ?? now }
            content.since = since
            content.current = behind.isEmpty ? compared : nil
            let late = since.filter { now - $0.value >= self.grace }.keys.sorted { $0.text < $1.text }
            defer { content.late = late.count }
            return (content.late, late)
        }
        if before == 0, !late.isEmpty {
            let named = late.prefix(5).map { app in
                "\(app) (version \(behind[app] ?? 0) instead of \(state.documentVersion(of: app) ?? 0))"
            }
            self.logger.log(.documentsBehind, ["count": "\(late.count)", "apps": "\(named.joined(separator: ", "))"])
        } else if before > 0, late.isEmpty {
            self.logger.log(.documentsCurrent)
        }
    }
}
