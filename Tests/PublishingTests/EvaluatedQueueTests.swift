import Publishing
import Testing

/// How many requests may wait for variants to be signed.
@Suite struct `The queue for signatures` {
    @Test func `the queue for signatures leaves places to other apps than the one that all want`() {
        let queue = EvaluatedQueue(limit: 5, appLimit: 3)
        #expect((0..<4).map { _ in queue.enter("a") } == [true, true, true, false])
        #expect((0..<3).map { _ in queue.enter("b") } == [true, true, false])
        queue.leave("a")
        #expect(queue.enter("c") && !queue.enter("a"))
        for app in ["a", "a", "b", "b", "c"] { queue.leave(app) }
        #expect((0..<4).map { _ in queue.enter("b") } == [true, true, true, false])
    }
}
