package import Logging
import Pinning
package import Postgres

/// The state of a node that reads the ledger for the first time since it started.
struct LedgerReading: Sendable {
    /// The number of events that the node has: read, or of a snapshot.
    var position: Int64
    /// The number of events in the database; 0 where it is still to be asked.
    var end: Int64 = 0
    /// The public keys of documents that the node remembers, 32 bytes each, by key id.
    var keys: [String: [UInt8]] = [:]
    /// The number of events after which they were in the key set.
    var keysPosition: Int64 = 0

    var fault: LedgerFault { .unread(position: self.position, of: self.end) }
}

extension Ledger {
    /// Says that the view is not to be taken for the ledger until ``endReading()``: events follow that are still to be read.
    package func beginReading() {
        self.withReading { reading, view in reading = LedgerReading(position: view.head.position) }
    }

    /// Takes in the fold of a snapshot, from which the node reads on.
    package func begin(with start: SnapshotStore.Start) {
        self.advance(from: Head(), to: start.view, changing: [], isLocal: false)
    }

    /// Notes that the database went away while the node reads.
    package func noteLoss(_ error: PostgresError, _ logger: Logger) {
        self.database.lose(.reading, error, logger)
    }

    /// Says that the node has read the ledger, or stopped doing so.
    package func endReading() { self.withReading { reading, _ in reading = nil } }

    /// Why the view must not be taken for the ledger yet; nil once the node has read all of it, or stopped doing so.
    package var unread: LedgerFault? { self.reading?.fault }

    /// Whether ``unread`` is not nil.
    package var isReading: Bool { self.reading != nil }

    /// Names the public keys with which documents are verified while the ledger is read: those that were in the key set after so
    /// many events, 32 bytes each, by key id.
    package func trustWhileReading(_ keys: [String: [UInt8]], at position: Int64) {
        self.withReading { reading, _ in
            reading?.keys = keys
            reading?.keysPosition = position
        }
    }

    /// The public key, 32 bytes, of a document that is verified while the ledger is read; nil where it is not in the newest key
    /// set that the node knows. A key that was retired since an old snapshot is not.
    package func keyWhileReading(_ kid: String) -> [UInt8]? {
        let (reading, view) = (self.reading, self.view)
        if let reading, !reading.keys.isEmpty, reading.keysPosition >= view.head.position { return reading.keys[kid] }
        guard let key = view.state.keys.keys[kid], key.isInKeySet else { return nil }
        return key.publicKey
    }

    /// Notes how far the ledger is read, and where it ends.
    func noteRead(_ position: Int64, of end: Int64) {
        self.withReading { reading, _ in
            reading?.position = position
            reading?.end = end
        }
    }
}
