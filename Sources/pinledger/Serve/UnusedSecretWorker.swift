import Concurrency
import EventStore
import LogLines
import Logging
import Pinning
import Publishing
import Secrets
import Signals

/// Erases secrets that the ledger does not name any more, once an hour: the process that retired or made them may have
/// died before the ledger or the table had it.
struct UnusedSecretWorker: Sendable {
    let ledger: Ledger
    /// The keys that sign apps' reports.
    let telemetry: TelemetrySecrets
    /// The keys that sign deployed clients' formats.
    let clients: ClientKeys
    let logger: Logger

    /// Sweeps until cancelled.
    func run() async {
        await PeriodicWorker(every: .seconds(3600), jitter: 0.1).run(logging: .secretsNotErased, to: self.logger) {
            try await self.sweep()
        }
    }

    private func sweep() async throws {
        let state = self.ledger.view.state
        guard self.ledger.fault == nil else { return }
        let reports = state.apps.flatMap { _, app in app.watch.telemetryKeys.filter(\.isInUse).map(\.id) }
        try await self.telemetry.eraseAll(except: Set(reports))
        try await self.clients.eraseAll(
            except: state.apps.flatMap { id, app in app.clients.values.compactMap(\.key).map { ($0, id) } })
    }
}
