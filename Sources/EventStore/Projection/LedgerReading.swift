import Pinning

/// The state of a node that reads the ledger for the first time since it started.
struct LedgerReading: Sendable {
    /// The number of events read.
    var position: Int64
    /// The number of events in the database; 0 where it is still to be asked.
    var end: Int64 = 0
    /// The public keys of documents that the node remembers, 32 bytes each, by key id.
    var keys: [String: [UInt8]] = [:]

    var fault: LedgerFault { .unread(position: self.position, of: self.end) }
}

extension Ledger {
    /// Says that the view is not to be taken for the ledger until ``endReading()``: events follow that are still to be read.
    package func beginReading() {
        self.withReading { reading, view in reading = LedgerReading(position: view.head.position) }
    }

    /// Says that the node has read the ledger, or stopped doing so.
    package func endReading() { self.withReading { reading, _ in reading = nil } }

    /// Why the view must not be taken for the ledger yet; nil once the node has read all of it, or stopped doing so.
    package var unread: LedgerFault? { self.reading?.fault }

    /// Whether ``unread`` is not nil.
    package var isReading: Bool { self.reading != nil }

    /// Names the public keys with which documents are verified while the ledger is read, besides those of the view: 32 bytes
    /// each, by key id.
    package func trustWhileReading(_ keys: [String: [UInt8]]) {
        self.withReading { reading, _ in reading?.keys = keys }
    }

    /// The public key, 32 bytes, of a document that is verified while the ledger is read; nil where the node knows none that was
    /// in the key set.
    package func keyWhileReading(_ kid: String) -> [UInt8]? {
        if let key = self.view.state.keys.keys[kid] { return key.isInKeySet ? key.publicKey : nil }
        return self.reading?.keys[kid]
    }

    /// Notes how far the ledger is read, and where it ends.
    func noteRead(_ position: Int64, of end: Int64) {
        self.withReading { reading, _ in
            reading?.position = position
            reading?.end = end
        }
    }
}
