import EventStore
import Fixtures
import Pinning
import Postgres
import Testing

/// A database that is away, or slow.
@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct OutageTests {
    @Test func `changes are refused while the database is down, before their time is over, and later they work`()
        async throws
    {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            // A caller that waited for a limit would wait until the end of this test.
            let patient = TestNode.Setup.with {
                let hours = Duration.seconds(36_000)
                ($0.limits.answer, $0.limits.patience, $0.limits.settling) = (hours, hours, hours)
            }
            try await TestNode.run(on: database, patient) { node in
                let app = try Sample.app()
                let first = try Sample.create(app, key: "k")
                _ = try await node.writer.execute(first)
                try await cluster.control("stop")
                for request in [try Sample.rename(app, "x", key: "x"), try Sample.rename(app, "y"), first] {
                    let result = await node.attempt(request)
                    guard case .failure(.unavailable) = result else {
                        Issue.record("\(result)")
                        continue
                    }
                }
                // What was known is still served.
                #expect(node.ledger.view.state.apps[app] != nil)
                #expect(node.ledger.fault == nil)
                try await cluster.control("start")
                #expect(try await node.insist(try Sample.rename(app, "x", key: "x")).isReplay == false)
                #expect(try await node.insist(first).isReplay)
                #expect(try await Ledgers.check(database).head.position == 2)
                // The follower finds its way back too.
                _ = try await TestNode.run(on: database, .with { $0.name = "other" }) { other in
                    try await other.insist(try Sample.rename(app, "z", key: "z"))
                }
                #expect(await eventually { node.ledger.position == 3 })
            }
        }
    }

    @Test(.database) func `commands beyond the bound of the queue are refused at once`() async throws {
        let database = try TestDatabase.current
        let limited = TestNode.Setup.with {
            $0.limits.queue = 5
            // Nobody is turned away for having waited, however slow the machine.
            $0.limits.patience = .seconds(120)
            $0.limits.answer = .seconds(120)
        }
        try await TestNode.run(on: database, limited) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let blocker = try await database.connect()
            try await blocker.execute(script: "BEGIN; SELECT * FROM pinledger.head FOR UPDATE")
            try await withThrowingTaskGroup(of: Result<Recorded, WriteFailure>.self) { group in
                for number in 0..<20 {
                    group.addTask { await node.attempt(try Sample.rename(app, "n\(number)")) }
                }
                // Those turned away come first, while nothing can be written: all but one batch of at most five and those in line.
                var overloaded = 0
                while overloaded < 10, let result = try await group.next() {
                    #expect(throws: WriteFailure.overloaded) { try result.get() }
                    overloaded += 1
                }
                try await blocker.execute(script: "COMMIT")
                var recorded = 0
                for try await result in group {
                    switch result {
                    case .success: recorded += 1
                    case .failure(.overloaded): overloaded += 1
                    case .failure(let failure): Issue.record(failure)
                    }
                }
                // One batch in the writer's hands (of one command or more), and five in the queue.
                #expect(recorded + overloaded == 20)
                #expect(recorded >= 5)
            }
            try await Ledgers.check(database)
        }
    }

    @Test(.database) func `no command waits longer than the limit for a batch that hangs`() async throws {
        let database = try TestDatabase.current
        let setup = TestNode.Setup.with {
            $0.limits.answer = .seconds(20)
            $0.limits.patience = .seconds(10)
            $0.configureWriter = { $0.lockTimeout = nil }
        }
        try await TestNode.run(on: database, setup) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let blocker = try await database.connect()
            try await blocker.execute(script: "BEGIN; SELECT * FROM pinledger.head FOR UPDATE")
            let sent = try Sample.rename(app, "sent", key: "sent")
            let queued = try Sample.rename(app, "queued", key: "queued")
            async let first = node.attempt(sent)
            let waits = """
                SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
                """
            try #expect(await eventually { try await blocker.query(waits).only.bool(0) })
            async let second = node.attempt(queued)
            // The first may be recorded yet, the second is not and never will be.
            #expect(await second.failure == .unavailable("the database is too slow to take the change"))
            #expect(await first.failure == .outcomeUnknown)
            try await blocker.execute(script: "COMMIT")
            let (again, anew) = (try await node.insist(sent), try await node.insist(queued))
            #expect(again.isReplay && !anew.isReplay)
            try await Ledgers.check(database)
        }
    }

    @Test(.database) func `a writer that ends answers all requests that wait`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let blocker = try await database.connect()
        let waiting = try await TestNode.run(on: database) { node in
            try await blocker.execute(script: "BEGIN; SELECT * FROM pinledger.head FOR UPDATE")
            let requests = try (0..<10).map { try Sample.create(app, key: "k\($0)") }
            let tasks = requests.map { request in Task { await node.attempt(request) } }
            #expect(
                try await eventually {
                    try await database.query(
                        "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
                        [.text(node.writerName)]
                    ).count == 1
                }
            )
            return tasks
        }
        for task in waiting {
            guard case .failure(.unavailable) = await task.value else {
                Issue.record("\(await task.value)")
                continue
            }
        }
        try await blocker.execute(script: "COMMIT")
        #expect(try await Ledgers.check(database).head.position == 0)
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
