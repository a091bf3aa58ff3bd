import Concurrency
import EventStore
import LogLines
import Publishing

/// Erases keys and certificates that the ledger does not know, about once an hour: those of changes that were refused,
/// or whose node died before it recorded them.
package struct UnusedMaterialWorker: Sendable {
    private let services: Services

    package init(services: Services) { self.services = services }

    /// Sweeps until cancelled.
    package func run() async {
        // A halted ledger no longer learns of new keys.
        let worker = PeriodicWorker(every: .seconds(3600), jitter: 0.1) { [ledger = self.services.ledger] in
            ledger.fault != nil
        }
        await worker.run(logging: .materialNotErased, to: self.services.logger) {
            let view = self.services.ledger.view
            try await self.services.material.eraseUnnamed(by: view.state, at: view.head.position)
        }
    }
}
