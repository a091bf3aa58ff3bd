import Synchronization

/// A clock that stands still until a test moves it.
final class SteppedClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Self { Self(offset: self.offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - self.offset }
        static func < (one: Self, other: Self) -> Bool { one.offset < other.offset }
    }

    private struct State {
        var now = Instant()
        var nextID = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Bool, Never>)] = [:]
    }

    private let state = Mutex(State())

    var now: Instant { self.state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = self.state.withLock { state in
                    // Asked within the lock: a cancellation after this finds the sleeper.
                    if Task.isCancelled { return false }
                    if deadline <= state.now { return true }
                    state.sleepers[id] = (deadline, continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
        guard isOver else { throw CancellationError() }
    }

    /// Waits until somebody sleeps, and says how long from now on.
    func sleeper() async -> Duration {
        while true {
            let first = self.state.withLock { state in
                state.sleepers.values.map { state.now.duration(to: $0.deadline) }.min()
            }
            if let first { return first }
            await Task.yield()
        }
    }

    /// Waits until somebody sleeps, then moves on and wakes those whose time has come.
    func advance(by duration: Duration) async {
        _ = await self.sleeper()
        let due = self.state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume(returning: true) }
    }
}
