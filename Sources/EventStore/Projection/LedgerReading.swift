package import Logging
import Pinning
package import Postgres

/// The public keys of documents that a node remembers, 32 bytes each, by key id.
struct RememberedKeys: Sendable {
    var keys: [String: [UInt8]] = [:]
    /// The number of events after which they were the key set.
    var position: Int64 = 0
}

/// The state of a node that reads the ledger for the first time since it started.
struct LedgerReading: Sendable {
    /// The number of events that the node has: read, or of a snapshot.
    var position: Int64
    /// The number of events in the database; 0 where it is still to be asked.
    var end: Int64 = 0
    /// Whether the node waits for a standby that has the rest.
    var isUnconfirmed = false

    var fault: LedgerFault {
        self.isUnconfirmed
            ? .unconfirmed(position: self.position, of: self.end) : .unread(position: self.position, of: self.end)
    }
}

extension Ledger {
    /// Says that the view is not to be taken for the ledger until ``endReading()``: events follow that are still to be read.
    package func beginReading() {
        self.withReading { reading, _, view in reading = LedgerReading(position: view.head.position) }
    }

    /// Takes in the fold of a snapshot, from which the node reads on.
    package func begin(with start: SnapshotStore.Start) {
        self.advance(from: Head(), to: start.view, changing: [], isLocal: false)
    }

    /// Notes that the database went away while the node reads.
    package func noteLoss(_ error: PostgresError, _ logger: Logger) {
        self.database.lose(.reading, error, logger)
        self.withReading { reading, _, _ in reading?.isUnconfirmed = false }
    }

    /// Says that the node has read the ledger, or stopped doing so.
    package func endReading() { self.withReading { reading, _, _ in reading = nil } }

    /// Why the view must not be taken for the ledger yet; nil once the node has read all of it, or stopped doing so.
    package var unread: LedgerFault? { self.reading?.fault }

    /// Whether ``unread`` is not nil.
    package var isReading: Bool { self.reading != nil }

    /// Names the public keys that were the key set after so many events, 32 bytes each, by key id: documents are verified with them
    /// while the ledger is read, and where it cannot be read so far.
    package func remember(keys: [String: [UInt8]], at position: Int64) {
        self.withReading { reading, remembered, _ in
            remembered = RememberedKeys(keys: keys, position: position)
        }
    }

    /// The public key, 32 bytes, of a document that is verified while the ledger is read; nil where it is not in the newest key
    /// set that the node knows. A key that was retired since an old snapshot is not.
    package func keyWhileReading(_ kid: String) -> [UInt8]? {
        let view = self.view
        if let keys = self.keysAhead { return keys[kid] }
        guard let key = view.state.keys.keys[kid], key.isInKeySet else { return nil }
        return key.publicKey
    }

    /// The remembered keys, where they are of a later state than the view; nil where the view has come as far.
    package var keysAhead: [String: [UInt8]]? {
        let remembered = self.rememberedKeys
        return !remembered.keys.isEmpty && remembered.position > self.position ? remembered.keys : nil
    }

    /// Notes how far the ledger is read, and where it ends.
    func noteRead(_ position: Int64, of end: Int64) {
        self.withReading { reading, _, _ in
            reading?.position = position
            reading?.end = end
            reading?.isUnconfirmed = false
        }
    }

    /// Notes that no standby is known to have the ledger's events before `end`, so that they are not read yet.
    func noteUnconfirmed(before end: Int64) {
        self.withReading { reading, _, view in
            reading?.position = view.head.position
            reading?.end = end
            reading?.isUnconfirmed = true
        }
    }
}
