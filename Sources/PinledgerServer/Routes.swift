/// The whole API: every operation of `openapi/openapi.yaml`, and no other.
struct Routes: Sendable {
    let all: [Route]
    /// What is answered before the routes are asked.
    let answers: PreparedAnswers

    init(services: Services) {
        self.answers = PreparedAnswers(services: services)
        self.all =
            ClientRoutes(services: services, answers: self.answers).routes
            + AppRoutes(services: services).routes
            + AdoptionRoutes(services: services).routes
            + HostRoutes(services: services).routes
            + PinRoutes(services: services).routes
            + KillSwitchRoutes(services: services).routes
            + HistoryRoutes(services: services).routes
            + EventStream(services: services, slots: StreamSlots(limit: 200)).routes
            + KeyRoutes(services: services).routes
            + RotationRoutes(services: services).routes
            + CalendarRoutes(services: services).routes
            + ProbeRoutes(services: services).routes
            + MaterialRoutes(services: services).routes
            + GuardRailRoutes(services: services).routes
            + TokenRoutes(services: services).routes
            + FleetRoutes(services: services).routes
            + WebhookRoutes(services: services).routes
            + DeliveryRoutes(services: services).routes
            + ImportRoutes(services: services).routes
            + OperationsRoutes(services: services).routes
    }

    /// The routes of one kind of listener.
    func table(_ surfaces: Set<Route.Surface>) -> RouteTable {
        RouteTable(self.all.filter { $0.surface == .both || surfaces.contains($0.surface) })
    }
}
