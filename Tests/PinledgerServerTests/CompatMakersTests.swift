import Synchronization
import Testing

@testable import PinledgerServer

@Suite struct `Those who want the same answer made` {
    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    @Test func `wait until the first of them is done`() async {
        let makers = CompatMakers()
        #expect(await makers.isFirst("one"))
        // Of another answer somebody else is the first.
        #expect(await makers.isFirst("other"))
        let done = Flag()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let isFirst = await makers.isFirst("one")
                    #expect(done.isSet.withLock { $0 })
                    // Whoever comes when all is over is the first again.
                    if isFirst { makers.done("one") }
                }
            }
            for _ in 0..<100 { await Task.yield() }
            done.isSet.withLock { $0 = true }
            makers.done("one")
        }
        #expect(await makers.isFirst("one"))
    }
}
