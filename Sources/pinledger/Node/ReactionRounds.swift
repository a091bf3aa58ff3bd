import EventStore
import Logging
import PinWire
import Pinning

/// Does what clients' reports have come to, for apps that want it done. Several nodes may try at once: what is done is
/// recorded for the version of the app that was looked at, and so once; what the writer finds due decides.
struct ReactionRounds: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let surroundings: Surroundings
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    private static let interval = Duration.seconds(5)

    /// How long nothing is tried again after a refusal, which other changes or time may lift.
    private static let patience: Int64 = 300

    /// Looks every few seconds until cancelled.
    func run() async {
        var refused: [AppID: Timestamp] = [:]
        var survey: (position: Int64, apps: [AppID])?
        while !Task.isCancelled {
            // A node that may not write has said so, and does not repeat it every time.
            if self.ledger.fault == nil, self.ledger.suspension == nil {
                let view = self.ledger.view
                if survey?.position != view.head.position {
                    survey = (view.head.position, Self.apps(in: view.state))
                }
                for app in survey?.apps ?? [] {
                    guard !Task.isCancelled else { return }
                    if let time = refused[app], self.clock() < time.adding(seconds: Self.patience) { continue }
                    refused[app] = await self.look(at: app, in: view.state) ? nil : self.clock()
                    await Task.yield()
                }
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Apps are gone through only after the ledger has grown.
    private static func apps(in state: LedgerState) -> [AppID] {
        state.apps.values.filter { $0.monitoring.isEnabled && $0.monitoring.reaction == .act }.map(\.id)
    }

    /// False where something is due and refused.
    private func look(at id: AppID, in state: LedgerState) async -> Bool {
        let context = DecisionContext(
            now: self.clock(), reason: nil, isForced: false, facts: self.surroundings.facts(), actor: .system,
            isPublicSuffix: self.surroundings.isPublicSuffix
        )
        guard let version = state.apps[id]?.version, state.isReactionDue(of: id, in: context) else {
            return true
        }
        let request = CommandRequest(
            command: .app(id, [.react]),
            origin: Origin(actor: .system, reason: try? Reason("clients' reports, and what probes see")),
            expectedVersion: version, digest: [UInt8](repeating: 0, count: 32)
        )
        do throws(WriteFailure) {
            _ = try await self.writer?.execute(request)
            return true
        } catch {
            // Something changed meanwhile: it is looked at again.
            if case .stale = error { return true }
            self.logger.warning(
                "what clients report calls for something that is not done",
                metadata: ["app": "\(id)", "error": "\(error)"])
            return false
        }
    }
}
