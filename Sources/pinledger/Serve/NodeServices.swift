import ServiceLifecycle

/// Work that goes on until the server stops.
struct Loop: Service {
    let work: @Sendable () async -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.work() }
        // A service that ends by itself waits for the rest: the loops report their own troubles, and serving goes on.
        try await gracefulShutdown()
    }
}

/// Services that start and stop at the same time: two listeners do not wait for each other's last connection.
struct Together: Service {
    let services: [any Service]
    /// How long they may take to stop until `onOverdue` is called.
    let patience: Duration
    let onOverdue: @Sendable () -> Void

    func run() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for service in self.services {
                group.addTask {
                    try await service.run()
                    return true
                }
            }
            group.addTask {
                do {
                    try await gracefulShutdown()
                    try await Task.sleep(for: self.patience)
                    self.onOverdue()
                } catch {
                    // They have stopped before.
                }
                return false
            }
            var running = self.services.count
            while running > 0, let isService = try await group.next() {
                if isService { running -= 1 }
            }
            group.cancelAll()
        }
    }
}
