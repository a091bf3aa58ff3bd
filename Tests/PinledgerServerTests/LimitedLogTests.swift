import Fixtures
import Logging
import Synchronization
import Testing

@testable import PinledgerServer

/// What strangers can have written into the log.
@Suite struct `The log of what strangers cause` {
    /// A clock that stands until it is moved.
    private final class Clock: Sendable {
        private let instant = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { self.instant.withLock { $0 } }

        func advance(_ seconds: Int) { self.instant.withLock { $0 += .seconds(seconds) } }
    }

    @Test func `the limited log takes a few lines at once, then one a second, and says how many it left out`() {
        let (recorder, clock) = (LogRecorder(), Clock())
        let log = LimitedLog(logger: recorder.logger, now: { clock.now })
        for number in 0..<1000 {
            log.log(.refusedRequest, ["number": "\(number)"])
        }
        #expect(recorder.text.count == LimitedLog.burst)
        #expect(recorder.text.allSatisfy { !$0.contains("left_out") })
        clock.advance(1)
        log.log(.refusedRequest, [:])
        #expect(recorder.text.last?.contains("\"left_out\": \(1000 - LimitedLog.burst)") == true)
        log.log(.refusedRequest, [:])
        #expect(recorder.text.count == LimitedLog.burst + 1)
        // A kind of line has no part in another's limit.
        log.log(.unforeseenError, [:])
        #expect(recorder.text.last?.contains("request_failed") == true)
    }

    @Test func `the limited log says how many lines it left out where no further line comes`() {
        let (recorder, clock) = (LogRecorder(), Clock())
        let log = LimitedLog(logger: recorder.logger, now: { clock.now })
        for _ in 0..<(LimitedLog.burst + 3) { log.log(.endedRequest, [:]) }
        log.tellLeftOut()
        #expect(recorder.text.count == LimitedLog.burst)
        clock.advance(2)
        log.tellLeftOut()
        log.tellLeftOut()
        #expect(recorder.text.count == LimitedLog.burst + 1)
        #expect(recorder.text.last?.contains("\"left_out\": 3") == true)
    }
}

/// How many frames that ask for nothing a client may send.
@Suite struct `The budget of frames` {
    /// How many frames the budget pays for.
    private static func frames(_ budget: inout FrameBudget, at round: UInt32) -> Int {
        var count = 0
        while count < 100_000, budget.spend(at: round) { count += 1 }
        return count
    }

    @Test func `the budget of frames runs out, and refills slowly`() {
        var budget = FrameBudget(at: 7)
        // However long the client was silent, it has no more than at first.
        let counts = [7, 7, 8, 10, .max].map { Self.frames(&budget, at: $0) }
        #expect(counts == [FrameBudget.initial, 0, 5, 10, FrameBudget.initial])
    }

    @Test func `requests and bytes of answers refill the budget of frames`() {
        var budget = FrameBudget(at: 0)
        var counts = [Self.frames(&budget, at: 0)]
        budget.request()
        counts.append(Self.frames(&budget, at: 0))
        for _ in 0..<16 { budget.sent(100) }
        counts.append(Self.frames(&budget, at: 0))
        #expect(counts == [FrameBudget.initial, 5, 6])
    }
}
