import Concurrency
import EventStore
import Pinning
import Synchronization

/// Pages of the ledger for all event streams of a node.
///
/// However many streams are woken by one event, two read at a time, and those that are at the end of the ledger share
/// what the first of them has read: the database's connections stay free for everything else. As many wait as there are
/// streams.
final class EventPages: Sendable {
    /// Reads of the database at once.
    private static let reads = 2
    /// Entries of one page.
    private static let limit = 500
    /// Bytes of the page that is kept for the others; a larger one each reads itself.
    private static let keptBytes = 1_048_576

    private let reader: LedgerReader
    private let limiter: ConcurrencyLimiter<Never>
    /// What was read last of the ledger's end, without gaps.
    private let newest = Mutex<[LedgerReader.Stored]>([])

    /// - Parameter streams: How many there are at most, each of which asks for one page at a time.
    init(reader: LedgerReader, streams: Int) {
        self.reader = reader
        self.limiter = ConcurrencyLimiter(limit: Self.reads, waiting: streams)
    }

    /// Entries at `positions`, without gaps from the first on; at least one where there is one, and not always all.
    func entries(at positions: Range<Int64>) async throws -> ArraySlice<LedgerReader.Stored> {
        if let kept = self.kept(at: positions) { return kept }
        // All streams have room in the line: no place means that the stream has ended.
        guard let places = try? await self.limiter.wait(within: nil) else { throw CancellationError() }
        defer { for place in places { place.release() } }
        // The reader before this one in the line may have read it.
        if let kept = self.kept(at: positions) { return kept }
        let page = try await self.reader.entries(at: positions, limit: Self.limit)
        self.keep(page)
        return page[...]
    }

    private func kept(at positions: Range<Int64>) -> ArraySlice<LedgerReader.Stored>? {
        let newest = self.newest.withLock { $0 }
        guard let first = newest.first?.entry.position, let last = newest.last?.entry.position,
            first <= positions.lowerBound, positions.lowerBound <= last
        else { return nil }
        return newest[Int(positions.lowerBound - first)..<Int(min(positions.upperBound, last + 1) - first)]
    }

    private func keep(_ page: [LedgerReader.Stored]) {
        guard let first = page.first?.entry.position, let last = page.last?.entry.position,
            last - first == Int64(page.count - 1), page.reduce(0, { $0 + $1.bytes.count }) <= Self.keptBytes
        else { return }
        self.newest.withLock { newest in
            // A stream that is far behind takes nothing away from those at the end.
            if last >= newest.last?.entry.position ?? 0 { newest = page }
        }
    }
}
