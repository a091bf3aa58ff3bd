package import EventStore
package import Exposition
package import Firebase
package import IdentityTokens
package import Logging
package import PinWire
package import Pinning
package import Postgres
package import Publishing
package import Secrets
package import Signals
package import Webhooks
package import Witnesses

/// What the handlers of a node work with.
package struct Services: Sendable {
    package var ledger: Ledger
    /// Nil on a read-only node.
    package var writer: Writer?
    package var pool: PostgresPool
    /// Where the entries of pruned events are; nil where this node has none.
    package var bundles: BundleDirectory?
    package var publisher: Publisher
    package var keys: SigningKeys
    /// What checkpoints of the log are signed with.
    package var logKeys: SigningKeys
    /// The log's checkpoints, as this node shows them.
    package let checkpoints: CheckpointSource
    /// What deployed clients' formats are signed with.
    package var clientKeys: ClientKeys
    /// The bytes of keys and certificates.
    package var material: MaterialStore
    /// Which document versions clients hold.
    package var adoption: AdoptionRecorder
    package var webhooks: WebhookServices
    /// What clients report.
    package var telemetry: TelemetryServices
    /// What has become of pushes to Firebase projects.
    package var firebase: PushStatus
    package var clock: @Sendable () -> Timestamp
    package var logger: Logger
    package var caching: ClientCaching
    package let health: NodeHealth
    /// Verifies tokens of identity providers; nil on a node that gives no sessions.
    package let identityTokens: IdentityTokenVerifier?
    /// Who says in which country a client is.
    package var countries: CountrySource
    package var version: String
    /// What probes have seen.
    package var observations: ObservationSummary
    package var probeScheduler: ProbeScheduler
    /// What decisions know besides the ledger.
    package var environment: DecisionEnvironment
    /// Whether documents stay behind the ledger.
    package let lag: DocumentLag
    /// The secrets that this node cannot open.
    package let secretFaults = SecretFaults()
    /// The requests that the ledger is to know of.
    package let audit = AuditCounter()
    /// The tokens that were accepted lately.
    package let tokenUses = TokenUseTally()
    /// Whether the node is on its way out.
    package let drain = Drain()
    /// Whether a trial is still being set up.
    package var trialSetup = TrialSetup()
    /// What the node counts and measures.
    package let metrics: MetricRegistry
    /// When the node was made.
    let startedAt: Timestamp

    package init(
        ledger: Ledger, writer: Writer?, pool: PostgresPool, bundles: BundleDirectory? = nil, publisher: Publisher,
        keys: SigningKeys,
        logKeys: SigningKeys, clientKeys: ClientKeys, material: MaterialStore? = nil, adoption: AdoptionRecorder,
        telemetry: TelemetryServices,
        webhooks: WebhookServices? = nil,
        firebase: PushStatus = PushStatus(projects: []), clock: @escaping @Sendable () -> Timestamp, logger: Logger,
        caching: ClientCaching = ClientCaching(),
        countries: CountrySource = CountrySource(), version: String, observations: ObservationSummary,
        probeScheduler: ProbeScheduler,
        environment: DecisionEnvironment, metrics: MetricRegistry = MetricRegistry()
    ) {
        self.metrics = metrics
        self.startedAt = clock()
        self.ledger = ledger
        self.writer = writer
        self.pool = pool
        self.bundles = bundles
        self.publisher = publisher
        self.keys = keys
        self.logKeys = logKeys
        self.checkpoints = CheckpointSource(ledger: ledger, keys: logKeys, pool: pool)
        self.clientKeys = clientKeys
        self.material = material ?? MaterialStore(pool: pool)
        self.adoption = adoption
        self.telemetry = telemetry
        self.webhooks = webhooks ?? WebhookServices(pool: pool)
        self.identityTokens = self.webhooks.client.map {
            IdentityTokenVerifier(keys: ProviderKeySource(client: $0, clock: clock), clock: clock)
        }
        self.firebase = firebase
        self.clock = clock
        self.logger = logger
        self.caching = caching
        self.health = NodeHealth(clock: clock)
        self.countries = countries
        self.version = version
        self.observations = observations
        self.probeScheduler = probeScheduler
        self.environment = environment
        self.lag = DocumentLag(ledger: ledger, table: publisher.table, logger: logger)
    }

    /// Why no changes are recorded for now, on a node that may write.
    var writeFailure: String? {
        guard self.writer != nil else { return nil }
        if self.ledger.refusal == .noKey {
            return self.ledger.foreignKey.map {
                "the key-encryption key \($0) authenticates the ledger, and this node has another one"
            }
                ?? "this node has no key-encryption key, and the ledger is authenticated"
        }
        return self.ledger.database.writeFailure
    }

    /// Whether everyone may read the log. A node that is not at the ledger's end cannot tell: it may have been closed since.
    var isLogPublic: Bool {
        self.ledger.fault == nil && self.ledger.unsigned == nil && self.ledger.view.state.log.isPublic
    }

    /// What the token that opened a stream still opens. It may be revoked, expire, or lose its rights at any time.
    func rights(of actor: Actor?) -> Rights {
        guard let actor, self.ledger.partialFault == nil else { return .nothing }
        return self.ledger.view.state.access.rights(of: actor, at: self.clock())
    }

    var tokenUseStore: TokenUseStore { TokenUseStore(pool: self.pool) }

    var reader: LedgerReader { LedgerReader(pool: self.pool, bundles: self.bundles) }

    /// What a decision may know that is made for an answer and not recorded.
    var decisionContext: DecisionContext { self.environment.context(at: self.clock()) }
}
