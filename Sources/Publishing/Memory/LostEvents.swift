import Pinning
import TransparencyLog

/// Events of lost histories by their positions, each with the number of the epoch in which it was recorded; several at one position
/// where histories differ.
struct LostEvents {
    /// An event with the number of its epoch.
    struct Numbered {
        var epoch: Int64
        var entry: Entry
    }

    private var epochs: [Int64: [[UInt8]: Int64]] = [:]

    var positions: some Sequence<Int64> { self.epochs.keys }

    var count: Int64 { self.epochs.values.reduce(0) { $0 + Int64($1.count) } }

    /// The events that this program can read, by epoch and position.
    var entries: [Numbered] {
        self.epochs.values.joined().compactMap { (bytes, epoch) in
            (try? Entry(bytes: bytes)).map { (bytes: bytes, numbered: Numbered(epoch: epoch, entry: $0)) }
        }.sorted { first, second in
            let (one, other) = (first.numbered, second.numbered)
            guard (one.epoch, one.entry.position) == (other.epoch, other.entry.position) else {
                return (one.epoch, one.entry.position) < (other.epoch, other.entry.position)
            }
            return first.bytes.lexicographicallyPrecedes(second.bytes)
        }.map(\.numbered)
    }

    /// Takes in an event. One that histories of several epochs have is of the first of them.
    mutating func take(_ bytes: [UInt8], at position: Int64, in epoch: Int64) {
        let known = self.epochs[position]?[bytes] ?? epoch
        self.epochs[position, default: [:]][bytes] = min(known, epoch)
    }

    /// Takes in the events of a journal from a position on.
    ///
    /// - Parameter history: The one that the journal is of.
    mutating func take(_ journal: EventJournal, of history: KnownHistory, from parting: Int64) {
        let start = Int64(journal.start.size)
        let fleet = Self.epochs(in: journal)
        for (index, bytes) in journal.entries.enumerated() where start + Int64(index) >= parting {
            let position = start + Int64(index)
            // Before the first recovery that the journal has, nothing tells more.
            let epoch =
                fleet.epochs.isEmpty
                ? history.epoch ?? 0 : max(fleet.epoch(at: position), fleet.epochs[0].number - 1)
            self.take(bytes, at: position, in: epoch)
        }
    }

    /// The epochs that a journal's events have begun.
    private static func epochs(in journal: EventJournal) -> Fleet {
        var fleet = Fleet()
        for bytes in journal.entries {
            guard let entry = try? Entry(bytes: bytes), case .fleet(.historyRestored(let restoration)) = entry.event
            else { continue }
            fleet.evolve(.historyRestored(restoration), at: entry.effectiveAt)
        }
        return fleet
    }
}
