import Synchronization

/// How long networks are to wait whose sign-ins fail: after some failures twice as long each time.
///
/// Only failures are delayed. It is kept for a network, never for an account, so that strangers lock nobody out.
final class SignInDelays: Sendable {
    private struct State {
        var failures: Int
        var last: ContinuousClock.Instant
        var until: ContinuousClock.Instant
    }

    /// Failures that are free, and the longest wait in seconds.
    private static let (free, longest) = (5, 60)
    /// How long failures are remembered.
    private static let memory = Duration.seconds(900)
    /// The most networks that are remembered.
    private static let limit = 10_000

    private let states: Mutex<[ClientNetwork: State]> = Mutex([:])

    init() {}

    /// Counts a failure; returns the seconds to wait for one that came before its time.
    func failure(of network: ClientNetwork, at now: ContinuousClock.Instant = .now) -> Int? {
        self.states.withLock { states in
            if states.count >= Self.limit {
                states = states.filter { now < $0.value.last + Self.memory }
                if states.count >= Self.limit { states = [:] }
            }
            var state = states[network] ?? State(failures: 0, last: now, until: now)
            if state.last + Self.memory < now { state = State(failures: 0, last: now, until: now) }
            defer { states[network] = state }
            if now < state.until {
                let (seconds, rest) = (state.until - now).components
                return Int(seconds) + (rest > 0 ? 1 : 0)
            }
            state.failures += 1
            state.last = now
            if state.failures > Self.free {
                let wait = min(Self.longest, 1 << min(10, state.failures - Self.free))
                state.until = now + .seconds(wait)
            }
            return nil
        }
    }

    /// Forgets a network's failures: one of it has signed in.
    func forgive(_ network: ClientNetwork) { self.states.withLock { _ = $0.removeValue(forKey: network) } }
}
