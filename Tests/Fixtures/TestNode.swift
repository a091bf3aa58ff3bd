package import EventStore
package import Logging
package import PinWire
import Pinning
package import Postgres

/// What a server's process holds of the ledger: its fold, its writer and its follower, running.
package struct TestNode: Sendable {
    package let name: String
    package let database: TestDatabase
    package let ledger: Ledger
    package let writer: Writer
    package let pool: PostgresPool
    package let follower: Follower
    package let logger: Logger

    /// How a node is set up.
    package struct Setup: Sendable {
        package var name = "node"
        /// Whether a follower runs.
        package var follows = true
        /// As whom it connects.
        package var user = TestDatabase.User.app
        /// No command is refused for the slowness of the machine, unless a test says so.
        package var limits = Writer.Limits.patient
        package var view = LedgerView()
        /// What it authenticates batches with.
        package var keys: BatchKeys?
        /// By whose signatures it follows the ledger.
        package var verifiers: [BatchVerifier] = []
        package var logger = Logger.silent
        /// The highest feature level that its program knows.
        package var knownLevel = FeatureLevel.known
        /// From how many entries on the follower reads by COPY.
        package var bulkSize: Int64 = 8000
        /// How often the follower looks without being told.
        package var pollInterval = Duration.seconds(1)
        package var clock: @Sendable () -> Timestamp = { .wall }
        /// Changes how the writer connects.
        package var configureWriter: @Sendable (inout PostgresConfiguration) -> Void = { _ in }
        /// How many connections the follower may have at once.
        package var poolSize = 4
        /// Changes how the follower reads.
        package var configurePool: @Sendable (inout PostgresConfiguration) -> Void = { _ in }
        /// Changes where the follower listens.
        package var configureListener: @Sendable (inout PostgresConfiguration) -> Void = { _ in }

        package init() {}

        /// The usual one with a change.
        package static func with(_ change: (inout Setup) -> Void) -> Setup {
            var setup = Setup()
            change(&setup)
            return setup
        }
    }

    /// The application name of the writer's connection.
    package var writerName: String { "\(self.name)-writer" }
    /// The application name of the follower's listening connection.
    package var listenerName: String { "\(self.name)-listener" }

    /// Runs one node for as long as the closure runs.
    package static func run<R>(
        on database: TestDatabase, _ setup: Setup = Setup(), _ body: (TestNode) async throws -> R
    ) async throws -> R {
        let node = try TestNode(database, setup)
        let follows = setup.follows
        let result = await withTaskGroup(of: Void.self, returning: Result<R, any Error>.self) { group in
            group.addTask { await node.writer.run() }
            if follows { group.addTask { await node.follower.run() } }
            let result: Result<R, any Error>
            do { result = .success(try await body(node)) } catch { result = .failure(error) }
            group.cancelAll()
            await group.waitForAll()
            return result
        }
        node.ledger.close()
        await node.pool.close()
        return try result.get()
    }

    /// Runs several nodes on one database.
    package static func run<R>(
        _ count: Int, on database: TestDatabase, _ setup: Setup = Setup(), _ body: ([TestNode]) async throws -> R
    ) async throws -> R {
        try await self.run(count, on: database, setup, beside: [], body)
    }

    private static func run<R>(
        _ count: Int, on database: TestDatabase, _ setup: Setup, beside running: [TestNode],
        _ body: ([TestNode]) async throws -> R
    ) async throws -> R {
        guard running.count < count else { return try await body(running) }
        var own = setup
        own.name = "node\(running.count)"
        return try await self.run(on: database, own) { node in
            try await self.run(count, on: database, setup, beside: running + [node], body)
        }
    }

    private init(_ database: TestDatabase, _ setup: Setup) throws {
        self.name = setup.name
        self.database = database
        self.logger = setup.logger
        self.ledger = Ledger(
            view: setup.view, keys: setup.keys, verifiers: setup.verifiers, knownLevel: setup.knownLevel)
        var reading = try database.configuration(as: setup.user, applicationName: "\(setup.name)-pool")
        setup.configurePool(&reading)
        self.pool = PostgresPool(
            configuration: reading, maximumConnections: setup.poolSize, waitTimeout: .seconds(180))
        var configuration = try database.configuration(as: setup.user, applicationName: "\(setup.name)-writer")
        setup.configureWriter(&configuration)
        self.writer = Writer(
            ledger: self.ledger, configuration: configuration, limits: setup.limits, logger: setup.logger,
            clock: setup.clock, environment: DecisionEnvironment(knownLevel: setup.knownLevel) { _ in false }
        )
        var listening = try database.configuration(as: setup.user, applicationName: "\(setup.name)-listener")
        setup.configureListener(&listening)
        self.follower = Follower(
            ledger: self.ledger, pool: self.pool,
            listener: PostgresListener(
                configuration: listening,
                channels: [Follower.channel], pollInterval: setup.pollInterval
            ),
            logger: setup.logger, bulkSize: setup.bulkSize
        )
    }

    /// Executes, and gives the failure back as a value.
    package func attempt(_ request: CommandRequest) async -> Result<Recorded, WriteFailure> {
        do { return .success(try await self.writer.execute(request)) } catch { return .failure(error) }
    }

    /// Executes and asks again while the answer is not final; as a client with an idempotency key does.
    package func insist(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        let end = ContinuousClock.now + .seconds(180)
        while true {
            do { return try await self.writer.execute(request) } catch {
                switch error {
                case .unavailable, .outcomeUnknown, .overloaded: guard ContinuousClock.now < end else { throw error }
                default: throw error
                }
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The fold of the whole ledger as the database has it now.
    package func fullFold() async throws -> LedgerView {
        let ledger = Ledger()
        let follower = Follower(
            ledger: ledger, pool: self.pool,
            listener: PostgresListener(configuration: self.pool.configuration, channels: []), logger: self.logger
        )
        try await follower.catchUp()
        return ledger.view
    }
}

extension Writer.Limits {
    /// Limits that only what never ends reaches.
    package static var patient: Self {
        var limits = Self()
        (limits.answer, limits.patience, limits.settling) = (.seconds(180), .seconds(180), .seconds(180))
        return limits
    }
}
