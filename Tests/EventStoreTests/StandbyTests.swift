import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Synchronization
import Testing

/// Commits that wait for a standby that is away: what is not replicated is not acknowledged.
@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct StandbyTests {
    /// Has commits wait for a standby that does not exist; nil for none.
    private static func await(_ standby: String?, _ database: TestDatabase) async throws {
        let connection = try await database.connect()
        try await connection.query("ALTER SYSTEM SET synchronous_standby_names = '\(standby ?? "")'")
        try await connection.query("SELECT pg_reload_conf()")
        await connection.close()
        #expect(
            try await eventually {
                try await database.query("SHOW synchronous_standby_names").only.text(0) == standby ?? ""
            }
        )
    }

    private static func waiting(_ database: TestDatabase) async throws -> [Int32] {
        try await database.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'").map {
            try $0.int32(0)
        }
    }

    /// Returns when a node has asked so often for a standby, from now on; `check` is called meanwhile.
    private static func waitForAsks(
        _ count: Int, of node: TestNode, _ check: () async throws -> Void = {}
    ) async throws {
        let begin = try await node.database.query("SELECT clock_timestamp()::text").only.text(0)
        var asks: Set<String> = []
        let hasAsked = try await eventually {
            let rows = try await node.database.query(
                """
                SELECT query_start::text FROM pg_stat_activity WHERE application_name = $1
                    AND query LIKE '%pg_logical_emit_message%' AND query_start > $2::timestamptz
                """, [.text("\(node.name)-pool"), .text(begin)])
            asks.formUnion(try rows.map { try $0.text(0) })
            try await check()
            return asks.count >= count
        }
        #expect(hasAsked)
    }

    /// A node that is soon done with waiting.
    private static let impatient = TestNode.Setup.with {
        $0.limits.answer = .seconds(3)
        $0.limits.patience = .seconds(2)
        $0.limits.settling = .milliseconds(300)
        $0.configureWriter = {
            $0.statementTimeout = .milliseconds(600)
            $0.lockTimeout = .milliseconds(600)
            $0.answerGrace = .milliseconds(200)
        }
    }

    @Test func `a commit that no longer waits for its standby is no success`() async throws {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            // So long that only the cancelled wait ends the statement.
            let patient = TestNode.Setup.with {
                $0.limits.settling = .milliseconds(300)
                $0.configureWriter = { $0.statementTimeout = .seconds(60) }
            }
            try await TestNode.run(on: database, patient) { node in
                let app = try Sample.app()
                _ = try await node.writer.execute(try Sample.create(app))
                try await Self.await("nobody", database)
                let change = try Sample.rename(app, "perhaps here alone", key: "k")
                let answered = Flag()
                let answer = Task {
                    defer { answered.set() }
                    return await node.attempt(change)
                }
                #expect(try await eventually { try await Self.waiting(database).count == 1 })
                // As an administrator does who wants the primary to go on.
                let isAnswered = try await eventually {
                    for pid in try await Self.waiting(database) {
                        try await database.query("SELECT pg_cancel_backend($1)", [.int32(pid)])
                    }
                    return answered.isSet
                }
                #expect(isAnswered)
                #expect(await answer.value.failure == .outcomeUnknown)
                // It is in this server's ledger all the same, as the warning says.
                #expect(try await Ledgers.renames(database) == ["perhaps here alone"])
                try await Self.await(nil, database)
                let again = try await node.insist(change)
                #expect(again.isReplay && again.entries.count == 1)
            }
        }
    }

    @Test func `a node that requires a standby confirms nothing on a server that waits for none`() async throws {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            var demanding = Self.impatient
            let configure = demanding.configureWriter
            demanding.configureWriter = {
                configure(&$0)
                $0.requiresSynchronousStandby = true
            }
            let app = try Sample.app()
            let missing = WriteFailure.unavailable("the database has no synchronous standby, which this node requires")
            let (create, change) = (try Sample.create(app), try Sample.rename(app, "perhaps here alone", key: "k"))
            try await TestNode.run(on: database, .with { $0.follows = false }) { easy in
                try await TestNode.run(on: database, demanding) { node in
                    #expect(await node.attempt(create).failure == missing)
                    #expect(node.ledger.database.writeFailure?.contains("synchronous standby") == true)
                    _ = try await easy.writer.execute(create)
                    #expect(await eventually { node.ledger.position == 1 })
                    // The change goes to the server, and waits for a standby that does not come.
                    try await Self.await("nobody", database)
                    // Its session may see the new setting a moment later than others.
                    #expect(await eventually { await node.attempt(change).failure == .outcomeUnknown })
                    for pid in try await Self.waiting(database) {
                        try await database.query("SELECT pg_cancel_backend($1)", [.int32(pid)])
                    }
                    // A cluster manager gives the standby up: the answer to the repeated request is not confirmed either.
                    try await Self.await(nil, database)
                    let again = await node.attempt(change).failure
                    #expect(again == missing || again == .outcomeUnknown)
                }
                // The test sees a node that does not insist.
                let again = try await easy.insist(change)
                #expect(again.entries.count == 1)
            }
        }
    }

    @Test func `a change whose standby is given up while it is waited for has an unknown outcome`() async throws {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            for isDemanding in [true, false] {
                // So long that only the changed setting ends the statement.
                let patient = TestNode.Setup.with {
                    $0.limits.settling = .milliseconds(300)
                    $0.configureWriter = {
                        $0.statementTimeout = .seconds(60)
                        $0.requiresSynchronousStandby = isDemanding
                    }
                }
                let app = try AppID(isDemanding ? "com.example.strict" : "com.example.lenient")
                try await TestNode.run(on: database, patient) { node in
                    try await Self.await("nobody", database)
                    async let answer = node.attempt(try Sample.create(app))
                    #expect(try await eventually { try await !Self.waiting(database).isEmpty })
                    try await Self.await(nil, database)
                    let failure = try await answer.failure
                    #expect(failure == (isDemanding ? .outcomeUnknown : nil))
                }
            }
        }
    }

    /// A node that prefers standbys reads from the primary where none answers.
    @Test(arguments: [PostgresConfiguration.PreferredServer.readWrite, .preferStandby])
    func `a node that requires a standby takes in nothing that no standby has`(
        preferring server: PostgresConfiguration.PreferredServer
    ) async throws {
        let log = LogRecorder()
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            var demanding = Self.impatient
            demanding.logger = log.logger
            demanding.configurePool = {
                $0.statementTimeout = .milliseconds(600)
                $0.answerGrace = .milliseconds(200)
                $0.requiresSynchronousStandby = true
                $0.preferredServer = server
            }
            let app = try Sample.app()
            let (create, change) = (try Sample.create(app), try Sample.rename(app, "perhaps here alone", key: "k"))
            var easy = Self.impatient
            easy.follows = false
            try await TestNode.run(on: database, easy) { easy in
                try await TestNode.run(on: database, demanding) { node in
                    _ = try await easy.writer.execute(create)
                    try await Self.await("nobody", database)
                    #expect(await eventually { await easy.attempt(change).failure == .outcomeUnknown })
                    for pid in try await Self.waiting(database) {
                        try await database.query("SELECT pg_cancel_backend($1)", [.int32(pid)])
                    }
                    // It is visible on this server, and may be lost with it.
                    #expect(try await eventually { try await Ledgers.renames(database) == ["perhaps here alone"] })
                    #expect(await eventually { log.text.contains { $0.contains("end_unconfirmed") } })
                    // However long it asks, it keeps no session that waits: the server would never end one.
                    try await Self.waitForAsks(3, of: node) {
                        let waiting = try await Self.waiting(database)
                        #expect(waiting.count <= 2)
                    }
                    // The first event may be in: the server is told of the standby a moment later than its sessions.
                    #expect(node.ledger.position < 2)
                    #expect(node.ledger.fault == nil)
                    #expect(node.ledger.database.writeFailure == nil)
                    // Where commits wait for no standby, their success says nothing.
                    try await Self.await(nil, database)
                    try await Self.waitForAsks(2, of: node)
                    #expect(node.ledger.position < 2)
                    // A standby that writes down the log and applies none of it will do.
                    try await cluster.receiveLog(as: "nobody")
                    try await Self.await("nobody", database)
                    #expect(await eventually { node.ledger.position == 2 })
                }
            }
        }
        #expect(log.text.count { $0.contains("end_unconfirmed") } == 1)
    }

    @Test func `a node that starts waits for a standby that has the ledger's end`() async throws {
        let log = LogRecorder()
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            try await TestNode.run(on: database, Self.impatient) { node in
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
            }
            let starting = TestNode.Setup.with {
                $0.follows = false
                $0.logger = log.logger
                $0.configurePool = {
                    $0.statementTimeout = .milliseconds(600)
                    $0.answerGrace = .milliseconds(200)
                    $0.requiresSynchronousStandby = true
                }
            }
            try await TestNode.run(on: database, starting) { node in
                let (ledger, follower) = (node.ledger, node.follower)
                ledger.beginReading()
                // A command does not wait; a node does.
                await #expect(throws: Follower.Unconfirmed.self) { try await follower.readToEnd() }
                async let start: Void = follower.readToEnd {}
                #expect(await eventually { log.text.contains { $0.contains("end_unconfirmed") } })
                let waiting = LedgerFault.unconfirmed(position: 0, of: 1)
                #expect(ledger.position == 0 && ledger.unread == waiting)
                try await Self.await("nobody", database)
                try await Self.waitForAsks(2, of: node)
                #expect(ledger.position == 0 && ledger.unread == waiting)
                try await cluster.receiveLog(as: "nobody")
                try await start
                #expect(ledger.position == 1)
            }
        }
        #expect(log.text.count { $0.contains("end_unconfirmed") } == 1)
    }

    @Test func `a commit without its standby has an unknown outcome`() async throws {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            try await database.execute("CREATE TABLE public.t (a int8)")
            try await Self.await("nobody", database)
            let insert = "INSERT INTO public.t VALUES"
            let ways: [(name: String, work: @Sendable (PostgresConnection) async throws -> Void)] = [
                ("COMMIT", { try await $0.transaction { _ = try $0.query("\(insert) (1)") } }),
                ("a statement", { try await $0.query("\(insert) (2)") }),
                ("a prepared one", { try await $0.query(prepared: PreparedStatement("\(insert) (3)")) }),
                ("a script", { try await $0.execute(script: "\(insert) (4)") }),
                ("a pipeline", { _ = try await $0.pipeline([PostgresStatement("\(insert) (5)")]) }),
                ("a COPY", { _ = try await Self.copy(into: $0) }),
            ]
            for (name, work) in ways {
                let connection = try await database.connect()
                async let lost = failure { try await work(connection) }
                #expect(try await eventually { try await Self.waiting(database).count == 1 })
                for pid in try await Self.waiting(database) {
                    try await database.query("SELECT pg_cancel_backend($1)", [.int32(pid)])
                }
                let error = await lost
                #expect(error?.code == .outcomeUnknown, "\(name)")
                #expect(error?.sqlState == "01000", "\(name)")
            }
            #expect(try await database.query("SELECT count(*) FROM public.t").only.int64(0) == 6)
        }
    }

    private static func copy(into connection: PostgresConnection) async throws {
        try await connection.perform { @Sendable connection in
            var chunks: [[UInt8]] = [Array("6\n".utf8)]
            _ = try connection.copyIn("COPY public.t FROM STDIN", chunks: { chunks.popLast() })
        }
    }

    @Test func `a repetition is answered once a standby has what it repeats`() async throws {
        try await TestCluster.run { cluster in
            let database = try await cluster.database()
            let (app, other) = (try Sample.app(), try Sample.app())
            let change = try Sample.rename(app, "not replicated", key: "k")
            try await TestNode.run(on: database, Self.impatient) { node in
                _ = try await node.writer.execute(try Sample.create(app))
                _ = try await node.writer.execute(try Sample.create(other))
                try await Self.await("nobody", database)
                // On a busy machine, the time may be over before anything was sent.
                var failure = await node.attempt(change).failure
                for _ in 0..<20 where failure != .outcomeUnknown { failure = await node.attempt(change).failure }
                #expect(failure == .outcomeUnknown)
            }
            // What waited for the standby is there when the server is back, though nobody has waited to the end.
            try await cluster.control("restart")
            try await TestNode.run(on: database, Self.impatient) { node in
                try await node.follower.catchUp()
                #expect(try await Ledgers.renames(database) == ["not replicated"])
                let repeated = await node.attempt(change)
                #expect(repeated.failure != nil, "a repetition: \(repeated)")
                // The same without a key: it finds what it wants, and that is not replicated either.
                let noticed = await node.attempt(try Sample.rename(app, "not replicated"))
                #expect(noticed.failure != nil, "what finds nothing to do: \(noticed)")
                await #expect(throws: WriteFailure.outcomeUnknown, "the look past the writer") {
                    try await LedgerReader(pool: node.pool).recorded(by: change)
                }
                try await Self.await(nil, database)
                #expect(try await node.insist(change).isReplay)
                #expect(try await LedgerReader(pool: node.pool).recorded(by: change)?.isReplay == true)
                #expect(try await node.insist(try Sample.rename(app, "not replicated")).entries.isEmpty)
                #expect(await eventually { node.ledger.database.writeFailure == nil })
            }
        }
    }
}

/// True once something has come to its end.
private final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { self.state.withLock { $0 } }
    func set() { self.state.withLock { $0 = true } }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
