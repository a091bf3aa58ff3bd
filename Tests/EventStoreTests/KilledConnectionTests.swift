import EventStore
import Fixtures
import Pinning
import Postgres
import SeededRandom
import Synchronization
import Testing

/// Writers whose connection is cut, before, during and after their commits.
@Suite(.database, .timeLimit(.minutes(60)))
struct KilledConnectionTests {
    /// Cuts the writers' connections again and again while the closure runs, each time after something was recorded, or
    /// nothing was for two seconds: connecting takes long on a busy machine. The closure learns how many were cut.
    private static func whileKilling<R>(
        _ database: TestDatabase, _ names: [String], _ body: (_ killed: @escaping @Sendable () -> Int) async throws -> R
    ) async throws -> R {
        let killed = Counter()
        let connection = try await database.connect()
        let killer = Task {
            var generator = SeededGenerator(seed: TestSeed.chosen(or: 540))
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(Int.random(in: 5...40, using: &generator)))
                let end = try await Self.end(connection)
                let rows = try await connection.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = ANY($1)
                    """,
                    [.textArray(names)]
                )
                killed.add(rows.count)
                _ = try await eventually(within: 2) { try await Self.end(connection) > end || Task.isCancelled }
            }
        }
        let result = await Result { try await body { killed.count } }
        killer.cancel()
        do { try await killer.value } catch let error as PostgresError where error.code == .cancelled {
            // In the middle of a statement.
        }
        await connection.close()
        return try result.get()
    }

    private final class Counter: Sendable {
        private let value = Mutex(0)
        var count: Int { self.value.withLock { $0 } }
        func add(_ more: Int) { self.value.withLock { $0 += more } }
    }

    private static func end(_ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query("SELECT max(next_position) FROM pinledger.head").only.int64(0)
    }

    @Test func `an answered change is stored once, and a keyed change can be asked for until it is`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            #expect(await eventually { nodes[1].ledger.position == 1 })
            let names = try await Self.whileKilling(database, nodes.map(\.writerName)) { killed in
                try await withThrowingTaskGroup(of: [String].self) { group in
                    for client in 0..<8 {
                        group.addTask {
                            var names: [String] = []
                            // On a busy machine, thirty may be recorded before the fourth cut.
                            for number in 0..<3000 where number < 30 || killed() < 4 {
                                let name = "client \(client) number \(number)"
                                let recorded = try await nodes[(client + number) % 2].insist(
                                    try Sample.rename(app, name, key: name)
                                )
                                #expect(recorded.entries.count == 1)
                                names.append(name)
                            }
                            return names
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
            }
            #expect(names.count < 8 * 3000)
            try await Ledgers.check(database)
            #expect(try await Ledgers.renames(database).sorted() == names.sorted())
            for node in nodes { #expect(node.ledger.fault == nil) }
        }
    }

    @Test func `every answer to a change without a key is true: recorded, not recorded, or unknown`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let answers = try await Self.whileKilling(database, [node.writerName]) { _ in
                try await withThrowingTaskGroup(of: [(String, Result<Recorded, WriteFailure>)].self) { group in
                    for client in 0..<8 {
                        group.addTask {
                            var answers: [(String, Result<Recorded, WriteFailure>)] = []
                            for number in 0..<30 {
                                let name = "client \(client) number \(number)"
                                // Every third is refused, so that refusals share batches with the rest.
                                let request =
                                    number % 3 == 2
                                    ? try Sample.rename(app, name, key: name, expecting: 1_000_000)
                                    : try Sample.rename(app, name)
                                answers.append((name, await node.attempt(request)))
                            }
                            return answers
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
            }
            try await Ledgers.check(database)
            let stored = Dictionary(try await Ledgers.renames(database).map { ($0, 1) }, uniquingKeysWith: +)
            for (name, answer) in answers {
                switch answer {
                case .success: #expect(stored[name] == 1, "\(name) was said to be recorded")
                case .failure(.unavailable), .failure(.stale): #expect(stored[name] == nil, "\(name): \(answer)")
                case .failure(.outcomeUnknown): #expect(stored[name] ?? 0 <= 1)
                case .failure(let failure): Issue.record("\(name): \(failure)")
                }
            }
            #expect(answers.contains { if case .success = $0.1 { true } else { false } })
        }
    }

    /// A trigger that runs inside COMMIT, once.
    private static func installAtCommit(_ database: TestDatabase, _ statement: String) async throws {
        try await database.execute(
            """
            CREATE SEQUENCE public.commits;
            CREATE FUNCTION public.at_commit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                IF nextval('public.commits') = 1 THEN \(statement); END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON pinledger.head DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION public.at_commit();
            """
        )
    }

    @Test(arguments: [false, true])
    func `a connection that dies inside its commit has recorded nothing, and is replaced`(
        isContended: Bool
    ) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database, .with { $0.follows = false }) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            // A writer that was overtaken takes the lock first.
            if isContended { _ = try await nodes[1].writer.execute(try Sample.rename(app, "overtaken")) }
            try await Self.installAtCommit(database, "PERFORM pg_terminate_backend(pg_backend_pid())")
            let recorded = try await nodes[isContended ? 1 : 0].writer.execute(try Sample.rename(app, "x", key: "k"))
            #expect(recorded.entries.count == 1)
            #expect(!recorded.isReplay)
            #expect(try await database.query("SELECT last_value FROM public.commits").only.int64(0) >= 2)
            #expect(try await Ledgers.renames(database).count { $0 == "x" } == 1)
            try await Ledgers.check(database)
        }
    }

    @Test(arguments: [false, true]) func `a commit that outlives its connection is found, and nothing is written twice`(
        isContended: Bool
    ) async throws {
        let database = try TestDatabase.current
        // The client gives up after 300 ms; the server, which is not told, commits after a second.
        try await TestNode.run(
            2, on: database,
            .with { setup in
                setup.follows = false
                setup.configureWriter = { configuration in
                    configuration.sessionSettings = .none
                    configuration.statementTimeout = .milliseconds(200)
                    configuration.answerGrace = .milliseconds(100)
                }
            }
        ) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].insist(try Sample.create(app, key: "create"))
            if isContended { _ = try await nodes[1].insist(try Sample.rename(app, "overtaken", key: "overtaken")) }
            try await Self.installAtCommit(database, "PERFORM pg_sleep(1)")
            let node = nodes[isContended ? 1 : 0]
            async let refused = node.attempt(try Sample.rename(app, "never", key: "stale", expecting: 77))
            let recorded = try await node.writer.execute(try Sample.rename(app, "x", key: "k"))
            #expect(recorded.entries.count == 1)
            #expect(try await Ledgers.renames(database).count { $0 == "x" } == 1)
            #expect(node.ledger.position == recorded.position)
            let failure = try await refused
            #expect(throws: WriteFailure.self) { try failure.get() }
            try await Ledgers.check(database)
            let again = try await node.insist(try Sample.rename(app, "x", key: "k"))
            #expect(again.isReplay && again.entries == recorded.entries)
        }
    }
}

extension Result where Failure == any Error {
    /// What the closure returns or throws.
    fileprivate init(catching body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
