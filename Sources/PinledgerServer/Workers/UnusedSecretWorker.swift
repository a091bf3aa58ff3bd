import Concurrency
import EventStore
import LogLines
import Pinning
import Secrets

/// Erases secrets that the ledger does not name any more, about once an hour: the process that retired or made them may
/// have died before the ledger or the table had it.
package struct UnusedSecretWorker: Sendable {
    private let services: Services

    package init(services: Services) { self.services = services }

    /// Sweeps until cancelled.
    package func run() async {
        let worker = PeriodicWorker(every: .seconds(3600), jitter: 0.1)
        await worker.run(logging: .secretsNotErased, to: self.services.logger) { try await self.sweep() }
    }

    private func sweep() async throws {
        let state = self.services.ledger.view.state
        guard self.services.ledger.fault == nil else { return }
        // The keys that sign apps' reports, and those that sign deployed clients' formats.
        let reports = state.apps.flatMap { _, app in app.watch.telemetryKeys.filter(\.isInUse).map(\.id) }
        try await self.services.telemetry.secrets.eraseAll(except: Set(reports))
        try await self.services.clientKeys.eraseAll(
            except: state.apps.flatMap { id, app in app.clients.values.compactMap(\.key).map { ($0, id) } })
    }
}
