internal import Synchronization

/// The first of several values, for one who waits for it. The others are dropped.
final class First<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Value, Never>)
        case settled(Value)
    }

    private let state = Mutex(State.open)

    /// The first value. To be called once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let settled = self.state.withLock { state -> Value? in
                if case .settled(let value) = state { return value }
                state = .waiting(continuation)
                return nil
            }
            if let settled { continuation.resume(returning: settled) }
        }
    }

    func settle(_ value: Value) {
        let waiting = self.state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .settled: return nil
            case .open:
                state = .settled(value)
                return nil
            case .waiting(let continuation):
                state = .settled(value)
                return continuation
            }
        }
        waiting?.resume(returning: value)
    }
}

/// Something took longer than it may.
struct TimedOut: Error, Hashable, CustomStringConvertible {
    let limit: Duration

    var description: String { "it took longer than \(self.limit)" }
}

extension Task {
    /// The task's result, waited for until it is there, the time is over, or the waiting task is cancelled. The task itself goes on.
    ///
    /// - Throws: The task's error, ``TimedOut``, or `CancellationError`.
    func result(atMost limit: Duration? = nil) async throws -> Success {
        let first = First<Result<Success, any Error>>()
        let cancelled: any Error = _Concurrency.CancellationError()
        // Both end by themselves: with the task, and with the pause.
        let watcher = Task<Void, Never> { first.settle(await self.result.mapError { $0 as any Error }) }
        let pause = limit.map { limit in
            Task<Void, Never> {
                try? await Task<Never, Never>.sleep(for: limit)
                first.settle(.failure(TimedOut(limit: limit)))
            }
        }
        defer {
            watcher.cancel()
            pause?.cancel()
        }
        return try await withTaskCancellationHandler {
            try await first.value().get()
        } onCancel: {
            first.settle(.failure(cancelled))
        }
    }
}

/// Work that is waited for at most for some time, and no longer than until the waiting task is cancelled. Then it is cancelled too, and ends when
/// it ends: what another one implements may not heed that.
func within<R: Sendable>(_ limit: Duration?, _ work: @escaping @Sendable () async throws -> R) async throws -> R {
    let task = Task { try await work() }
    defer { task.cancel() }
    return try await task.result(atMost: limit)
}
