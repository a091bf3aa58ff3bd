import Fixtures
import Postgres
import Synchronization
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct PoolTests {
    static func backends(_ pool: PostgresPool) async throws -> Int32 {
        try await pool.query("SELECT pg_backend_pid()").only.int32(0)
    }

    @Test func `no more connections are open than allowed, and all requests are served`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 3, waitTimeout: .seconds(120))
        let seen = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<60 {
                group.addTask {
                    try await pool.withConnection { connection in
                        #expect(pool.occupancy.leased <= 3)
                        return try await connection.query("SELECT pg_backend_pid(), pg_sleep(0.005)")[0].int32(0)
                    }
                }
            }
            return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
        }
        #expect(seen.count <= 3)
        #expect(pool.occupancy == (0, pool.occupancy.idle, 0))
        await pool.close()
    }

    @Test func `requests that wait for a locked table leave connections to other kinds of requests`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 3, waitTimeout: .seconds(180))
        let lock = Int64.random(in: 1 ... .max)
        let holder = try await SharedDatabase.connect()
        try await holder.query("SELECT pg_advisory_lock($1)", [.int64(lock)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await PostgresPool.$kind.withValue("adoption") {
                        _ = try await pool.query("SELECT pg_advisory_xact_lock_shared($1)", [.int64(lock)])
                    }
                }
            }
            #expect(await eventually { pool.occupancy.waiting == 6 })
            // Nobody releases the lock until these are answered.
            try await PostgresPool.$kind.withValue("history") { _ = try await pool.query("SELECT 1") }
            try await pool.query("SELECT 1")
            #expect(pool.occupancy.waiting == 6)
            await holder.close()
            try await group.waitForAll()
        }
        await pool.close()
    }

    @Test func `a pool whose connections are dropped opens new ones`() async throws {
        let pool = PostgresPool(configuration: try SharedDatabase.configuration())
        let first = try await Self.backends(pool)
        #expect(try await Self.backends(pool) == first)
        pool.dropConnections()
        #expect(pool.occupancy == (0, 0, 0))
        let second = try await Self.backends(pool)
        #expect(second != first)
        // One that is lent meanwhile is not lent again.
        try await pool.withConnection { _ in pool.dropConnections() }
        #expect(try await Self.backends(pool) != second)
        await pool.close()
    }

    @Test func `requests for a connection are served in order`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        let order = Record<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await pool.withConnection { _ in
                for number in 0..<10 {
                    group.addTask {
                        try await pool.withConnection { _ in order.append(number) }
                    }
                    #expect(await eventually { pool.occupancy.waiting == number + 1 })
                }
            }
            try await group.waitForAll()
        }
        #expect(order.values == Array(0..<10))
    }

    @Test func `a full line refuses at once and a wait has an end`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(),
            maximumConnections: 1,
            maximumWaiters: 1,
            waitTimeout: .seconds(20)
        )
        try await pool.withConnection { _ in
            async let waiting = failure { try await pool.query("SELECT 1") }
            #expect(await eventually { pool.occupancy.waiting == 1 })
            #expect(await failure { try await pool.query("SELECT 1") }?.code == .poolExhausted)
            #expect(await waiting?.code == .timeout)
        }
        #expect(pool.occupancy.waiting == 0)
        #expect(try await pool.query("SELECT 1").count == 1)
    }

    @Test func `a cancelled task leaves the line`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        try await pool.withConnection { _ in
            let task = Task { try await pool.query("SELECT 1") }
            #expect(await eventually { pool.occupancy.waiting == 1 })
            task.cancel()
            #expect(await failure { try await task.value }?.code == .cancelled)
        }
        #expect(pool.occupancy.waiting == 0)
    }

    @Test func `a connection left inside a transaction is not lent again`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        let first = try await pool.withConnection { connection in
            try await connection.execute(script: "BEGIN")
            return connection.backendPID
        }
        #expect(try await Self.backends(pool) != first)
    }

    @Test func `an error of the closure's gives the connection back`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        let first = try await Self.backends(pool)
        #expect(await failure { try await pool.query("SELECT 1 / 0") }?.sqlState == "22012")
        #expect(try await Self.backends(pool) == first)
        let table = try await pool.transaction { try $0.query("SELECT 'x'::text").only.text(0) }
        #expect(table == "x")
    }

    @Test func `the pool survives the end of all its backends`() async throws {
        let pool = PostgresPool(configuration: try SharedDatabase.configuration(), maximumConnections: 4)
        let done = Record<Int>()
        let backends = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await pool.withConnection { connection in
                        // All four at once.
                        #expect(await eventually { pool.occupancy.leased == 4 || done.values.count > 0 })
                        done.append(0)
                        return connection.backendPID
                    }
                }
            }
            return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
        }
        #expect(backends.count == 4)
        for backend in backends { try await SharedDatabase.terminate(backend) }
        for _ in 0..<8 {
            let backend = try await Self.backends(pool)
            #expect(!backends.contains(backend))
        }
        await pool.close()
    }

    @Test func `a read that lost its connection is repeated, a write is not`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        let name = TestServer.uniqueName("once")
        try await pool.query("CREATE SEQUENCE \(name)")
        // The first call ends its own session, the second does not.
        let sql = """
            SELECT CASE WHEN nextval('\(name)') = 1 THEN pg_terminate_backend(pg_backend_pid()) END, pg_sleep(0.05)
            """
        #expect(await failure { try await pool.query(sql) }?.code == .outcomeUnknown)
        try await pool.query("SELECT setval('\(name)', 1, false)")
        #expect(try await pool.read(sql).count == 1)
        try await pool.query("DROP SEQUENCE \(name)")
    }

    @Test func `connections that stay unused for a while are replaced`() async throws {
        let pool = PostgresPool(configuration: try SharedDatabase.configuration(), idleTimeout: .milliseconds(1))
        let first = try await Self.backends(pool)
        #expect(try await eventually { try await Self.backends(pool) != first })
    }

    @Test func `a closed pool refuses, and closing waits for what is lent`() async throws {
        let pool = PostgresPool(
            configuration: try SharedDatabase.configuration(), maximumConnections: 1, waitTimeout: .seconds(180))
        try await withThrowingTaskGroup(of: Void.self) { group in
            let steps = Record<String>()
            try await pool.withConnection { connection in
                let waiting = Task { await failure { try await pool.query("SELECT 1") } }
                #expect(await eventually { pool.occupancy.waiting == 1 })
                group.addTask {
                    await pool.close()
                    steps.append("closed")
                }
                #expect(await waiting.value?.code == .poolClosed)
                try await connection.query("SELECT 1")
                steps.append("back")
            }
            try await group.waitForAll()
            #expect(steps.values == ["back", "closed"])
        }
        #expect(await failure { try await pool.query("SELECT 1") }?.code == .poolClosed)
        await pool.close()
    }
}

/// What happened, in order, on several tasks.
private final class Record<Value: Sendable>: Sendable {
    private let state = Mutex<[Value]>([])

    func append(_ value: Value) { self.state.withLock { $0.append(value) } }

    var values: [Value] { self.state.withLock { $0 } }
}
