import NIOCore
import Synchronization

/// A bounded number of permits, and a bounded line of tasks that wait for some.
final class Permits: Sendable {
    enum Answer: Hashable {
        case granted
        /// Too many wait, or the wait was too long.
        case overloaded
        case cancelled
    }

    private struct State {
        var line: PermitLine
        var nextID: PermitLine.RequestID = 0
        var continuations: [PermitLine.RequestID: CheckedContinuation<Answer, Never>] = [:]
    }

    private let state: Mutex<State>
    /// Measures the waiting time.
    private let loop: any EventLoop

    init(_ maximumPermits: Int, maximumWaiting: Int, loop: any EventLoop) {
        self.state = Mutex(State(line: PermitLine(maximumPermits: maximumPermits, maximumWaiting: maximumWaiting)))
        self.loop = loop
    }

    /// Waits at most `patience` for `count` permits, which MUST be given back by ``release(_:)`` if they are granted.
    func acquire(_ count: Int, patience: Duration) async -> Answer {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            let timer = self.loop.scheduleTask(in: TimeAmount(patience)) { self.withdraw(id, .overloaded) }
            defer { timer.cancel() }
            return await withCheckedContinuation { continuation in
                let answer: Answer? = self.state.withLock { state in
                    // Asked within the lock: a cancellation after this finds the continuation.
                    guard !Task.isCancelled else { return .cancelled }
                    switch state.line.request(id, count: count) {
                    case .grant: return .granted
                    case .refuse: return .overloaded
                    case .wait:
                        state.continuations[id] = continuation
                        return nil
                    }
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.withdraw(id, .cancelled)
        }
    }

    func release(_ count: Int) {
        let granted = self.state.withLock { state in
            state.line.release(count).compactMap { state.continuations.removeValue(forKey: $0) }
        }
        for continuation in granted { continuation.resume(returning: .granted) }
    }

    private func withdraw(_ id: PermitLine.RequestID, _ answer: Answer) {
        let (withdrawn, granted) = self.state.withLock { state in
            let (wasWaiting, granted) = state.line.withdraw(id)
            return (
                wasWaiting ? state.continuations.removeValue(forKey: id) : nil,
                granted.compactMap { state.continuations.removeValue(forKey: $0) }
            )
        }
        withdrawn?.resume(returning: answer)
        for continuation in granted { continuation.resume(returning: .granted) }
    }
}
