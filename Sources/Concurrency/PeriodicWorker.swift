package import LogLines
package import Logging

/// Work that is done in rounds, one after another, until its task is cancelled.
///
/// The interval runs from the end of one round to the start of the next, so that a slow round delays the others and
/// never overlaps them. A cancelled worker starts no further round; the round under way sees the cancellation itself.
package struct PeriodicWorker: Sendable {
    /// When the first round starts.
    package enum First: Sendable {
        case atOnce, afterInterval
    }

    private let interval: Duration
    private let first: First
    private let jitter: Double
    private let clock: any Clock<Duration>
    private let isPaused: @Sendable () -> Bool

    /// - Parameters:
    ///   - interval: The time between two rounds.
    ///   - jitter: The share of the interval, at most 1, by which each pause is longer or shorter at random: nodes that
    ///     start together then do not all work at the same moment.
    ///   - clock: Measures the interval; tests give one that they control.
    ///   - isPaused: Whether the round that is due is left out.
    package init(
        every interval: Duration, first: First = .atOnce, jitter: Double = 0,
        clock: any Clock<Duration> = ContinuousClock(), isPaused: @escaping @Sendable () -> Bool = { false }
    ) {
        self.interval = interval
        self.first = first
        self.jitter = min(max(jitter, 0), 1)
        self.clock = clock
        self.isPaused = isPaused
    }

    /// Works until cancelled.
    package func run(_ round: () async -> Void) async {
        if self.first == .afterInterval { await self.pause() }
        while !Task.isCancelled {
            if !self.isPaused() { await round() }
            await self.pause()
        }
    }

    /// The same for work that may fail: the error is logged, and the next round tries again.
    ///
    /// - Parameter line: What the log says, with the error in `error`. What fails after a cancellation is not logged.
    package func run(logging line: LogLine, to logger: Logger, _ round: () async throws -> Void) async {
        await self.run {
            do { try await round() } catch {
                guard !Task.isCancelled else { return }
                logger.log(line, ["error": "\(error)"])
            }
        }
    }

    private func pause() async {
        let share = self.jitter > 0 ? 1 + Double.random(in: -self.jitter...self.jitter) : 1
        // Ends early when it is cancelled, which the loop sees.
        try? await self.clock.sleep(for: self.interval * share)
    }
}
