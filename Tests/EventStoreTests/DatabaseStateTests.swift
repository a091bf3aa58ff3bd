import EventStore
import Fixtures
import Pinning
import Postgres
import Testing

/// What a node says of a database that is away or records nothing.
@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct DatabaseStateTests {
    private static func count(_ code: String, _ log: LogRecorder) -> Int {
        log.text.count { $0.contains("\"code\": \(code)") || $0.contains("\"code\": \"\(code)\"") }
    }

    @Test func `a database that dies and comes back gives one log line each, and writing is known to fail meanwhile`()
        async throws
    {
        let log = LogRecorder()
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            let setup = TestNode.Setup.with {
                $0.logger = log.logger
                $0.pollInterval = .milliseconds(100)
            }
            try await TestNode.run(on: database, setup) { node in
                let app = try Sample.app()
                _ = try await node.writer.execute(try Sample.create(app))
                #expect(node.ledger.database.writeFailure == nil)
                try await cluster.control("stop")
                // Nobody wants anything recorded.
                #expect(await eventually { node.ledger.database.writeFailure == "the database cannot be reached" })
                for _ in 0..<5 { _ = await node.attempt(try Sample.rename(app, "no")) }
                // The node polls on meanwhile, as this does at the same pace.
                let poller = PostgresListener(
                    configuration: try database.configuration(), channels: [], pollInterval: setup.pollInterval)
                var polls = 0
                for await event in poller.events() {
                    if event == .tick { polls += 1 }
                    if polls == 10 { break }
                }
                try await cluster.control("start")
                #expect(await eventually { node.ledger.database.writeFailure == nil })
                _ = try await node.insist(try Sample.rename(app, "yes"))
                #expect(await eventually { Self.count("database_back", log) == 1 })
            }
        }
        #expect(Self.count("database_lost", log) == 1)
        #expect(Self.count("database_back", log) == 1)
        // The listener's patience is counted in polls, which come ten times as often here.
        let loud = log.text.filter {
            ($0.hasPrefix("warning") || $0.hasPrefix("error") || $0.hasPrefix("critical"))
                && !$0.contains("listener_lost")
        }
        #expect(loud.count == 1, "\(loud)")
    }

    @Test(.database) func `a missing partition is named as what it is, and ends once it is there`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            try await database.execute(
                "ALTER TABLE pinledger.event DETACH PARTITION pinledger.event_00000000000000")
            guard case .failure(.unavailable) = await node.attempt(try Sample.rename(app, "no")) else {
                Issue.record("it is recorded")
                return
            }
            #expect(node.ledger.database.writeFailure?.contains("has no partition") == true)
            try await database.execute(
                """
                ALTER TABLE pinledger.event ATTACH PARTITION pinledger.event_00000000000000
                FOR VALUES FROM (0) TO (10000000)
                """)
            _ = try await node.insist(try Sample.rename(app, "yes"))
        }
    }

    @Test(.database)
    func `a full disk gives one log line when it begins and one when it ends, and its reason is known`()
        async throws
    {
        let database = try TestDatabase.current
        let log = LogRecorder()
        try await TestNode.run(on: database, .with { $0.logger = log.logger }) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            try await database.execute(
                """
                CREATE SEQUENCE public.tries;
                CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
                    PERFORM nextval('public.tries');
                    RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
                END $$;
                CREATE TRIGGER disk_full BEFORE INSERT ON pinledger.event FOR EACH ROW EXECUTE FUNCTION public.full();
                """)
            for number in 0..<20 {
                let result = await node.attempt(try Sample.rename(app, "n\(number)"))
                guard case .failure(.unavailable) = result else {
                    Issue.record("\(result)")
                    continue
                }
            }
            #expect(node.ledger.database.writeFailure == "the database's disk is full")
            // Trying whether it still is so records nothing, and says nothing new.
            func tries() async throws -> Int64 {
                try await database.query("SELECT last_value FROM public.tries").only.int64(0)
            }
            let before = try await tries()
            #expect(try await eventually { try await tries() >= before + 2 })
            #expect(node.ledger.database.writeFailure == "the database's disk is full")
            #expect(Self.count("writes_failing", log) == 1)
            #expect(Self.count("writes_working", log) == 0)
            try await database.execute("DROP TRIGGER disk_full ON pinledger.event")
            // Nobody wants anything recorded: the node finds out by itself.
            #expect(await eventually { node.ledger.database.writeFailure == nil })
            #expect(Self.count("writes_working", log) == 1)
            _ = try await node.writer.execute(try Sample.rename(app, "room"))
        }
        #expect(try await Ledgers.check(database).head.position == 2)
        #expect(Self.count("writes_failing", log) == 1)
    }
}
