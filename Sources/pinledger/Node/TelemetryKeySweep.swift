import EventStore
import Logging
import Pinning
import Telemetry

/// Erases secrets that no app's reports are signed with any more, once an hour: whoever retired or made them may have died
/// before the ledger or the table knew.
struct TelemetryKeySweep: Sendable {
    let ledger: Ledger
    let secrets: TelemetrySecrets
    let logger: Logger

    /// Sweeps until cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                let state = self.ledger.view.state
                let used = state.apps.flatMap { _, app in app.watch.telemetryKeys.filter(\.isInUse).map(\.id) }
                if self.ledger.fault == nil { try await self.secrets.eraseAll(except: Set(used)) }
            } catch {
                if Task.isCancelled { return }
                self.logger.warning(
                    "secrets of reports that are not used are not erased yet", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .seconds(3600))
        }
    }
}
