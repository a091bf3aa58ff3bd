import EventStore
import Exposition
import Firebase
import Foundation
import Keys
import Logging
import PinWire
import PinledgerServer
import Pinning
import Postgres
import Probing
import Publishing
import Secrets
import Signals
import Traces
import Webhooks

/// The parts of a node, wired together: everything between the database and the sockets.
extension Node {
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
}
