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
    let trustedProxies: TrustedProxies

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

    static func failure(_ error: PostgresError) -> CommandFailure {
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
