import Concurrency
import LogLines
package import Logging
package import PinWire
package import Postgres
import Synchronization

/// The database's time: asked for from time to time, and extrapolated by the monotonic clock in between.
///
/// All nodes of a fleet share it, so that the times of entries, documents and tokens agree whatever the nodes' own
/// clocks say, and however those jump. Where the system's clock and the database's are far apart, one is wrong, and the
/// node cannot tell which: then the node's ``Ledger`` is suspended, so that nothing is signed with a time that clients
/// do not share.
///
/// If the process dies, the next one asks again before it serves.
package final class DatabaseClock: Sendable {
    private struct Anchor {
        var time: Timestamp
        var instant: ContinuousClock.Instant
    }

    private let anchor: Mutex<Anchor?> = Mutex(nil)
    private let hasComplained = Mutex(false)
    private let wasLedgerAhead = Mutex(false)
    private let systemClock: @Sendable () -> Timestamp
    private let logger: Logger

    /// The difference above which the node logs a warning.
    static let tolerance = Duration.seconds(5)
    /// The difference above which nothing is signed or recorded.
    static let limit = Duration.seconds(Head.tolerance)
    private static let plausible = Timestamp(seconds: 0)..<Timestamp(seconds: 253_402_300_800)
    private static let interval = Duration.seconds(30)
    private static let glance = Duration.seconds(1)

    package init(systemClock: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.systemClock = systemClock
        self.logger = logger
    }

    /// The present time: the database's, or the system's as long as the database has not been asked.
    package var now: Timestamp {
        guard let anchor = self.anchor.withLock({ $0 }) else { return self.systemClock() }
        return Timestamp(microseconds: anchor.time.microseconds + anchor.instant.duration(to: .now).wholeMicroseconds)
    }

    /// Whether the database has been asked.
    package var isMeasured: Bool { self.anchor.withLock { $0 != nil } }

    /// How far the system's clock is ahead of the database's.
    package var deviation: Duration { .microseconds(self.systemClock().microseconds - self.now.microseconds) }

    private var isOff: Bool {
        let deviation = self.deviation
        return max(deviation, .zero - deviation) > Self.limit
    }

    /// Asks the database.
    package func measure(_ pool: PostgresPool) async throws {
        // The first answer may include the time to connect; the quickest of several is the most exact.
        var best: (anchor: Anchor, trip: Duration)?
        for _ in 0..<3 {
            let start = ContinuousClock.now
            let time = try await pool.read("SELECT clock_timestamp()", []).only.timestamp(0)
            // Sums of times stay within bounds.
            guard Self.plausible.contains(Timestamp(microseconds: time)) else {
                throw PostgresError(.decoding, "the database's clock is not between 1970 and 9999")
            }
            let trip = start.duration(to: .now)
            if best == nil || trip < best?.trip ?? .zero {
                best = (Anchor(time: Timestamp(microseconds: time), instant: start + trip / 2), trip)
            }
        }
        if let best { self.anchor.withLock { $0 = best.anchor } }
    }

    /// Asks again every half minute, and looks every second whether the clocks agree, until cancelled. Where they do not, it
    /// asks every second: both may have been put right.
    package func run(_ pool: PostgresPool, watching ledger: Ledger) async {
        var next = ContinuousClock.now + Self.interval
        await PeriodicWorker(every: Self.glance).run {
            if ContinuousClock.now >= next || self.isOff {
                next = .now + Self.interval
                // While the database is away, the monotonic clock is as good.
                try? await self.measure(pool)
            }
            self.judge(ledger)
        }
    }

    /// Suspends the ledger, or resumes it.
    package func judge(_ ledger: Ledger) {
        let deviation = self.deviation
        let size = max(deviation, .zero - deviation)
        let seconds = Int64((size / .seconds(1)).rounded())
        let text = "this node's clock is \(seconds) s \(deviation < .zero ? "behind" : "ahead of") the database's"
        let isOff = size > Self.limit
        let hasComplained = self.hasComplained.withLock { had in
            defer { had = size > Self.tolerance }
            return had
        }
        if isOff, ledger.suspension == nil {
            self.logger.log(.clockOff, ["difference": "\(text)"])
        } else if size > Self.tolerance, !hasComplained, !isOff {
            self.logger.log(.clockDrifting, ["difference": "\(text)"])
        } else if !isOff, ledger.suspension != nil {
            self.logger.log(.clockRight)
        }
        ledger.suspend(isOff ? text : nil)
        if !isOff { self.judgeEnd(of: ledger) }
    }

    /// Says once that the ledger ends in the future, by clocks that agree.
    private func judgeEnd(of ledger: Ledger) {
        let head = ledger.view.head
        let isAhead = head.isAhead(of: self.now)
        let was = self.wasLedgerAhead.withLock { was in
            defer { was = isAhead }
            return was
        }
        if isAhead, !was { self.logger.log(.ledgerAhead, ["until": "\(head.lastTime)"]) }
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
