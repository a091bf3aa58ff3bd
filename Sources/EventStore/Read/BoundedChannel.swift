import Dispatch
import Synchronization

/// Hands values from a thread that may block to a task that may not, with a bounded number in between.
///
/// One sender, one receiver. The sender's thread waits where the receiver is slower, so that memory is bounded.
final class BoundedChannel<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiter: CheckedContinuation<Element?, Never>?
        var isFinished = false
        var isAbandoned = false
    }

    private let state = Mutex(State())
    private let room: DispatchSemaphore

    init(capacity: Int) {
        // A semaphore that is freed below the value it was created with ends the process, and where reading fails some
        // elements are never received. So it is created at 0 and raised.
        self.room = DispatchSemaphore(value: 0)
        for _ in 0..<capacity { self.room.signal() }
    }

    /// Blocks the thread until there is room: never call it on a cooperative thread.
    ///
    /// - Throws: `CancellationError` once the receiver is gone. The sender MUST NOT send again then.
    func send(_ element: Element) throws {
        self.room.wait()
        let (isAbandoned, waiter) = self.state.withLock { state in
            guard !state.isAbandoned else { return (true, nil as CheckedContinuation<Element?, Never>?) }
            let waiter = state.waiter
            state.waiter = nil
            if waiter == nil { state.elements.append(element) }
            return (false, waiter)
        }
        guard !isAbandoned else { throw CancellationError() }
        if let waiter {
            self.room.signal()
            waiter.resume(returning: element)
        }
    }

    /// Ends the values. The sender MUST call it, whatever happens to it.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// The next value; nil after the last one.
    func next() async -> Element? {
        await withCheckedContinuation { continuation in
            let now: Element?? = self.state.withLock { state in
                if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
                if state.isFinished { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            guard let now else { return }
            if case .some = now { self.room.signal() }
            continuation.resume(returning: now)
        }
    }

    /// Ends receiving: a sender that waits is released, and its values are dropped.
    func abandon() {
        self.state.withLock { state in
            state.isAbandoned = true
            state.elements = []
        }
        self.room.signal()
    }
}
