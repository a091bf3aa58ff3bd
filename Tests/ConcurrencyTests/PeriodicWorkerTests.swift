import Concurrency
import Fixtures
import LogLines
import Logging
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(60))) struct `A periodic worker` {
    /// Counts rounds, and can hold the worker paused.
    private final class Rounds: Sendable {
        private let content = Mutex((count: 0, isPaused: false))

        var count: Int { self.content.withLock { $0.count } }
        var isPaused: Bool {
            get { self.content.withLock { $0.isPaused } }
            set { self.content.withLock { $0.isPaused = newValue } }
        }

        @discardableResult
        func add() -> Int {
            self.content.withLock { content in
                content.count += 1
                return content.count
            }
        }
    }

    private struct Trouble: Error {}

    /// Runs a worker beside a test, and cancels it at the end.
    private func during(
        _ work: @escaping @Sendable () async -> Void, _ test: () async throws -> Void
    ) async throws {
        let task = Task { await work() }
        defer { task.cancel() }
        try await test()
        task.cancel()
        await task.value
    }

    @Test func `a periodic worker does its first round at once and the next when the interval is over`() async throws {
        let (clock, rounds) = (SteppedClock(), Rounds())
        let worker = PeriodicWorker(every: .seconds(10), clock: clock)
        try await self.during {
            await worker.run { rounds.add() }
        } _: {
            #expect(await clock.sleeper() == .seconds(10))
            #expect(rounds.count == 1)
            await clock.advance(by: .seconds(9))
            #expect(await clock.sleeper() == .seconds(1))
            #expect(rounds.count == 1)
            await clock.advance(by: .seconds(1))
            #expect(await clock.sleeper() == .seconds(10))
            #expect(rounds.count == 2)
        }
        #expect(rounds.count == 2, "it is cancelled while it waits, and starts no further round")
    }

    @Test func `a periodic worker waits before its first round where it is told to`() async throws {
        let (clock, rounds) = (SteppedClock(), Rounds())
        let worker = PeriodicWorker(every: .seconds(10), first: .afterInterval, clock: clock)
        try await self.during {
            await worker.run { rounds.add() }
        } _: {
            #expect(await clock.sleeper() == .seconds(10))
            #expect(rounds.count == 0)
            await clock.advance(by: .seconds(10))
            #expect(await clock.sleeper() == .seconds(10))
            #expect(rounds.count == 1)
        }
        #expect(rounds.count == 1)
    }

    @Test func `a periodic worker leaves rounds out while it is paused and goes on afterwards`() async throws {
        let (clock, rounds) = (SteppedClock(), Rounds())
        rounds.isPaused = true
        let worker = PeriodicWorker(every: .seconds(1), clock: clock) { rounds.isPaused }
        try await self.during {
            await worker.run { rounds.add() }
        } _: {
            for _ in 0..<3 { await clock.advance(by: .seconds(1)) }
            _ = await clock.sleeper()
            #expect(rounds.count == 0)
            rounds.isPaused = false
            await clock.advance(by: .seconds(1))
            _ = await clock.sleeper()
            #expect(rounds.count == 1)
        }
    }

    @Test func `a periodic worker logs what a round throws and tries again`() async throws {
        let (clock, rounds, recorder) = (SteppedClock(), Rounds(), LogRecorder())
        let worker = PeriodicWorker(every: .seconds(1), clock: clock)
        let logger = recorder.logger
        try await self.during {
            await worker.run(logging: .housekeepingFailed, to: logger) { if rounds.add() < 3 { throw Trouble() } }
        } _: {
            for _ in 0..<2 { await clock.advance(by: .seconds(1)) }
            _ = await clock.sleeper()
            #expect(rounds.count == 3)
            #expect(recorder.text.filter { $0.contains("housekeeping_failed") && $0.contains("Trouble") }.count == 2)
        }
    }

    @Test func `a periodic worker logs nothing about a round that was cancelled`() async throws {
        let (clock, rounds, recorder) = (SteppedClock(), Rounds(), LogRecorder())
        let worker = PeriodicWorker(every: .seconds(1), clock: clock)
        let logger = recorder.logger
        try await self.during {
            await worker.run(logging: .housekeepingFailed, to: logger) {
                rounds.add()
                try await clock.sleep(for: .seconds(60))
            }
        } _: {
            #expect(await clock.sleeper() == .seconds(60))
        }
        #expect(rounds.count == 1 && recorder.text.isEmpty)
    }

    @Test func `a periodic worker draws its pauses within the jitter`() async throws {
        let (clock, rounds) = (SteppedClock(), Rounds())
        let worker = PeriodicWorker(every: .seconds(100), jitter: 0.1, clock: clock)
        var pauses: Set<Duration> = []
        let task = Task { await worker.run { rounds.add() } }
        defer { task.cancel() }
        for round in 1...50 {
            while rounds.count < round { await Task.yield() }
            let pause = await clock.sleeper()
            #expect(pause >= .seconds(90) && pause <= .seconds(110))
            pauses.insert(pause)
            await clock.advance(by: pause)
        }
        #expect(pauses.count > 25)
    }
}
