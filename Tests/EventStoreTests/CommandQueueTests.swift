import Fixtures
import Pinning
import Synchronization
import Testing

@testable import EventStore

@Suite(.timeLimit(.minutes(60)))
struct CommandQueueTests {
    @Test func `a wait ends when its time is over, however soon that is`() async {
        let queue = CommandQueue(
            limits: Writer.Limits(), clock: { .wall }, environment: DecisionEnvironment { _ in false })
        let count = Mutex(0)
        let waits = 3000
        let waiting = Task {
            for number in 0..<waits {
                await queue.waitForCommand(atMost: number % 2 == 0 ? .zero : .microseconds(number % 50))
                count.withLock { $0 += 1 }
            }
        }
        #expect(await eventually { count.withLock { $0 } == waits })
        // Lets go of a wait that would never end.
        queue.close()
        await waiting.value
    }
}
