import Synchronization

/// Of all who want the same thing at the same time, one makes it and the others wait: what is kept for a while runs out
/// for all who ask at that moment, and made by each it would be made as often as there are connections.
final class CompatMakers: Sendable {
    /// Who waits for what is being made, by its name. No more than there are requests being answered.
    private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Whether the caller is to make it, and to call ``done(_:)`` whatever comes of it. If somebody else was first, it
    /// returns when he is done.
    func isFirst(_ name: String) async -> Bool {
        if self.begin(name) { return true }
        await withCheckedContinuation { continuation in
            let isWaiting = self.waiting.withLock { waiting in
                waiting[name]?.append(continuation)
                return waiting[name] != nil
            }
            // It was done in between.
            if !isWaiting { continuation.resume() }
        }
        return false
    }

    private func begin(_ name: String) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[name] == nil else { return false }
            waiting[name] = []
            return true
        }
    }

    func done(_ name: String) {
        for one in self.waiting.withLock({ $0.removeValue(forKey: name) }) ?? [] { one.resume() }
    }
}
