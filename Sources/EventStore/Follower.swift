package import Logging
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Keeps a node's ``Ledger`` in step with the database: reads what other nodes append.
///
/// NOTIFY wakes it, a poll every second stands behind that, and after every reconnection it reads on from where it is.
/// What it reads is checked: positions without a gap, hashes, and the tree's right edge against the head. Where
/// something does not fit it halts for good, says so, and what was last verified goes on being served.
package struct Follower: Sendable {
    package static let channel = "pinledger_position"
    private let ledger: Ledger
    private let reader: LedgerReader
    private let listener: PostgresListener
    private let logger: Logger
    /// Entries read in one statement.
    private let pageSize: Int

    package init(ledger: Ledger, pool: PostgresPool, listener: PostgresListener, logger: Logger, pageSize: Int = 2000) {
        self.ledger = ledger
        self.reader = LedgerReader(pool: pool)
        self.listener = listener
        self.logger = logger
        self.pageSize = pageSize
    }

    /// Follows until cancelled, or until the ledger does not fit.
    package func run() async {
        for await event in self.listener.events() {
            switch event {
            case .disconnected(let error):
                self.logger.warning("the listening connection is lost", metadata: ["error": "\(error)"])
                continue
            case .notification(let channel, _) where channel != Self.channel: continue
            default: break
            }
            guard self.ledger.fault == nil else { return }
            do {
                try await self.catchUp()
            } catch let fault as LedgerFault {
                self.ledger.halt(fault)
                self.logger.critical(
                    "the ledger does not fit: this node stops following it", metadata: ["fault": "\(fault)"])
                return
            } catch is CancellationError {
                return
            } catch {
                self.logger.warning("cannot read the ledger", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Reads until the ledger's present end.
    ///
    /// - Throws: ``LedgerFault`` where what is read does not fit, or the database's error.
    package func catchUp() async throws {
        let head = try await self.reader.head()
        let start = self.ledger.view.head
        if head.position < start.position {
            // The writer may have brought the view forward since the head was read.
            let now = try await self.reader.head()
            guard now.position >= start.position else {
                throw LedgerFault.shrunk(from: start.position, to: now.position)
            }
            return
        }
        while true {
            let base = self.ledger.view
            guard base.head.position < head.position else { break }
            let page = try await self.reader.entries(at: base.head.position..<head.position, limit: self.pageSize)
            var view = base
            for stored in page { _ = try view.apply(stored.entry, bytes: stored.bytes) }
            guard view.head.position > base.head.position else {
                throw LedgerFault.position(expected: base.head.position, found: head.position)
            }
            if view.head.position == head.position, view.head.frontier != head.frontier {
                throw LedgerFault.fork(position: head.position)
            }
            self.ledger.advance(
                from: base.head.position, to: view, changing: Set(page.map(\.entry.stream)), isLocal: false)
            try Task.checkCancellation()
        }
        let now = self.ledger.view.head
        if now.position == head.position, now.frontier != head.frontier {
            throw LedgerFault.fork(position: head.position)
        }
    }
}
