import Concurrency
import EventStore
import LogLines
import Logging
import Publishing

/// Erases keys and certificates that the ledger does not name, once an hour: those of changes that were refused, or not
/// recorded.
struct UnusedMaterialWorker: Sendable {
    let ledger: Ledger
    let material: MaterialStore
    let logger: Logger

    /// Sweeps until cancelled.
    func run() async {
        // A halted ledger no longer learns of new keys.
        let worker = PeriodicWorker(every: .seconds(3600), jitter: 0.1) { self.ledger.fault != nil }
        await worker.run(logging: .materialNotErased, to: self.logger) {
            let view = self.ledger.view
            try await self.material.eraseUnnamed(by: view.state, at: view.head.position)
        }
    }
}
