import Fixtures
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct TransactionTests {
    struct Refusal: Error {}

    static func withTable(_ body: (String) async throws -> Void) async throws {
        let name = TestServer.uniqueName("tx")
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TABLE \(name) (id int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        try await body(name)
        try await connection.execute(script: "DROP TABLE \(name)")
    }

    static func count(_ table: String) async throws -> Int64 {
        try await SharedDatabase.connect().query("SELECT count(*) FROM \(table)").only.int64(0)
    }

    @Test func `a closure's writes are there after commit`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            let sum = try await connection.transaction(isolation: .repeatableRead) { connection in
                try connection.query("INSERT INTO \(table) VALUES (1), (2)")
                return try connection.query("SELECT sum(id)::int8 FROM \(table)").only.int64(0)
            }
            #expect(sum == 3)
            #expect(try await Self.count(table) == 2)
            #expect(connection.isUsable)
        }
    }

    @Test func `a closure's error is rethrown, and nothing of its writes is left`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            await #expect(throws: Refusal.self) {
                try await connection.transaction { connection in
                    try connection.query("INSERT INTO \(table) VALUES (1)")
                    throw Refusal()
                }
            }
            #expect(try await Self.count(table) == 0)
            #expect(connection.isUsable)
        }
    }

    @Test func `a failed statement that the closure swallows is not committed`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            let error = await failure {
                try await connection.transaction { connection in
                    try connection.query("INSERT INTO \(table) VALUES (1)")
                    _ = try? connection.query("SELECT 1 / 0")
                }
            }
            #expect(error?.sqlState == "25P02")
            #expect(try await Self.count(table) == 0)
            #expect(connection.isUsable)
        }
    }

    @Test func `a constraint that fails at COMMIT fails the transaction`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            let error = await failure {
                try await connection.transaction { _ = try $0.query("INSERT INTO \(table) VALUES (1), (1)") }
            }
            #expect(error?.sqlState == "23505")
            #expect(try await Self.count(table) == 0)
            #expect(connection.isUsable)
        }
    }

    @Test func `a read-only transaction refuses to write, and transactions do not nest`() async throws {
        let connection = try await SharedDatabase.connect()
        let refused = await failure {
            try await connection.transaction(readOnly: true) { _ = try $0.query("CREATE TABLE never ()") }
        }
        #expect(refused?.sqlState == "25006")
        let nested = await failure {
            try await connection.transaction { outer in try outer.transaction { _ in } }
        }
        #expect(nested?.code == .usage)
        #expect(connection.isUsable)
    }

    @Test func `a connection killed inside the transaction means rolled back for certain`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            let error = await failure {
                try await connection.transaction { connection in
                    try connection.query("INSERT INTO \(table) VALUES (1)")
                    try connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(error?.code == .connectionLost)
            #expect(error?.sqlState == "57P01")
            #expect(error?.isRetryable == true)
            #expect(try await Self.count(table) == 0)
            #expect(!connection.isUsable)
        }
    }

    @Test func `a connection that dies after COMMIT was sent leaves the outcome unknown`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            // A deferred trigger runs inside COMMIT and takes the connection with it.
            try await connection.execute(
                script: """
                    CREATE FUNCTION die_\(table)() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                    CREATE CONSTRAINT TRIGGER die AFTER INSERT ON \(table) DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION die_\(table)();
                    """
            )
            let error = await failure {
                try await connection.transaction { _ = try $0.query("INSERT INTO \(table) VALUES (1)") }
            }
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.isRetryable == false)
            try await SharedDatabase.connect().execute(script: "DROP FUNCTION die_\(table) CASCADE")
        }
    }

    @Test func `a single statement killed under way has an unknown outcome`() async throws {
        let connection = try await SharedDatabase.connect()
        let error = await failure { try await connection.query("SELECT pg_terminate_backend(pg_backend_pid())") }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.sqlState == "57P01")
    }

    @Test func `a warning that comes with the commit leaves the outcome unknown, in any language`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            // As a commit that no longer waits for its standby: it succeeds, and a WARNING says so.
            try await connection.execute(
                script: """
                    CREATE FUNCTION warn_\(table)() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN RAISE WARNING ''keine Antwort''; RETURN NULL; END';
                    CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON \(table) DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION warn_\(table)();
                    """
            )
            let error = await failure {
                try await connection.transaction { _ = try $0.query("INSERT INTO \(table) VALUES (1)") }
            }
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.sqlState == "01000")
            #expect(error?.message == "keine Antwort")
            #expect(try await Self.count(table) == 1)
            try await SharedDatabase.connect().execute(script: "DROP FUNCTION warn_\(table) CASCADE")
        }
    }

    @Test func `a warning of the statement itself is not the commit's`() async throws {
        let connection = try await SharedDatabase.connect()
        let unlock = "SELECT pg_advisory_unlock(1234567890)"
        #expect(try await connection.query(unlock).only.bool(0) == false)
        #expect(try await connection.query(prepared: PreparedStatement(unlock)).only.bool(0) == false)
        try await connection.transaction { _ = try $0.query(unlock) }
        try await connection.execute(script: "SET LOCAL lock_timeout = 1")
        #expect(connection.isUsable)
    }

    @Test func `a connection killed while idle is found dead before anything is sent`() async throws {
        let connection = try await SharedDatabase.connect()
        try await SharedDatabase.terminate(connection.backendPID)
        #expect(await failure { try await connection.query("SELECT 1") }?.code == .connectionLost)
    }

    @Test func `cancelling the task rolls the transaction back and keeps the connection`() async throws {
        try await Self.withTable { table in
            let connection = try await SharedDatabase.connect()
            let task = Task {
                try await connection.transaction { connection in
                    try connection.query("INSERT INTO \(table) VALUES (1)")
                    try connection.query("SELECT pg_sleep(100000)")
                }
            }
            try await SharedDatabase.waitForSleep(connection)
            task.cancel()
            #expect(await failure { try await task.value }?.code == .cancelled)
            #expect(connection.isUsable)
            #expect(try await Self.count(table) == 0)
        }
    }
}
