import PinWire
import Pinning
import TransparencyLog

/// The entries of one bundle of a log beside the tile of their hashes, with everything that can be judged without the
/// entries before them.
///
/// Pages are made beside the fold, several at a time.
struct LogPage: Sendable {
    /// The position of the first entry.
    let first: Int64
    /// How many entries the bundle has to have: 1 to 256.
    let width: Int
    /// The entries; nil where there is no bundle of so many.
    let entries: [ArraySlice<UInt8>]?
    /// The leaf hashes of ``entries``.
    let leaves: [LogHash]
    /// The hashes of the tile; nil where there is none of that width.
    let recorded: [LogHash]?
    /// The events, where each of them is canonical, says its own position and can be read in place.
    let sound: Sound?

    /// Whether the log has nothing of it.
    var isMissing: Bool { self.entries == nil && self.recorded == nil }

    struct Sound: Sendable {
        var steps: [ReplayedEvent] = []
        /// The place of each stream's last event.
        var ends: [StreamID: Int] = [:]
    }

    /// Reads what a log has for one index.
    ///
    /// - Parameters:
    ///   - bundle: The entry bundle; nil where the log has none.
    ///   - tile: The tile of level 0; nil where the log has none.
    init(first: Int64, width: Int, bundle: [UInt8]?, tile: [UInt8]?) {
        self.first = first
        self.width = width
        let entries = bundle.flatMap { try? EntryBundle.slices(of: $0) }
        self.entries = entries?.count == width ? entries : nil
        self.leaves = (self.entries ?? []).map { MerkleTree.leafHash($0) }
        let size = LogHash.byteCount
        self.recorded = tile.flatMap { tile in
            guard tile.count == width * size else { return nil }
            return (0..<width).compactMap { LogHash(tile[$0 * size..<($0 + 1) * size]) }
        }
        self.sound = self.entries.flatMap { Self.scan($0, from: first) }
    }

    private static func scan(_ entries: [ArraySlice<UInt8>], from first: Int64) -> Sound? {
        var names = RecentNames()
        var sound = Sound()
        sound.steps.reserveCapacity(entries.count)
        for (place, entry) in entries.enumerated() {
            let step = entry.withUnsafeBufferPointer { ScannedEntry($0, &names)?.step }
            guard let step, step.position == first + Int64(place) else { return nil }
            sound.ends[step.stream] = place
            sound.steps.append(step)
        }
        return sound
    }
}
