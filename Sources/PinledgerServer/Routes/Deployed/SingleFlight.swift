import Synchronization

/// One of several simultaneous requests for the same answer makes it and the others wait: a cached answer expires for
/// all clients at one moment, and would otherwise be made as often as there are connections.
final class SingleFlight<Made: Sendable>: Sendable {
    /// A caller's task.
    enum Turn: Sendable {
        /// Make it, and call ``done(_:_:)`` whatever comes of it.
        case first
        /// Nothing: another caller was first, and this is its result; nil where it had none.
        case waited(Made?)
    }

    /// Who waits for what is being made, by its name. No more than there are requests being answered.
    private let waiting = Mutex<[String: [CheckedContinuation<Made?, Never>]]>([:])

    /// The caller's turn; where another caller was first, once it is done. Its result is made of the facts at the
    /// beginning of its own turn, which may be older than this request.
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
