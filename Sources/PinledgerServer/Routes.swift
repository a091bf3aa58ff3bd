import Publishing
import Signals

/// The whole API: every operation of `openapi/openapi.yaml`, and no other.
struct Routes: Sendable {
    let all: [Route]
    /// What is answered before the routes are asked.
    let answers: PreparedAnswers
    /// What carries new documents to streams.
    let push: DocumentPush
    /// The key set that goes with the documents.
    let keySet: @Sendable () throws -> PreparedAnswer

    init(
        all: [Route], answers: PreparedAnswers, push: DocumentPush,
        keySet: @escaping @Sendable () throws -> PreparedAnswer
    ) {
        self.all = all
        self.answers = answers
        self.push = push
        self.keySet = keySet
    }

    init(services: Services, limits: Server.Limits = Server.Limits(), tallies: ListenerTallies = ListenerTallies()) {
        let compat = CompatServices(services: services, answers: CompatAnswers(services: services))
        let others = LedgerAnswers(services: services, compat: compat.answers)
        self.answers = PreparedAnswers(
            documents: services.publisher.table, intake: services.adoption.intake, caching: services.caching,
            clock: services.clock, others: others.answer)
        self.push = DocumentPush(
            table: services.publisher.table, limit: limits.streams, networkLimit: limits.streamsOfOneNetwork,
            heartbeat: limits.heartbeat, intake: services.adoption.intake,
            trustedProxies: services.telemetry.trustedProxies)
        self.keySet = others.currentKeySet
        let strangers = LogReaders()
        self.all =
            ClientRoutes(
                answers: self.answers, intake: services.adoption.intake, missing: services.missing,
                keySet: self.keySet
            ).routes
            + RootRoutes(answers: RootAnswers(caching: services.caching, roots: services.roots)).routes
            + DocumentFeedRoutes(
                feed: DocumentFeed(table: services.publisher.table), heartbeat: limits.heartbeat,
                rights: services.rights
            ).routes
            + DocumentProofRoutes(services: services, readers: strangers).routes
            + StreamRoutes(push: self.push, missing: services.missing).routes
            + EvaluatedRoutes(services: services, evaluated: others.evaluated).routes
            + AppRoutes(services: services).routes
            + PastRoutes(services: services).routes
            + RevertRoutes(services: services).routes
            + AdoptionRoutes(services: services).routes
            + ForecastRoutes(services: services).routes
            + ReportRoutes(services: services).routes
            + TelemetryRoutes(services: services).routes
            + ReactionRoutes(services: services).routes
            + HostRoutes(services: services).routes
            + SpecRoutes(services: services).routes
            + ClientAdminRoutes(services: services).routes
            + CompatRoutes(services: services).routes
            + FirebaseRoutes(services: services).routes
            + ExportRoutes(tools: compat).routes
            + PinRoutes(services: services).routes
            + KillSwitchRoutes(services: services).routes
            + ExplainRoutes(services: services).routes
            + SimulateRoutes(services: services).routes
            + HistoryRoutes(services: services).routes
            + EventStream(services: services, heartbeat: limits.heartbeat).routes
            + KeyRoutes(services: services).routes
            + RootAdminRoutes(services: services).routes
            + RotationRoutes(services: services).routes
            + RolloutRoutes(services: services).routes
            + CalendarRoutes(services: services).routes
            + CalendarFeedRoutes(services: services).routes
            + ProbeRoutes(services: services).routes
            + MaterialRoutes(services: services).routes
            + GuardRailRoutes(services: services).routes
            + TokenRoutes(services: services).routes
            + AccessRoutes(services: services).routes
            + ApprovalRuleRoutes(services: services).routes
            + ApprovalKeyRoutes(services: services).routes
            + IdentityRoutes(services: services).routes
            + SignInRoutes(services: services).routes
            + ChangeRoutes(services: services).routes
            + LogRoutes(services: services, readers: strangers).routes
            + WitnessRoutes(services: services).routes
            + FleetRoutes(services: services).routes
            + NodeRoutes(services: services).routes
            + WebhookRoutes(services: services).routes
            + DeliveryRoutes(services: services).routes
            + ImportRoutes(services: services).routes
            + DynapinsRoutes(tools: compat).routes
            + WultraRoutes(tools: compat).routes
            + WultraAdminRoutes(services: services).routes
            + RemoteConfigRoutes(tools: compat).routes
            + MueJamRoutes(tools: compat).routes
            + NetKitRoutes(tools: compat).routes
            + SSLPinningRoutes(tools: compat).routes
            + HandbookRoutes().routes
            + ReadinessRoutes(services: services, push: self.push).routes
            + OperationsRoutes(version: services.version, trialSetup: services.trialSetup).routes
            + MetricsRoutes(samples: NodeMetrics(services: services, push: self.push, tallies: tallies).samples).routes
    }

    /// The routes of one kind of listener.
    func table(_ surfaces: Set<Route.Surface>) -> RouteTable {
        RouteTable(self.all.filter { $0.surface == .both || surfaces.contains($0.surface) })
    }
}
