package import Synchronization

/// A bounded cache whose values are made by one caller at a time: of all who ask for the same, one makes it and the others
/// wait. What is kept for a while runs out for all who ask at that moment, and made by each it would be made as often as
/// there are connections.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let kept: Mutex<BoundedCache<Key, Value>>
    /// The callers that wait for a value in the making. No more than there are requests being answered.
    private let waiting = Mutex<[Key: [CheckedContinuation<Value?, Never>]]>([:])

    /// How often a caller waits for another that makes the same, when that one's value is out of date by then.
    private static var turns: Int { 10 }

    /// - Parameters:
    ///   - entries: Values that are kept.
    ///   - bytes: What they may take together.
    package init(entries: Int = .max, bytes: Int = .max) {
        self.kept = Mutex(BoundedCache(entries: entries, bytes: bytes))
    }

    /// The kept value.
    @inlinable
    package subscript(key: Key) -> Value? { self.kept.withLock { $0[key] } }

    /// Changes a value that is kept.
    package func update(_ key: Key, _ change: (inout Value) -> Void) { self.kept.withLock { $0.update(key, change) } }

    /// The kept value where it is current, or else the one that this caller or another makes.
    ///
    /// Another caller makes its value of what it knew when its turn came, which may be older than this call. A caller that
    /// is cancelled, or that fails, has nothing for the others: the next of them makes it.
    ///
    /// - Parameters:
    ///   - isCurrent: Whether a value is current that was kept, or that another caller has made; `isKept` tells which.
    ///   - make: Makes a value, and says with which size it is to be kept; nil for a value that is not.
    package func value<Failure: Error>(
        for key: Key, isCurrent: (_ value: Value, _ isKept: Bool) -> Bool,
        make: () async throws(Failure) -> (value: Value, size: Int?)
    ) async throws(Failure) -> Value {
        for _ in 0..<Self.turns {
            if let known = self[key], isCurrent(known, true) { return known }
            if self.begin(key) {
                var made: Value?
                // A cancelled caller's value may be cut short.
                defer { self.end(key, Task.isCancelled ? nil : made) }
                let value = try await self.make(key, make)
                made = value
                return value
            }
            if let made = await self.wait(for: key), isCurrent(made, false) { return made }
        }
        return try await self.make(key, make)
    }

    private func make<Failure: Error>(
        _ key: Key, _ make: () async throws(Failure) -> (value: Value, size: Int?)
    ) async throws(Failure) -> Value {
        let (value, size) = try await make()
        if let size, !Task.isCancelled { self.kept.withLock { $0.keep(value, for: key, size: size) } }
        return value
    }

    /// Whether the caller is the first, who is to call ``end(_:_:)``.
    private func begin(_ key: Key) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[key] == nil else { return false }
            waiting[key] = []
            return true
        }
    }

    /// Tells all who wait.
    private func end(_ key: Key, _ made: Value?) {
        for one in self.waiting.withLock({ $0.removeValue(forKey: key) }) ?? [] { one.resume(returning: made) }
    }

    /// What the first has made; nil where it has nothing for others, or was done in between.
    private func wait(for key: Key) async -> Value? {
        await withCheckedContinuation { continuation in
            let isWaiting = self.waiting.withLock { waiting in
                waiting[key]?.append(continuation)
                return waiting[key] != nil
            }
            if !isWaiting { continuation.resume(returning: nil) }
        }
    }

    /// How many wait for what is being made.
    func waiterCount(_ key: Key) -> Int { self.waiting.withLock { $0[key]?.count ?? 0 } }
}
