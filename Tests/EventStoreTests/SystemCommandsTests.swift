import Concurrency
import EventStore
import Fixtures
import LogLines
import Logging
import PinWire
import Pinning
import Synchronization
import Testing

/// What a node itself submits to its writer.
@Suite(.database, .timeLimit(.minutes(60)))
struct SystemCommandsTests {
    /// Counts rounds of work.
    private final class Rounds: Sendable {
        private let count = Mutex(0)

        func add() { self.count.withLock { $0 += 1 } }

        /// How many there were since the last call.
        func take() -> Int {
            self.count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    @Test
    func `a command of the system is recorded once, for the version it expects, and only real failures are logged`()
        async throws
    {
        let database = try TestDatabase.current
        let recorder = LogRecorder()
        try await TestNode.run(on: database) { node in
            let commands = SystemCommands(ledger: node.ledger, writer: node.writer, logger: recorder.logger)
            let app = try Sample.app()
            let created = try await node.writer.execute(try Sample.create(app))
            func rename(_ name: String, at version: Int64?) async -> SystemCommands.Outcome {
                await commands.submit(
                    .app(app, [.rename(name)]), because: "it is time", at: version, failure: .planDelayed,
                    ["app": "\(app)"])
            }
            #expect(await rename("A", at: created.streamVersion) == .recorded)
            #expect(await rename("B", at: created.streamVersion) == .stale)
            #expect(node.ledger.position == created.position + 1)
            let entry = try #require(
                try await LedgerReader(pool: node.pool).entries(at: created.position..<1000, limit: 10).first?.entry)
            #expect(entry.origin.actor == .system && entry.origin.reason?.text == "it is time")
            #expect(recorder.text.isEmpty)

            let again = Command.app(app, [.create(displayName: "again")])
            let refusal = SystemCommands.Outcome.refused(.appExists(app))
            #expect(await commands.submit(again, failure: .planDelayed) { $0 == .appExists(app) } == refusal)
            #expect(recorder.text.isEmpty)
            #expect(await commands.submit(again, failure: .planDelayed, ["app": "\(app)"]) == refusal)
            #expect(recorder.text.count == 1)
            let line = recorder.text.first ?? ""
            #expect(line.contains("plan_delayed") && line.contains("\(app)") && line.contains("error"))

            node.ledger.halt(.shrunk(from: 9, to: 8))
            #expect(await rename("C", at: nil) == .unavailable)
            #expect(recorder.text.count == 2)
        }
    }

    @Test func `a worker of the system starts no round while nothing may be recorded`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, .with { $0.follows = false }) { node in
            let commands = SystemCommands(ledger: node.ledger, writer: node.writer, logger: .silent)
            let rounds = Rounds()
            /// Works until another worker of the same pace, which nothing pauses, has had twenty rounds.
            func work() async {
                let task = Task { await commands.worker(every: .milliseconds(1)).run { rounds.add() } }
                let others = Rounds()
                var count = 0
                let other = Task { await PeriodicWorker(every: .milliseconds(1)).run { others.add() } }
                let isDone = await eventually {
                    count += others.take()
                    return count >= 20
                }
                #expect(isDone)
                for each in [task, other] {
                    each.cancel()
                    await each.value
                }
            }
            await work()
            #expect(rounds.take() > 0)
            node.ledger.halt(.shrunk(from: 9, to: 8))
            await work()
            #expect(rounds.take() == 0)
        }
    }
}
