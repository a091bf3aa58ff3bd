import Synchronization

/// Of all who want the same thing at the same time, one makes it and the others wait: what is kept for a while runs out
/// for all who ask at that moment, and made by each it would be made as often as there are connections.
final class SingleFlight<Made: Sendable>: Sendable {
    /// What somebody is to do who wants a thing.
    enum Turn: Sendable {
        /// Make it, and call ``done(_:_:)`` whatever comes of it.
        case first
        /// Nothing: somebody else was first, and this is what he told; nil where he had nothing to tell.
        case waited(Made?)
    }

    /// Who waits for what is being made, by its name. No more than there are requests being answered.
    private let waiting = Mutex<[String: [CheckedContinuation<Made?, Never>]]>([:])

    /// The caller's turn; where somebody else was first, when he is done. What he tells is made of what he knew when his
    /// own turn came, which may be older than the caller's question.
    func turn(_ name: String) async -> Turn {
        if self.begin(name) { return .first }
        return .waited(
            await withCheckedContinuation { continuation in
                let isWaiting = self.waiting.withLock { waiting in
                    waiting[name]?.append(continuation)
                    return waiting[name] != nil
                }
                // It was done in between.
                if !isWaiting { continuation.resume(returning: nil) }
            })
    }

    private func begin(_ name: String) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[name] == nil else { return false }
            waiting[name] = []
            return true
        }
    }

    /// How many wait for what is being made.
    func count(_ name: String) -> Int { self.waiting.withLock { $0[name]?.count ?? 0 } }

    /// Tells all who wait.
    func done(_ name: String, _ made: Made?) {
        for one in self.waiting.withLock({ $0.removeValue(forKey: name) }) ?? [] { one.resume(returning: made) }
    }
}
