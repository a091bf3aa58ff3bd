import Concurrency
import Testing

/// How much may go on at the same time, and who gets the next place.
@Suite(.timeLimit(.minutes(60))) struct `A limiter` {
    private typealias Line = ConcurrencyLimiter<Never>

    @Test func `a limiter leaves places to others than the sharer that all want`() throws {
        let limiter = ConcurrencyLimiter<String>(limit: 5) { _ in 3 }
        var (a, b) = ((0..<4).map { _ in limiter.take(for: ["a"]) }, (0..<3).map { _ in limiter.take(for: ["b"]) })
        #expect(a.map { $0 != nil } == [true, true, true, false] && b.map { $0 != nil } == [true, true, false])
        a.removeFirst()?.release()
        let c = limiter.take(for: ["c"])
        #expect(c != nil && limiter.take(for: ["a"]) == nil && limiter.count == 5)
        (a, b) = ([], [])
        c?.release()
        b = (0..<4).map { _ in limiter.take(for: ["b"]) }
        #expect(b.map { $0 != nil } == [true, true, true, false])
    }

    @Test func `a limiter counts a place for each of its sharers, with a limit of its own`() throws {
        let limiter = ConcurrencyLimiter<Int>(limit: 10) { $0 }
        let one = try #require(limiter.take(for: [1, 2]))
        #expect(limiter.take(for: [2, 1]) == nil)
        let two = try #require(limiter.take(for: [2]))
        #expect(limiter.take(for: [2]) == nil && limiter.count == 2, "a refusal takes nothing")
        one.release()
        #expect(limiter.take(for: [1, 2]) != nil)
        two.release()
    }

    @Test func `a limiter takes a place back once, by hand or by being forgotten`() throws {
        let limiter = ConcurrencyLimiter<String>(limit: 3) { _ in 1 }
        for _ in 0..<10 {
            let place = try #require(limiter.take(for: ["a"]))
            #expect(limiter.take(for: ["a"]) == nil)
            place.release()
            place.release()
        }
        do { _ = try #require(limiter.take(for: ["a"])) }
        #expect(limiter.count == 0 && limiter.take(for: ["a"]) != nil)
        #expect(ConcurrencyLimiter<Never>(limit: 0).take() == nil)
    }

    /// Returns when somebody waits in the line: until then there is a free place.
    private func waitForLine(_ limiter: Line) async {
        while limiter.take() != nil { await Task.yield() }
    }

    @Test func `a limiter lets nobody overtake who waits`() async throws {
        let limiter = Line(limit: 2, waiting: 9)
        let held = try await limiter.wait(for: 1, within: nil)
        let waiting = Task { try await limiter.wait(for: 2, within: .seconds(60)) }
        await self.waitForLine(limiter)
        let last = Task { try await limiter.wait(for: 1, within: .seconds(60)) }
        #expect(limiter.count == 1 && limiter.take() == nil)
        held.first?.release()
        let both = try await waiting.value
        #expect(both.count == 2 && limiter.count == 2)
        both.first?.release()
        #expect(try await last.value.count == 1)
        both.last?.release()
    }

    @Test func `a limiter refuses where too many wait, after too long a wait, and when cancelled`() async throws {
        let limiter = Line(limit: 2, waiting: 1)
        let held = try await limiter.wait(within: nil)
        await #expect(throws: Line.NoPlace.overloaded) { try await limiter.wait(for: 2, within: .milliseconds(1)) }
        #expect(limiter.take() != nil, "who gave up has left the line")
        let waiting = Task { try await limiter.wait(for: 2, within: nil) }
        await self.waitForLine(limiter)
        await #expect(throws: Line.NoPlace.overloaded) { try await limiter.wait(within: nil) }
        waiting.cancel()
        await #expect(throws: Line.NoPlace.cancelled) { try await waiting.value }
        #expect(limiter.count == 1 && limiter.take() != nil)
        held.first?.release()
    }
}
