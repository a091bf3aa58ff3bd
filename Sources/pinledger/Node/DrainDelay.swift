import PinledgerServer
import ServiceLifecycle

/// The time between the order to stop and the closing of the listeners, in which load balancers notice `/readyz`.
struct DrainDelay: Service {
    let drain: Drain
    let seconds: Int

    func run() async throws {
        try await gracefulShutdown()
        self.drain.begin()
        try await Task.sleep(for: .seconds(self.seconds))
    }
}
