import Concurrency
package import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Carries out the due reactions to clients' reports, for apps that allow it. Several nodes may try at once: a reaction
/// is recorded once, since the writer checks again that it is due.
package struct ReactionWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands

    private static let interval = Duration.seconds(5)

    /// How long a reaction is not tried again after a refusal, which other changes or time may lift.
    private static let patience: Int64 = 300

    package init(services: Services, commands: SystemCommands) {
        self.services = services
        self.commands = commands
    }

    /// A due reaction of one app.
    private struct Attempt: Hashable {
        var app: AppID
        var due: Reaction.Due
    }

    /// Checks every few seconds until cancelled.
    package func run() async {
        var refused: [Attempt: Timestamp] = [:]
        var survey = Survey<[AppID]>()
        await self.commands.worker(every: Self.interval).run {
            let view = self.services.ledger.view
            let now = self.services.clock()
            refused = refused.filter { now < $0.value.adding(seconds: Self.patience) }
            for app in survey.find(in: view, Self.apps) {
                guard !Task.isCancelled else { return }
                await self.look(at: app, in: view.state, &refused)
                await Task.yield()
            }
        }
    }

    private static func apps(in state: LedgerState) -> [AppID] {
        state.apps.values.filter { $0.monitoring.isEnabled && $0.monitoring.reaction == .act }.map(\.id)
    }

    /// Carries out all due reactions, one after the other; a refused one does not prevent the others.
    private func look(at id: AppID, in state: LedgerState, _ refused: inout [Attempt: Timestamp]) async {
        for due in state.dueReactions(of: id, in: self.services.contextOfSystem) {
            let attempt = Attempt(app: id, due: due)
            guard !Task.isCancelled else { return }
            // For the app as it is now: an earlier reaction may have changed it.
            guard refused[attempt] == nil, let version = self.services.ledger.view.state.apps[id]?.version else {
                continue
            }
            let outcome = await self.commands.submit(
                .app(id, [.react(due)]), because: "clients' reports, and what probes see", at: version,
                failure: .reactionNotRecorded, ["app": "\(id)", "host": "\(due.host)", "step": "\(due.step)"])
            switch outcome {
            case .recorded: break
            case .refused: refused[attempt] = self.services.clock()
            // Something changed meanwhile, or nothing else can be recorded now either: the next round checks again.
            case .stale, .unavailable: return
            }
        }
    }
}
