import Synchronization

/// The first of several possible answers to one question; later ones are dropped.
final class FirstAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Answer, Never>)
        case given(Answer)
        case taken
    }

    private let state = Mutex(State.open)

    func give(_ answer: Answer) {
        let continuation: CheckedContinuation<Answer, Never>? = self.state.withLock { state in
            switch state {
            case .open:
                state = .given(answer)
                return nil
            case .awaited(let continuation):
                state = .taken
                return continuation
            case .given, .taken:
                return nil
            }
        }
        continuation?.resume(returning: answer)
    }

    /// Waits for it. MUST be called once.
    func take() async -> Answer {
        await withCheckedContinuation { continuation in
            let answer: Answer? = self.state.withLock { state in
                guard case .given(let answer) = state else {
                    state = .awaited(continuation)
                    return nil
                }
                state = .taken
                return answer
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
