import Concurrency
import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Carries out the due reactions to clients' reports, for apps that allow it. Several nodes may try at once: a reaction
/// is recorded once, since the writer checks again that it is due.
struct ReactionWorker: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let environment: DecisionEnvironment
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    private static let interval = Duration.seconds(5)

    /// How long a reaction is not tried again after a refusal, which other changes or time may lift.
    private static let patience: Int64 = 300

    /// A due reaction of one app.
    private struct Attempt: Hashable {
        var app: AppID
        var due: Reaction.Due
    }

    /// Checks every few seconds until cancelled.
    func run() async {
        var refused: [Attempt: Timestamp] = [:]
        var survey: (position: Int64, apps: [AppID])?
        // A node that may not write has said so, and does not repeat it every time.
        await PeriodicWorker(every: Self.interval, isPaused: { self.ledger.refusal != nil }).run {
            let view = self.ledger.view
            if survey?.position != view.head.position {
                survey = (view.head.position, Self.apps(in: view.state))
            }
            let now = self.clock()
            refused = refused.filter { now < $0.value.adding(seconds: Self.patience) }
            for app in survey?.apps ?? [] {
                guard !Task.isCancelled else { return }
                await self.look(at: app, in: view.state, &refused)
                await Task.yield()
            }
        }
    }

    /// Apps are listed only after the ledger has grown.
    private static func apps(in state: LedgerState) -> [AppID] {
        state.apps.values.filter { $0.monitoring.isEnabled && $0.monitoring.reaction == .act }.map(\.id)
    }

    /// Carries out all due reactions, one after the other; a refused one does not prevent the others.
    private func look(at id: AppID, in state: LedgerState, _ refused: inout [Attempt: Timestamp]) async {
        let context = DecisionContext(
            now: self.clock(), reason: nil, isForced: false, facts: self.environment.facts(), actor: .system,
            isPublicSuffix: self.environment.isPublicSuffix
        )
        for due in state.dueReactions(of: id, in: context) {
            let attempt = Attempt(app: id, due: due)
            guard !Task.isCancelled else { return }
            guard refused[attempt] == nil else { continue }
            do throws(WriteFailure) {
                try await self.record(due, of: id)
            } catch {
                // Something changed meanwhile: it is checked again.
                if case .stale = error { return }
                self.logger.log(
                    .reactionNotRecorded,
                    ["app": "\(id)", "host": "\(due.host)", "step": "\(due.step)", "error": "\(error)"])
                // Nothing else can be recorded now either.
                guard case .refused = error else { return }
                refused[attempt] = self.clock()
            }
        }
    }

    /// Records the app's due reaction as it is now, if it still is due: an earlier one may have changed it.
    private func record(_ due: Reaction.Due, of id: AppID) async throws(WriteFailure) {
        guard let version = self.ledger.view.state.apps[id]?.version else { return }
        let request = CommandRequest(
            command: .app(id, [.react(due)]),
            origin: Origin(actor: .system, reason: try? Reason("clients' reports, and what probes see")),
            expectedVersion: version, digest: [UInt8](repeating: 0, count: 32)
        )
        _ = try await self.writer?.execute(request)
    }
}
