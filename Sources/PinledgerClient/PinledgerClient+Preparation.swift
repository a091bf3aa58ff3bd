internal import PinWire
internal import Synchronization

extension PinledgerClient {
    /// Fetches where that is due before a connection to a host: there is no document yet, the held one is stale and covers the host, or
    /// pins have refused a connection since the last fetch.
    ///
    /// A fetch begins at most every 10 seconds, and is waited for at most for `limit`, or until the task is cancelled: after that the
    /// connection goes on by the present policy, and the fetch beside it.
    public func prepare(for host: String, atMost limit: Duration = .seconds(3)) async {
        guard self.isFetchDue(for: host) else { return }
        let first = First()
        // All end by themselves: the fetch within its services' times, and the pause.
        Task {
            await self.fetchIfDue(for: host)
            first.resume()
        }
        let pause = Task {
            try? await Task.sleep(for: limit)
            first.resume()
        }
        await withTaskCancellationHandler {
            await first.wait()
        } onCancel: {
            first.resume()
        }
        pause.cancel()
    }

    private func isFetchDue(for host: String) -> Bool {
        let (policy, hasRefused) = self.current.withLock { ($0.policy, $0.hasRefused) }
        guard let document = policy.document, !hasRefused else { return true }
        let now = self.now
        return document.isStale(at: now) && policy.decide(host, at: now)?.reason != .hostUnknown
    }

    private func fetchIfDue(for host: String) async {
        await self.load()
        guard self.isFetchDue(for: host) else { return }
        // One that is under way is every caller's.
        guard self.flight != nil || self.mayFetchAgain() else { return }
        _ = try? await self.refresh()
    }

    /// Whether the last fetch that a connection or a stream asked for began 10 seconds ago; if so, the next one begins now.
    func mayFetchAgain() -> Bool {
        guard self.prepared.map({ $0.duration(to: .now) >= .seconds(10) }) ?? true else { return false }
        self.prepared = .now
        return true
    }

    /// Notes that pins have refused a connection: the next ``prepare(for:atMost:)`` fetches. ``PinnedSessionDelegate`` and `PinnedTLS` call it.
    public nonisolated func noteRefusal() { self.current.withLock { $0.hasRefused = true } }
}

/// What one task waits for, and the first of several others ends.
private final class First: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Void, Never>)
        case over
    }

    private let state = Mutex(State.open)

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = self.state.withLock { state in
                if case .over = state { return true }
                state = .waiting(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    func resume() {
        let waiting = self.state.withLock { state in
            defer { state = .over }
            return state
        }
        if case .waiting(let continuation) = waiting { continuation.resume() }
    }
}
