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
        while !Task.isCancelled {
            // A fault stops the ledger, and later events that name keys are not seen any more.
            if self.ledger.fault == nil {
                let view = self.ledger.view
                do { try await self.material.eraseUnnamed(by: view.state, at: view.head.position) } catch {
                    if Task.isCancelled { return }
                    self.logger.log(.materialNotErased, ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: .seconds(3600))
        }
    }
}
