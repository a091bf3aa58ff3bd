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

    /// A queue in which these commands wait, in this order.
    private static func queue(
        _ commands: [Command], _ limits: Writer.Limits, _ body: (CommandQueue) async throws -> Void
    ) async throws {
        let queue = CommandQueue(limits: limits, clock: { .wall }, environment: DecisionEnvironment { _ in false })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, command) in commands.enumerated() {
                var request = try Sample.request(command)
                request.isUrgent = LedgerState().isUrgent(command)
                group.addTask { [request] in _ = try? await queue.enter(request) }
                #expect(await eventually { queue.count == place + 1 })
            }
            try await body(queue)
            queue.close()
        }
    }

    /// The commands of a batch, whose senders are answered.
    private static func turnedAway(_ pending: PendingBatch?) -> [Command] {
        guard var pending else { return [] }
        pending.fail(.overloaded)
        pending.answer()
        return pending.requests.map(\.command)
    }

    @Test func `a batch takes no longer to decide than its time, which is longer for urgent commands`() async throws {
        let app = try Sample.app()
        func rename(_ name: String) -> Command { .app(app, [.rename(name)]) }
        let kill = Command.app(app, [.engageKillSwitch(nil, expiresAt: .wall)])
        let lift = Command.app(app, [.releaseKillSwitch(nil)])
        var limits = Writer.Limits.patient
        limits.deciding = .zero
        limits.decidingUrgent = .seconds(3600)
        try await Self.queue([rename("a"), rename("b"), kill, lift], limits) { queue in
            queue.begin(on: LedgerView())
            let batches = (0..<3).map { _ in Self.turnedAway(queue.next()?.0) }
            #expect(batches == [[kill, lift, rename("a")], [rename("b")], []])
        }
        limits.decidingUrgent = .zero
        try await Self.queue([rename("a"), rename("b"), kill, lift], limits) { queue in
            queue.begin(on: LedgerView())
            let batches = (0..<3).map { _ in Self.turnedAway(queue.next()?.0) }
            // Neither kind holds the other up.
            #expect(batches == [[kill, rename("a")], [lift, rename("b")], []])
        }
    }

    @Test func `commands that there is no time to decide go back into the line`() async throws {
        let app = try Sample.app()
        func rename(_ name: String) -> Command { .app(app, [.rename(name)]) }
        let kill = Command.app(app, [.engageKillSwitch(nil, expiresAt: .wall)])
        var limits = Writer.Limits.patient
        (limits.deciding, limits.decidingUrgent) = (.zero, .zero)
        try await Self.queue([rename("a"), rename("b"), rename("c"), kill], limits) { [limits] queue in
            var pending = queue.nextUndecided()
            let batch = Batch(
                pending, on: LedgerView(), at: .wall, environment: DecisionEnvironment { _ in false }, within: limits)
            #expect(batch.count == 1)
            queue.putBack(pending.cut(to: batch.count))
            #expect(Self.turnedAway(pending) == [kill])
            #expect(Self.turnedAway(queue.nextUndecided()) == [rename("a"), rename("b"), rename("c")])
        }
    }

    @Test func `only those leave who have waited too long, and nothing stays decided with them`() async throws {
        let app = try Sample.app()
        var limits = Writer.Limits.patient
        limits.patience = .zero
        try await Self.queue([.app(app, [.rename("a")]), .app(app, [.rename("b")])], limits) { queue in
            queue.begin(on: LedgerView())
            queue.answerTheLate()
            #expect(queue.count == 0)
            #expect(queue.next() == nil)
        }
    }
}
