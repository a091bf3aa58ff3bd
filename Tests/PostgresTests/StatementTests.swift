import Fixtures
import Glibc
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct StatementTests {
    @Test func `a unique violation has its SQLSTATE and names its constraint`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(
            script: "CREATE TEMP TABLE t (id int CONSTRAINT one_each UNIQUE); INSERT INTO t VALUES (1)"
        )
        let error = await failure { try await connection.query("INSERT INTO t VALUES ($1)", [.int32(1)]) }
        #expect(error?.code == .server(sqlState: "23505"))
        #expect(error?.constraint == "one_each")
        #expect(error?.detail?.contains("(1)") == true)
        #expect(error?.description.contains("(1)") == false)
        #expect(error?.isRetryable == false)
        #expect(try await connection.query("SELECT count(*) FROM t").only.int64(0) == 1)
    }

    @Test func `an error about a value does not quote it in its description`() async throws {
        let connection = try await SharedDatabase.connect()
        let error = await failure { try await connection.query("SELECT $1::text::int", [.text("s3cret")]) }
        #expect(error?.sqlState == "22P02")
        #expect(error.map { "\($0)" }?.contains("s3cret") == false)
    }

    @Test func `a syntax error leaves the connection usable`() async throws {
        let connection = try await SharedDatabase.connect()
        #expect(await failure { try await connection.query("SELEC 1") }?.sqlState == "42601")
        #expect(connection.isUsable)
        #expect(await failure { try await connection.execute(script: "SELECT 1; SELEC 2") }?.sqlState == "42601")
        #expect(try await connection.query("SELECT 1::int8").only.int64(0) == 1)
    }

    @Test func `a COPY through query is misuse`() async throws {
        let connection = try await SharedDatabase.connect()
        #expect(await failure { try await connection.query("COPY (SELECT 1) TO STDOUT") }?.code == .usage)
        #expect(!connection.isUsable)
    }

    @Test func `the server enforces the statement timeout`() async throws {
        var configuration = try SharedDatabase.configuration()
        configuration.statementTimeout = .seconds(3)
        let connection = try await PostgresConnection.connect(configuration)
        #expect(await failure { try await connection.query("SELECT pg_sleep(60)") }?.code == .server(sqlState: "57014"))
        #expect(connection.isUsable)
        try await connection.perform { connection in
            try connection.withStatementTimeout(nil) { _ = try $0.query("SELECT pg_sleep(4)") }
        }
        #expect(try await connection.query("SHOW statement_timeout").only.text(0) == "3s")
    }

    @Test func `a lock timeout ends the wait for a lock`() async throws {
        let name = TestServer.uniqueName("locked")
        var configuration = try SharedDatabase.configuration()
        configuration.lockTimeout = .milliseconds(100)
        let holder = try await SharedDatabase.connect()
        let waiter = try await PostgresConnection.connect(configuration)
        try await holder.query("CREATE TABLE \(name) ()")
        try await holder.execute(script: "BEGIN; LOCK TABLE \(name)")
        let error = await failure { try await waiter.query("SELECT * FROM \(name)") }
        #expect(error?.sqlState == "55P03")
        #expect(error?.isRetryable == true)
        try await holder.execute(script: "ROLLBACK; DROP TABLE \(name)")
    }

    @Test func `a prepared statement is parsed once and survives DISCARD ALL and a changed table`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (a int8); INSERT INTO t VALUES (1)")
        let statement: PreparedStatement = "SELECT * FROM t WHERE a = $1"
        for _ in 0..<3 {
            #expect(try await connection.query(prepared: statement, [.int64(1)]).count == 1)
        }
        let count = "SELECT count(*) FROM pg_prepared_statements"
        #expect(try await connection.query(count).only.int64(0) == 1)
        try await connection.query("ALTER TABLE t ADD b int8")
        #expect(try await connection.query(prepared: statement, [.int64(1)]).columnCount == 2)
        try await connection.query("DEALLOCATE ALL")
        #expect(try await connection.query(prepared: statement, [.int64(1)]).count == 1)
    }

    @Test func `nothing is prepared and nothing is set at start when the configuration says so`() async throws {
        var configuration = try SharedDatabase.configuration()
        configuration.preparesStatements = false
        configuration.sessionSettings = .perTransaction
        let connection = try await PostgresConnection.connect(configuration)
        try await connection.query(prepared: "SELECT 1")
        #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements").only.int64(0) == 0)
        #expect(try await connection.query("SHOW statement_timeout").only.text(0) == "0")
        let inside = try await connection.transaction { try $0.query("SHOW statement_timeout").only.text(0) }
        #expect(inside == "2min")
        #expect(try await connection.query("SHOW statement_timeout").only.text(0) == "0")
    }

    @Test func `a statement larger than the socket's buffers goes through`() async throws {
        let connection = try await SharedDatabase.connect()
        let bytes = [UInt8](repeating: 7, count: 20_000_000)
        let row = try await connection.query("SELECT $1::bytea, length($1)", [.bytes(bytes)]).only
        #expect(try row.bytes(0) == bytes)
        #expect(try row.int32(1) == 20_000_000)
    }

    // MARK: Pipelines

    @Test func `an error in an atomic pipeline undoes all of it`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (id int UNIQUE)")
        let insert = "INSERT INTO t VALUES ($1) RETURNING id"
        let results = try await connection.pipeline([
            PostgresStatement(insert, [.int32(1)]),
            PostgresStatement(insert, [.int32(1)]),
            PostgresStatement(insert, [.int32(2)]),
        ])
        #expect(try results[0].get().only.int32(0) == 1)
        #expect(throws: PostgresError.self) { try results[1].get() }
        #expect(results.map(\.failureCode) == [nil, .server(sqlState: "23505"), .pipelineAborted])
        #expect(try await connection.query("SELECT count(*) FROM t").only.int64(0) == 0)
    }

    @Test func `a pipeline of separate statements fails only at the wrong one`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (id int UNIQUE)")
        let insert = "INSERT INTO t VALUES ($1) RETURNING id"
        let statements = [1, 1, 2].map { PostgresStatement(insert, [.int32($0)]) }
        let results = try await connection.pipeline(statements, atomically: false)
        #expect(results.map(\.failureCode) == [nil, .server(sqlState: "23505"), nil])
        #expect(try await connection.query("SELECT count(*) FROM t").only.int64(0) == 2)
    }

    @Test(arguments: [true, false])
    func `a pipeline larger than both sockets' buffers does not lock up`(atomically: Bool) async throws {
        let connection = try await SharedDatabase.connect()
        let bytes = [UInt8](repeating: 1, count: 50_000)
        let statements = (0..<400).map { _ in PostgresStatement("SELECT $1::bytea", [.bytes(bytes)]) }
        let results = try await connection.pipeline(statements, atomically: atomically)
        #expect(try results.allSatisfy { try $0.get().only.bytes(0).count == 50_000 })
        #expect(connection.isUsable)
        #expect(try await connection.pipeline([]).isEmpty)
    }

    // MARK: Cancellation and deadlines

    @Test func `cancelling the task stops its statement on the server`() async throws {
        let connection = try await SharedDatabase.connect()
        let task = Task { try await connection.query("SELECT pg_sleep(100000)") }
        try await SharedDatabase.waitForSleep(connection)
        task.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
        #expect(try await connection.query("SELECT 1::int8").only.int64(0) == 1)
    }

    @Test func `cancel() stops the running statement from outside`() async throws {
        let connection = try await SharedDatabase.connect()
        let task = Task { try await connection.query("SELECT pg_sleep(100000)") }
        try await SharedDatabase.waitForSleep(connection)
        connection.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
        #expect(try await connection.query("SELECT 1::int8").only.int64(0) == 1)
    }

    @Test func `a cancelled task sends nothing`() async throws {
        let connection = try await SharedDatabase.connect()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await connection.query("SELECT 1")
        }
        task.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
        #expect(connection.isUsable)
    }

    @Test func `a stopped server does not hold the caller beyond the deadline`() async throws {
        var configuration = try SharedDatabase.configuration()
        configuration.statementTimeout = .milliseconds(200)
        configuration.answerGrace = .milliseconds(300)
        let connection = try await PostgresConnection.connect(configuration)
        let backend = connection.backendPID
        try #require(kill(backend, SIGSTOP) == 0)
        defer { kill(backend, SIGCONT) }
        // The server answers nothing as long as this waits.
        let error = await failure { try await connection.query("SELECT 1") }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.isConnectionLoss == true)
        #expect(!connection.isUsable)
        #expect(await failure { try await connection.query("SELECT 1") }?.code == .connectionLost)
    }

    @Test func `threads that wait for the server do not hold up other tasks`() async throws {
        // More than there are cooperative threads. All of them wait for what another task gives up later; if they kept
        // it from running, their time would run out.
        let waiting = try await Self.connections(8)
        let holder = try await SharedDatabase.connect()
        let lock = Int32.random(in: 1 ... .max)
        try await holder.query("SELECT pg_advisory_lock(0, \(lock))")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in waiting {
                group.addTask {
                    try await connection.query("SET lock_timeout = '20s'")
                    try await connection.query("SELECT pg_advisory_lock_shared(0, \(lock))")
                }
            }
            group.addTask {
                let sql = """
                    SELECT count(*) = 8 FROM pg_locks WHERE locktype = 'advisory' AND objid = \(lock) AND NOT granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                try await #require(eventually { try await holder.query(sql).only.bool(0) })
                try await holder.query("SELECT pg_advisory_unlock(0, \(lock))")
            }
            try await group.waitForAll()
        }
    }

    private static func connections(_ count: Int) async throws -> [PostgresConnection] {
        var connections: [PostgresConnection] = []
        for _ in 0..<count { connections.append(try await SharedDatabase.connect()) }
        return connections
    }
}

extension Result where Failure == PostgresError {
    var failureCode: PostgresError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
