package import PinWire

/// Decides when a host is probed next: a rule without a clock.
///
/// Jitter keeps many hosts, and many nodes, from probing at the same moment; the back-off keeps a host that is gone
/// from being probed forever as often as one that answers.
package struct ProbeSchedule: Hashable, Sendable {
    /// The part of a host's past probes that counts.
    package struct History: Hashable, Sendable {
        /// When the last one began; nil before the first.
        package var last: Timestamp?
        /// How many in a row, up to the last, found no chain at any address.
        package var failures: Int

        package init(last: Timestamp? = nil, failures: Int = 0) {
            self.last = last
            self.failures = failures
        }

        /// The history with one more probe. A probe that is not about the host (``ProbeReport/isEvidence``) counts as
        /// made, but neither for the host nor against it.
        package func adding(_ report: ProbeReport, at time: Timestamp) -> History {
            let failures = !report.chains.isEmpty ? 0 : report.isEvidence ? self.failures + 1 : self.failures
            return History(last: time, failures: failures)
        }
    }

    /// Seconds between probes of a host that answers.
    package var interval: Int64
    /// Seconds between probes while a rotation watches the host, whether or not it answers; ``interval`` where that is
    /// shorter.
    package var watchedInterval: Int64
    /// The most seconds between probes of a host that does not answer.
    package var longestInterval: Int64
    /// How far an interval may differ from its nominal length, as a fraction of it.
    package var jitter: Double

    package init(
        interval: Int64 = 15 * 60, watchedInterval: Int64 = 60, longestInterval: Int64 = 6 * 3600, jitter: Double = 0.2
    ) {
        self.interval = interval
        self.watchedInterval = watchedInterval
        self.longestInterval = longestInterval
        self.jitter = jitter
    }

    /// The moment of the next probe; in the past if the host is overdue.
    ///
    /// A host that was never probed comes at a random time within one interval, so that an import of a thousand hosts
    /// does not mean a thousand probes at once; one that is watched comes at once.
    ///
    /// - Parameter random: At least 0 and below 1, uniformly distributed.
    package func next(after history: History, isWatched: Bool, now: Timestamp, random: Double) -> Timestamp {
        let random = min(max(random, 0), 1)
        guard let last = history.last else {
            return isWatched ? now : Self.later(now, Double(self.interval) * random)
        }
        let nominal = self.nominalInterval(failures: history.failures, isWatched: isWatched)
        let factor = 1 - self.jitter + 2 * self.jitter * random
        return Self.later(last, nominal * factor)
    }

    /// Doubles with each failure, up to the longest. The jitter is added to it.
    private func nominalInterval(failures: Int, isWatched: Bool) -> Double {
        // A rotation makes probes more frequent, never less.
        guard !isWatched else { return Double(min(self.watchedInterval, self.interval)) }
        // 2^40 seconds are beyond every limit.
        let doubled = Double(self.interval) * Double(1 << min(max(failures, 0), 40))
        return min(doubled, Double(max(self.longestInterval, self.interval)))
    }

    private static func later(_ time: Timestamp, _ seconds: Double) -> Timestamp {
        Timestamp(microseconds: time.microseconds + Int64(seconds * 1_000_000))
    }
}
