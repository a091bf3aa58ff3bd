internal import PinWire
internal import Synchronization

// Fetches that a connection asks for.

extension PinledgerClient {
    /// Fetches where that is due before a connection to a host: there is no document yet, the held one is stale and covers the host, or
    /// pins have refused a connection since the last fetch.
    ///
    /// Such a fetch begins at most every 10 seconds, and less and less often while fetches fail that took long, down to one a minute. It is waited for at
    /// most for `limit`, or until the task is cancelled: after that the connection goes on by the present policy, and the fetch beside it.
    /// Connections that come later than that do not wait for it.
    ///
    /// - Parameter limit: Nil for ``ClientConfiguration/connectionWait``.
    public func prepare(for host: String, atMost limit: Duration? = nil) async {
        guard self.isFetchDue(for: host) else { return }
        let limit = limit ?? self.connectionWait
        // Ends by itself within the services' times, and goes on where the connection does not wait for it any longer.
        let task = Task { await self.fetchIfDue(for: host, limit) }
        _ = try? await task.result(atMost: limit)
    }

    private func isFetchDue(for host: String) -> Bool {
        let (policy, hasRefused) = self.current.withLock { ($0.policy, $0.hasRefused) }
        guard let document = policy.document, !hasRefused else { return true }
        let now = self.now
        return document.isStale(at: now) && policy.decide(host, at: now)?.reason != .hostUnknown
    }

    private func fetchIfDue(for host: String, _ limit: Duration) async {
        await self.ready()
        guard self.isFetchDue(for: host) else { return }
        if let flight {
            // One that has kept connections waiting for long enough keeps no further ones.
            guard flight.began.duration(to: .now) < limit else { return }
            _ = try? await flight.task.result()
        } else if self.mayFetchAgain() {
            _ = try? await self.refresh()
        }
    }

    /// The shortest time between fetches that connections or streams ask for, and the longest, after several failures.
    private static let (shortestGap, longestGap) = (Duration.seconds(10), Duration.seconds(60))

    /// Whether the last fetch that a connection or a stream asked for was long enough ago; if so, the next one begins now.
    func mayFetchAgain() -> Bool {
        let gap = min(Self.longestGap, Self.shortestGap * (1 << min(self.slowFailures, 4)))
        guard self.lastTry.map({ $0.duration(to: .now) >= gap }) ?? true else { return false }
        self.lastTry = .now
        return true
    }

    /// Notes that a connection was refused by the document: the next ``prepare(for:atMost:)`` fetches. ``PinnedSessionDelegate`` and `PinnedTLS`
    /// call it.
    public nonisolated func noteRefusal() { self.current.withLock { $0.hasRefused = true } }
}
