import TransparencyLog

/// Checks the MACs of batches against the events as they are. A pure value.
///
/// Only the last MAC vouches for the whole ledger; the earlier ones show where authenticated events end. A MAC that is
/// missing in the middle cannot be told from a larger batch, and takes nothing away: the next one covers its events too.
struct MACCheck: Sendable {
    private(set) var findings: [LedgerFinding] = []
    private let key: BatchKey
    /// The number of events that right MACs cover.
    private var authenticated: Int64 = 0

    init(key: BatchKey) {
        self.key = key
    }

    /// Takes the MAC that is stored with the last event of a batch.
    mutating func take(_ mac: [UInt8], beside end: Head) {
        switch self.key.defect(of: mac, beside: end) {
        case nil: self.authenticated = end.position
        // Before the key-encryption key was changed, another one was right. It never is afterwards.
        case .otherKey? where self.authenticated == 0: break
        case let defect?: self.add(defect, at: end.position)
        }
    }

    /// Takes the ledger's end, which the events make.
    mutating func finish(_ end: StoredEnd) {
        guard end.head.position > 0, let defect = self.key.defect(of: end.mac, beside: end.head) else { return }
        self.add(defect, at: end.head.position)
    }

    private mutating func add(_ defect: BatchKey.Defect, at end: Int64) {
        let first = min(self.authenticated, end - 1)
        self.findings.append(
            LedgerFinding(
                .macWrong, at: first, through: end - 1, of: "event",
                "the ledger's first \(end) events are not authenticated: \(defect); the last right MAC covers \(self.authenticated)"
            ))
    }
}
