import EventStore
import Exposition
import Keys
import Logging
import PinWire
import PinledgerServer
import Pinning
import Postgres
import Probing
import PublicSuffixes
import Publishing
import Signals
import Webhooks

/// A node's facts from outside the ledger: the chains that servers present, the versions that clients hold, and the
/// public suffixes.
struct NodeFactSources: Sendable {
    let observations: ObservationSummary
    let probeScheduler: ProbeScheduler
    let adoption: AdoptionRecorder
    let telemetry: TelemetryRecorder
    let environment: DecisionEnvironment
    let renewals: RenewalWatcher
    private let prober: Prober
    private let outgoing: OutgoingClient?

    /// Reads earlier records. ``close()`` MUST be called at the end.
    ///
    /// - Parameter outgoing: Makes what asks authorities, which is closed with this. Called where there are any, and nothing fails after it.
    init(
        _ configuration: NodeConfiguration, pool: PostgresPool, material: MaterialStore, ledger: Ledger,
        documents: DocumentTable,
        logger: Logger, metrics: MetricRegistry, outgoing: () -> OutgoingClient,
        clock: @escaping @Sendable () -> Timestamp
    ) async throws {
        let observations = ObservationSummary()
        // A node without the key has no salts: it counts requests and no installs, and counts all networks as one.
        // The first one, whichever is in force: the salts of a day stay while the key is changed.
        let key = configuration.keyEncryptionKeys?.keys[0]
        let adoption = AdoptionRecorder(
            store: AdoptionStore(pool: pool), salts: key.map { DailySalts($0, for: "installs") },
            windowSeconds: configuration.documentLifetime, logger: logger, metrics: metrics,
            clock: clock, currentVersion: { documents[$0]?.version }
        )
        let thread = ThreadExecutor()
        try thread.start(.background)
        let telemetry = TelemetryRecorder(
            store: TelemetryStore(pool: pool),
            intake: TelemetryIntake(
                salts: key.map { DailySalts($0, for: "reports") }, rate: configuration.telemetry.rate),
            node: Hex.encode(Random.bytes(12)), thread: thread, logger: logger, clock: clock
        )
        let suffixes = try PublicSuffixList.load()
        let windows = RenewalSummary()
        let facts = ExternalFacts(
            documentLifetime: configuration.documentLifetime, documentMaxAge: Int64(configuration.caching.maxAge),
            ownHosts: configuration.probing.ownHosts, horizons: configuration.horizons,
            endpoint: { observations.facts(of: $0) },
            adoption: { app, version in adoption.facts(of: app)?.signed.share(holdingAtLeast: version) },
            claims: { adoption.facts(of: $0)?.claims }, surge: { adoption.surge(of: $0) },
            telemetry: { telemetry.facts(of: $0) }, renewal: { windows.window(of: $0) },
            material: { material.remembered(of: [$0])[$0] }
        )
        let probing = configuration.probing
        // Names only: an address says nothing about a host.
        let policy = AddressPolicy(allowed: configuration.outgoing.policy.allowed)
        let prober = try await Prober.start(policy: policy, lookUp: probing.lookUp, now: clock)
        self.observations = observations
        self.adoption = adoption
        self.telemetry = telemetry
        self.environment = DecisionEnvironment(facts: { facts }, isPublicSuffix: { suffixes.isPublicSuffix($0) })
        self.prober = prober
        let outgoing = probing.acmeDirectories.isEmpty ? nil : outgoing()
        self.outgoing = outgoing
        let renewals = RenewalWatcher(
            directories: probing.acmeDirectories, summary: windows,
            store: RenewalStore(pool: pool), records: !configuration.isReadOnly, logger: logger, clock: clock
        ) { address in
            guard let outgoing else { throw SendFailure.refused("no client is there to ask it") }
            let answer = try await outgoing.get(try OutgoingURL(address), reading: RenewalWatcher.bodyLimit + 1)
            let wait = answer.retryAfter.flatMap { RetryAfter.seconds($0, now: clock()) }.map(Double.init)
            return RenewalWatcher.Answer(status: answer.status, retryAfter: wait, body: answer.body)
        }
        self.renewals = renewals
        self.probeScheduler = ProbeScheduler(
            summary: observations, store: ObservationStore(pool: pool), ledger: ledger, vantage: probing.place,
            schedule: ProbeSchedule(interval: probing.interval), isScheduled: probing.vantage != nil,
            records: !configuration.isReadOnly, logger: logger, metrics: metrics, clock: clock,
            onSeen: { renewals.note($0) }, probe: { await prober.probe($0) }
        )
        await self.probeScheduler.load()
        await renewals.load()
    }

    /// Ends the threads that probe. No probe may be under way.
    func close() async {
        await self.prober.close()
        await self.outgoing?.close()
    }
}
