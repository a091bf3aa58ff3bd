import LogLines
import Logging
import PinledgerServer
import ServiceLifecycle

/// The time between the order to stop and the closing of the listeners, in which load balancers notice `/readyz`.
struct DrainDelay: Service {
    let drain: Drain
    let seconds: Int
    /// How long connections then have to end.
    let drainSeconds: Int
    let logger: Logger

    func run() async throws {
        try await gracefulShutdown()
        self.logger.log(
            .serverStopping,
            ["drain_delay_seconds": "\(self.seconds)", "drain_timeout_seconds": "\(self.drainSeconds)"])
        self.drain.begin()
        try await Task.sleep(for: .seconds(self.seconds))
        self.logger.log(.serverDraining)
    }
}
