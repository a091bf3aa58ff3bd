import PinWire
import Pinning
import Postgres
import TransparencyLog

/// A stretch of `pinledger.event` with everything about it that can be judged without the rows before it.
///
/// Pages are made beside the fold, several at a time. Where one row of a page is not as it should be, or is written in a way
/// that the short cut does not read, the whole page is left to the check that goes row by row and names what is wrong.
struct AuditPage: Sendable {
    /// What the rows of a page say that are right by themselves.
    struct Sound: Sendable {
        /// Dense: each position is one more than that before it.
        fileprivate(set) var steps: [ReplayedEvent] = []
        /// The leaf hashes of ``steps``, recomputed and as recorded.
        fileprivate(set) var leaves: [LogHash] = []
        /// The tree over ``leaves`` alone, where they are a power of two.
        fileprivate(set) var subtree: MerkleFrontier?
        /// The MACs of batches that end in this page, by the place of their last event.
        fileprivate(set) var macs: [(place: Int, mac: [UInt8])] = []
        /// The idempotency keys, by place.
        fileprivate(set) var keys: [(place: Int, key: CommandKey)] = []
        /// The place of each stream's last event.
        fileprivate(set) var ends: [StreamID: Int] = [:]
    }

    /// The rows, of ``columns``.
    let rows: PostgresRows
    /// Nil where the rows have to be judged one by one.
    let sound: Sound?

    /// The columns that a page is made of.
    static let columns =
        "position, stream, stream_version, recorded_at, type, actor_kind, actor_id, entry, leaf_hash, mac"
    /// The places of two of them.
    static let (entryColumn, hashColumn) = (7, 8)

    /// Makes a page of rows of ``columns``.
    init(_ rows: PostgresRows) {
        self.rows = rows
        self.sound = rows.withCells { Sound($0) }
    }
}

extension AuditPage.Sound {
    /// Nil where any row has to be judged by itself.
    fileprivate init?(_ cells: PostgresCells) {
        self.steps.reserveCapacity(cells.count)
        self.leaves.reserveCapacity(cells.count)
        var names = RecentNames()
        for row in 0..<cells.count {
            guard self.take(row, of: cells, &names) else { return nil }
        }
        // Mostly the next event is of the same stream.
        for place in self.steps.indices.reversed()
        where place + 1 == self.steps.count || self.steps[place].stream != self.steps[place + 1].stream {
            if self.ends[self.steps[place].stream] == nil { self.ends[self.steps[place].stream] = place }
        }
        let count = self.leaves.count
        if count > 1, count & (count - 1) == 0 { self.subtree = MerkleFrontier(leaves: self.leaves) }
    }

    /// False where the row has to be judged by itself.
    private mutating func take(_ row: Int, of cells: PostgresCells, _ names: inout RecentNames) -> Bool {
        guard let position = cells.int64(row, 0), let entry = cells[row, AuditPage.entryColumn],
            let recorded = cells[row, AuditPage.hashColumn]
        else { return false }
        let hash = MerkleTree.leafHash(entry)
        guard hash == LogHash(bytes: recorded), let scanned = ScannedEntry(entry, &names) else { return false }
        let step = scanned.step
        guard step.position == position, position == self.steps.last.map({ $0.position + 1 }) ?? position,
            step.streamVersion == cells.int64(row, 2),
            step.time.microseconds == cells.timestamp(row, 3),
            scanned.stream.hasBytes(of: cells[row, 1]), scanned.type.hasBytes(of: cells[row, 4]),
            scanned.actorKind.hasBytes(of: cells[row, 5]), scanned.actorID.hasBytes(of: cells[row, 6])
        else { return false }
        if let key = scanned.idempotencyKey {
            let actor = [scanned.actorKind, scanned.actorID].map { String(decoding: $0, as: UTF8.self) }
            self.keys.append(
                (
                    self.steps.count,
                    CommandKey(
                        actor: actor.joined(separator: ":"), key: String(decoding: key, as: UTF8.self))
                ))
        }
        if let mac = cells[row, 9] { self.macs.append((self.steps.count, Array(mac))) }
        self.steps.append(step)
        self.leaves.append(hash)
        return true
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func hasBytes(of other: UnsafeBufferPointer<UInt8>?) -> Bool {
        guard let other, self.count == other.count else { return false }
        for place in 0..<self.count where self[place] != other[place] { return false }
        return true
    }
}
