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

    private struct State {
        var free = EventPages.reads
        var nextID = 0
        /// Those who wait, first come first served. The answer is whether they have a place now.
        var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        /// What was read last of the ledger's end, without gaps.
        var newest: [LedgerReader.Stored] = []
    }

    private let reader: LedgerReader
    private let state = Mutex(State())

    init(reader: LedgerReader) {
        self.reader = reader
    }

    /// Entries at `positions`, without gaps from the first on; at least one where there is one, and not always all.
    func entries(at positions: Range<Int64>) async throws -> ArraySlice<LedgerReader.Stored> {
        if let kept = self.kept(at: positions) { return kept }
        try await self.take()
        defer { self.giveBack() }
        // The reader before this one in the line may have read it.
        if let kept = self.kept(at: positions) { return kept }
        let page = try await self.reader.entries(at: positions, limit: Self.limit)
        self.keep(page)
        return page[...]
    }

    private func kept(at positions: Range<Int64>) -> ArraySlice<LedgerReader.Stored>? {
        let newest = self.state.withLock { $0.newest }
        guard let first = newest.first?.entry.position, let last = newest.last?.entry.position,
            first <= positions.lowerBound, positions.lowerBound <= last
        else { return nil }
        return newest[Int(positions.lowerBound - first)..<Int(min(positions.upperBound, last + 1) - first)]
    }

    private func keep(_ page: [LedgerReader.Stored]) {
        guard let first = page.first?.entry.position, let last = page.last?.entry.position,
            last - first == Int64(page.count - 1), page.reduce(0, { $0 + $1.bytes.count }) <= Self.keptBytes
        else { return }
        self.state.withLock { state in
            // A stream that is far behind takes nothing away from those at the end.
            if last >= state.newest.last?.entry.position ?? 0 { state.newest = page }
        }
    }

    // MARK: Places

    private func take() async throws(CancellationError) {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isTaken = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = self.state.withLock { state in
                    // Asked within the lock: a cancellation after this finds the continuation.
                    guard !Task.isCancelled else { return false }
                    guard state.free == 0 else {
                        state.free -= 1
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = self.state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            continuation?.resume(returning: false)
        }
        guard isTaken else { throw CancellationError() }
    }

    private func giveBack() {
        let next: CheckedContinuation<Bool, Never>? = self.state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
