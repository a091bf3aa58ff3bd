import EventStore
import Exposition
import Firebase
import Foundation
import Keys
import LogLines
import Logging
import PinWire
import PinledgerServer
import Pinning
import Postgres
import Probing
import Publishing
import Secrets
import ServiceLifecycle
import Signals
import TraceExport
import Traces
import UnixSignals
import Webhooks
import Witnesses

/// One server process: everything between the database and the sockets, wired together.
struct Node {
    let configuration: NodeConfiguration
    let logger: Logger
    private let lines = HeldLines()
    private let logLevel: SharedLogLevel
    private let trustedProxies: TrustedProxies

    init(configuration: NodeConfiguration) {
        self.configuration = configuration
        let level = SharedLogLevel(configuration.logLevel)
        self.logLevel = level
        self.trustedProxies = TrustedProxies(configuration.telemetry.trustedProxies)
        self.logger = Logger(label: "pinledger") { [lines] in
            RepeatedLines(configuration.logFormat.handler(label: $0), held: lines, level: level)
        }
    }

    static let clock: @Sendable () -> Timestamp = {
        Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }

    /// Starts, serves until told to stop, and stops in order.
    ///
    /// - Parameter onServing: Called once every listener is bound, with the clients' port.
    func run(onServing: @escaping @Sendable (Int, Services) async -> Void) async throws {
        EventLoops.fitToProcessors()
        let lock = try self.configuration.memory.directory.map { try StateLock(directory: $0) }
        defer { withExtendedLifetime(lock) {} }
        let parts = try await self.assemble()
        let progress = StartProgress()
        let failure: (any Error)? = await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.start(parts, progress) }
            // A node that is told to stop may still read the ledger.
            defer { group.cancelAll() }
            do {
                try await progress.documentsServed()
                try await self.serve(parts, progress, onServing: onServing)
                return nil
            } catch {
                return error
            }
        }
        await self.close(parts)
        if let failure { throw failure }
        self.logger.log(.serverStopped)
    }

    /// Serves until told to stop: documents from the beginning, and everything else once the node has started.
    private func serve(
        _ parts: Parts, _ progress: StartProgress, onServing: @escaping @Sendable (Int, Services) async -> Void
    ) async throws {
        let (services, follower) = (parts.services, parts.follower)
        let (ledger, pool, writer, publisher) = (services.ledger, services.pool, services.writer, services.publisher)
        let limits = Descriptors.fit(self.configuration.limits, self.logger)
        services.health.watch(self.configuration.certificate)
        let accessLog = try self.openAccessLog(services.metrics)
        let server = Server(
            services: services, limits: limits, certificate: self.configuration.certificate, accessLog: accessLog,
            tracer: parts.tracer)

        let reporter = NodeReporter(services: services, name: Self.name)
        // In this order: a migration that this program cannot work with either sees the report, or is seen here.
        await reporter.report()
        // What reads the ledger looks at the schema where the database is away.
        if parts.clock.isMeasured { try await self.checkSchema(of: pool) }
        // Started first, stopped last.
        var running: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: Loop { await self.lines.run() }),
            .init(service: Starting(progress: progress)),
            .init(service: Loop { await parts.clock.run(parts.reserved, watching: ledger) }),
            .init(service: Loop { await reporter.run() }),
            .init(service: Loop { await services.adoption.run() }),
            .init(service: Loop { await services.telemetry.recorder.run() }),
            .init(service: Loop { await accessLog?.run() }),
            .init(service: Loop { await self.exporter(of: parts.tracer)?.run() }),
            .init(service: server.rounds),
        ]
        func begin(_ work: @escaping @Sendable () async -> Void) {
            running.append(
                .init(
                    service: Loop {
                        guard await progress.started() != nil else { return }
                        await work()
                    }))
        }
        begin { await follower.run(beside: await progress.started()?.audit) }
        begin { await writer?.run() }
        begin { await publisher.run() }
        begin { await services.lag.run() }
        begin { await TokenUseWorker(services: services).run() }
        begin { await services.beginLedger() }
        begin { await services.probeScheduler.run() }
        begin { await parts.factSources.renewals.run() }
        // Also without a file: SIGHUP would end the process otherwise.
        running.append(
            .init(
                service: FileRenewal(
                    files: self.renewedFiles(of: server, accessLog), logger: self.logger, health: services.health)))
        if let writer {
            let housekeeping = Housekeeping(
                ledger: ledger, pool: pool, snapshotKey: try self.snapshotKey,
                telemetryDays: self.configuration.telemetry.retentionDays, logger: self.logger,
                metrics: services.metrics)
            let commands = SystemCommands(ledger: ledger, writer: writer, logger: self.logger)
            let warningInterval = Duration.seconds(min(60, self.configuration.probing.interval))
            let workers: [@Sendable () async -> Void] = [
                housekeeping.run,
                KillSwitchExpiryWorker(services: services, commands: commands).run,
                DueChangeWorker(services: services, commands: commands).run,
                AuditWorker(services: services, commands: commands, node: Self.name).run,
                WarningWorker(services: services, commands: commands, interval: warningInterval).run,
                PublicationWorker(services: services, commands: commands).run,
                UnusedSecretWorker(services: services).run,
                UnusedMaterialWorker(services: services).run,
                RolloutPlanWorker(services: services, commands: commands).run,
                ReactionWorker(services: services, commands: commands).run,
                DatabaseStandingWorker(services: services).run,
            ]
            for work in workers { begin(work) }
            if let keyEncryptionKeys = self.configuration.keyEncryptionKeys {
                begin(SecretWorker(services: services, keyEncryptionKeys: keyEncryptionKeys).run)
            }
            if let keys = ledger.keys {
                begin {
                    guard await progress.started()?.keeper?.isContinued == true else { return }
                    await VouchingWorker(services: services, keys: keys).run()
                }
            }
        } else {
            begin(AuditDepositor(services: services, node: Self.name).run)
        }
        if let writer, let client = services.webhooks.client {
            let sender = WebhookSender(
                ledger: ledger, writer: writer, tools: services.webhooks, client: client, node: Self.name,
                logger: self.logger, clock: services.clock
            )
            begin { await sender.run() }
            let witnessing = WitnessWorker(
                ledger: ledger, source: services.checkpoints, client: WitnessClient(client: client), pool: pool,
                logger: self.logger, clock: services.clock)
            begin { await witnessing.run() }
        }
        let firebase = self.configuration.firebase
        let google =
            firebase.accounts.isEmpty
            ? nil : FirebaseHTTP(userAgent: "pinledger/\(Version.text)", clock: services.clock)
        for account in firebase.accounts {
            guard let google else { break }
            let rounds = self.rounds(of: account, by: google, services)
            begin { await rounds.run() }
        }
        let listen = self.configuration.listen
        var listeners = [
            Server.Listener(
                .everything, host: listen.host, port: listen.port, connections: limits.connections)
        ]
        if let admin = self.configuration.adminListen {
            // Operators are few; clients, however many, leave them their share.
            let share = max(1, listeners[0].connections / 16)
            listeners[0].content = .client
            listeners[0].connections = max(1, listeners[0].connections - share)
            listeners.append(.init(.admin, host: admin.host, port: admin.port, connections: share))
        }
        if let metrics = self.configuration.metricsListen {
            listeners.append(.init(.metrics, host: metrics.host, port: metrics.port, connections: 64))
        }
        let (bound, binding) = AsyncStream.makeStream(of: (listener: Int, port: Int).self)
        let applications: [any Service] = listeners.enumerated().map { index, listener in
            server.application(for: listener) { binding.yield((index, $0)) }
        }
        // A little before the listeners cut off requests in flight, so that a request that waits for a commit still
        // gets its answer.
        let patience = Duration.milliseconds(900 * self.configuration.limits.drainSeconds)
        running.append(
            .init(service: Together(services: applications, patience: patience) { writer?.answerAll() }))
        // Logged by a service of its own: a listener accepts no connection before it has announced that it is bound.
        let expected = listeners.count
        let manager = ServiceManager(logger: self.logger)
        running.append(
            .init(
                service: Loop {
                    var ports: [Int: Int] = [:]
                    for await (index, port) in bound {
                        ports[index] = port
                        if ports.count == expected { break }
                    }
                    guard let port = ports[0], ports.count == expected else { return }
                    // Also where it waits for the database, and serves what it remembers.
                    manager?.noteReady()
                    guard await progress.started() != nil else { return }
                    await onServing(port, services)
                }
            )
        )
        running.append(.init(service: Loop { await manager?.run() }))
        // Started last, stopped first: the listeners go on until it is done.
        running.append(
            .init(
                service: DrainDelay(
                    drain: services.drain, seconds: self.configuration.drainDelay,
                    drainSeconds: self.configuration.limits.drainSeconds, logger: self.logger)))
        var group = ServiceGroupConfiguration(
            services: running, gracefulShutdownSignals: [.sigterm, .sigint], logger: self.logger
        )
        group.maximumGracefulShutdownDuration = .seconds(
            self.configuration.drainDelay + self.configuration.limits.drainSeconds + 10
        )
        do { try await ServiceGroup(configuration: group).run() } catch {
            await google?.close()
            self.lines.writeHeld(before: nil)
            if error is CommandFailure { throw error }
            guard error is CancellationError else {
                self.logger.log(.serverFailed, ["error": "\(ErrorText.sentence(for: error))"])
                throw error
            }
            throw CommandFailure(
                "the node was told to stop, and cut off requests that did not end in time",
                advice: "Check that the database answers. Repeat changes that got no response.")
        }
        await google?.close()
    }

    /// Takes over the settings that a running node can.
    func apply(_ settings: SettingsRenewal.Reloaded, to server: Server) {
        self.logLevel.set(settings.logLevel)
        self.trustedProxies.set(settings.trustedProxies)
        server.apply(settings.limits)
    }

    /// Closes what ``assemble()`` has opened.
    func close(_ parts: Parts) async {
        parts.services.ledger.close()
        await parts.factSources.close()
        await parts.services.webhooks.client?.close()
        await parts.services.pool.close()
        await parts.reserved.close()
    }

    /// The worker that keeps the project of a service account in step.
    private func rounds(of account: ServiceAccount, by google: FirebaseHTTP, _ services: Services) -> FirebaseWorker {
        let firebase = self.configuration.firebase
        let service = RemoteConfigService(
            project: account.project, endpoint: firebase.endpoint,
            tokens: AccessTokens(account: account, http: google, clock: services.clock), http: google)
        return FirebaseWorker(
            services: services, project: account.project, push: ProjectPush(store: service),
            interval: .seconds(firebase.interval))
    }

    /// The name that tells this process from other nodes.
    static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return "\(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)):\(getpid())"
    }

    struct Parts: Sendable {
        var services: Services
        /// The connections of the follower, the publisher and the clock, which no request and no report can take.
        var reserved: PostgresPool
        var follower: Follower
        var clock: DatabaseClock
        var factSources: NodeFactSources
        var tracer: NodeTracer
    }

    /// The key that authenticates snapshots, where this node has the key-encryption key.
    var snapshotKey: SnapshotKey? {
        get throws { try self.configuration.keyEncryptionKeys.map(SnapshotKey.init) }
    }

    /// Everything behind the sockets, with the ledger still to be read.
    func assemble() async throws -> Parts {
        var database = PostgresConfiguration(connectionString: self.configuration.database)
        database.connectTimeout = min(database.connectTimeout, self.configuration.databaseTimeout)
        database.statementTimeout = self.configuration.databaseTimeout * 2
        database.answerGrace = .seconds(1)
        database.preferredServer = self.configuration.isReadOnly ? .preferStandby : .readWrite
        database.requiresSynchronousStandby = self.configuration.requiresSynchronousStandby
        let pool = PostgresPool(configuration: database)
        let reserved = PostgresPool(configuration: database, maximumConnections: 2, maximumPerKind: 1)
        let clock = DatabaseClock(systemClock: Self.clock, logger: self.logger)
        do { try await self.open(reserved, clock) } catch let error as PostgresError {
            guard error.meansNoServer, self.hasMemory else { throw Self.failure(error) }
        }
        let now: @Sendable () -> Timestamp = { clock.now }
        let verifiers = self.configuration.batchPublicKeys.map(BatchVerifier.init)
        let ledger = Ledger(
            keys: try self.configuration.keyEncryptionKeys.map(BatchKeys.init), verifiers: verifiers)
        ledger.beginReading()
        for each in [pool, reserved] { ledger.hold(each, logger: self.logger) }
        clock.judge(ledger)
        // Notifications come from the primary alone, where the connection string names it.
        let listener = PostgresListener(
            configuration: database.ofPrimary ?? database, channels: [Follower.channel, Publisher.channel],
            retryLimit: .seconds(self.configuration.isReadOnly ? 60 : 5)
        )
        let metrics = MetricRegistry()
        let tracer = self.tracer(metrics)
        let follower = Follower(
            ledger: ledger, pool: reserved, bundles: self.configuration.bundles, listener: listener,
            logger: self.logger, metrics: metrics)
        let table = DocumentTable(clock: now)
        let keyEncryptionKeys = self.configuration.isReadOnly ? nil : self.configuration.keyEncryptionKeys
        let keys = SigningKeys(pool: reserved, keyEncryptionKeys: keyEncryptionKeys)
        let publisher = Publisher(
            ledger: ledger, keys: keys, pool: reserved, listener: listener,
            schedule: .init(lifetimeSeconds: self.configuration.documentLifetime), table: table,
            logger: self.logger, metrics: metrics, clock: now
        )
        let material = MaterialStore(pool: pool)
        // Last, because it has threads to end: nothing after it fails.
        let factSources = try await NodeFactSources(
            self.configuration, pool: pool, material: material, ledger: ledger, documents: table, logger: self.logger,
            metrics: metrics,
            outgoing: self.makeOutgoingClient, clock: now)
        let writer =
            self.configuration.isReadOnly
            ? nil
            : Writer(
                ledger: ledger, configuration: Self.writing(database, within: self.configuration.databaseTimeout),
                limits: Self.limits(self.configuration), logger: self.logger, clock: now,
                environment: factSources.environment, metrics: metrics
            )
        let services = Services(
            ledger: ledger, writer: writer, pool: pool, bundles: self.configuration.bundles, publisher: publisher,
            keys: keys,
            logKeys: SigningKeys(pool: pool, keyEncryptionKeys: keyEncryptionKeys, role: SealedSecret.checkpointRole),
            clientKeys: ClientKeys(pool: pool, keyEncryptionKeys: keyEncryptionKeys),
            material: material, adoption: factSources.adoption,
            telemetry: TelemetryServices(
                recorder: factSources.telemetry,
                secrets: TelemetrySecrets(pool: pool, keyEncryptionKeys: keyEncryptionKeys),
                trustedProxies: self.trustedProxies),
            webhooks: self.webhookTools(pool, tracer, metrics),
            firebase: PushStatus(projects: Set(self.configuration.firebase.accounts.map(\.project))), clock: now,
            logger: self.logger,
            caching: self.configuration.caching,
            countries: CountrySource(
                field: self.configuration.countryHeader, database: self.configuration.countryDatabase,
                trustedProxies: self.trustedProxies),
            version: Version.text,
            observations: factSources.observations, probeScheduler: factSources.probeScheduler,
            environment: factSources.environment, metrics: metrics
        )
        if self.configuration.isTrial { services.trialSetup.begin() }
        return Parts(
            services: services, reserved: reserved, follower: follower, clock: clock, factSources: factSources,
            tracer: tracer)
    }

    /// The service that signs and sends webhooks, where this node may.
    private func webhookTools(
        _ pool: PostgresPool, _ tracer: NodeTracer, _ metrics: MetricRegistry
    ) -> WebhookServices {
        let keyEncryptionKeys = self.configuration.isReadOnly ? nil : self.configuration.keyEncryptionKeys
        return WebhookServices(
            pool: pool, secrets: WebhookSecrets(pool: pool, keyEncryptionKeys: keyEncryptionKeys),
            client: keyEncryptionKeys.map { _ in self.makeOutgoingClient() }, tracer: tracer, metrics: metrics)
    }

    /// A client for the addresses that operators give, as the options allow. Its user closes it.
    func makeOutgoingClient() -> OutgoingClient {
        let outgoing = self.configuration.outgoing
        return OutgoingClient(
            limits: .init(total: .seconds(outgoing.webhookTimeout)),
            refusal: { outgoing.policy.refusal(of: $0) }, allowsPlain: outgoing.allowsPlainWebhooks,
            trustFile: outgoing.trustFile, userAgent: "pinledger/\(Version.text)"
        )
    }

    /// The writer's share of a command's time: the rest serves to find out the outcome of a batch.
    private static func writing(_ database: PostgresConfiguration, within limit: Duration) -> PostgresConfiguration {
        var configuration = database
        configuration.connectTimeout = limit * 0.6
        configuration.statementTimeout = limit * 0.6
        configuration.lockTimeout = limit * 0.6
        configuration.idleInTransactionTimeout = limit
        configuration.answerGrace = limit * 0.1
        return configuration
    }

    private static func limits(_ configuration: NodeConfiguration) -> Writer.Limits {
        var limits = Writer.Limits()
        limits.queue = configuration.writeQueue
        limits.answer = configuration.databaseTimeout
        limits.patience = configuration.databaseTimeout * 0.5
        limits.settling = configuration.databaseTimeout * 0.3
        return limits
    }

    /// Looks at a database for the first time: its schema has to be this program's, and its clock is the node's.
    ///
    /// - Throws: `PostgresError` where it does not answer; ``CommandFailure`` where it cannot be worked with.
    func open(_ pool: PostgresPool, _ clock: DatabaseClock) async throws {
        try await self.requireSchema(of: pool)
        try await clock.measure(pool)
    }

    /// Whether the node remembers what it has served, so that it can serve without a database.
    var hasMemory: Bool {
        self.configuration.memory.directory.map { directory in
            FileManager.default.fileExists(atPath: NodeMemoryFile(directory: directory, keyEncryptionKeys: nil).path)
        } ?? false
    }

    private static func failure(_ error: PostgresError) -> CommandFailure {
        if Pooler.isReason(for: error) { return CommandFailure(Pooler.message, advice: Pooler.advice) }
        return CommandFailure(
            "the database cannot be used: \(error)", advice: "Run `pinledger doctor` to find out why.",
            status: .unreachable)
    }

    /// Refuses a database whose schema this program cannot work with.
    private func checkSchema(of pool: PostgresPool) async throws {
        do { try await self.requireSchema(of: pool) } catch let error as PostgresError { throw Self.failure(error) }
    }

    /// The same, where no answer is no refusal.
    private func requireSchema(of pool: PostgresPool) async throws {
        let status: Migrator.Status
        do {
            status = try await pool.withConnection { connection in
                try await Pooler.refuse(connection)
                return try await Migrator().status(on: connection)
            }
        } catch let failure as MigrationFailure {
            throw CommandFailure("\(failure)", advice: failure.advice)
        } catch let error as PostgresError where Pooler.isReason(for: error) {
            throw Self.failure(error)
        }
        guard case .upToDate = status else {
            throw CommandFailure(
                "the database is not migrated",
                advice: "Run `pinledger migrate` with an account that may create the schema."
            )
        }
    }
}
