import Synchronization

/// Whether the collector takes spans, to tell of each change once.
final class Health: Sendable {
    private let isGood = Mutex(true)

    /// Notes a failure; whether it is the first of a row.
    func isLost() -> Bool {
        self.isGood.withLock { isGood in
            defer { isGood = false }
            return isGood
        }
    }

    /// Notes a success; whether it is the first after a failure.
    func isRestored() -> Bool {
        self.isGood.withLock { isGood in
            defer { isGood = true }
            return !isGood
        }
    }
}
