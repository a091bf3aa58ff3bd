import Synchronization
import Testing

@testable import PinledgerServer

@Suite(.timeLimit(.minutes(20))) struct `Those who want the same answer made` {
    private typealias Makers = SingleFlight<String>

    private final class Tally: Sendable {
        private let count = Mutex(0)

        /// The number after `change` is added.
        func add(_ change: Int) -> Int {
            self.count.withLock { count in
                count += change
                return count
            }
        }
    }

    private func isFirst(_ turn: Makers.Turn) -> Bool {
        if case .first = turn { true } else { false }
    }

    /// Returns when so many wait.
    private func wait(for count: Int, at makers: Makers) async {
        while makers.count("one") < count { await Task.yield() }
    }

    @Test func `requests for the same answer wait until the first of them is done, and get its result`() async {
        let makers = Makers()
        #expect(self.isFirst(await makers.turn("one")))
        // Another answer has a first caller of its own.
        #expect(self.isFirst(await makers.turn("other")))
        let told: [Makers.Turn] = await withTaskGroup(of: Makers.Turn.self) { group in
            for _ in 0..<100 { group.addTask { await makers.turn("one") } }
            await self.wait(for: 100, at: makers)
            makers.done("one", "made")
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(told.count == 100)
        for turn in told {
            guard case .waited("made") = turn else {
                Issue.record("\(turn)")
                continue
            }
        }
        // A later caller is the first again.
        #expect(self.isFirst(await makers.turn("one")))
    }

    @Test func `requests for the same answer compete again where the first made nothing, and one of them is next`()
        async
    {
        let makers = Makers()
        let atWork = Tally()
        #expect(self.isFirst(await makers.turn("one")))
        let firsts: Int = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    while true {
                        switch await makers.turn("one") {
                        case .waited(let made):
                            if made != nil { return false }
                        case .first:
                            #expect(atWork.add(1) == 1, "two make it at the same time")
                            await self.wait(for: 49, at: makers)
                            #expect(atWork.add(-1) == 0)
                            makers.done("one", "made")
                            return true
                        }
                    }
                }
            }
            await self.wait(for: 50, at: makers)
            makers.done("one", nil)
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(firsts == 1)
    }
}
