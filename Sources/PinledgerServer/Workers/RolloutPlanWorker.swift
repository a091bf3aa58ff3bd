import Concurrency
package import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Carries out the due steps of rollout plans: the next step, the bake time, the end. All of its inputs are in the
/// ledger, so that it resumes wherever it was interrupted. Several nodes may try at once: a step is recorded for the
/// version of the app that was read, and so once.
package struct RolloutPlanWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands

    package init(services: Services, commands: SystemCommands) {
        self.services = services
        self.commands = commands
    }

    /// Checks every second until cancelled.
    package func run() async {
        var survey = Survey<[Place]>()
        await self.commands.worker(every: .seconds(1)).run {
            let view = self.services.ledger.view
            for place in survey.find(in: view, Self.places) {
                // Where one cannot be recorded, no other can: all of them are tried later.
                guard !Task.isCancelled, await self.look(at: place, in: view.state) else { return }
            }
        }
    }

    /// A plan that is under way: an app's own, or of a host's candidate.
    private struct Place {
        var app: AppID
        var host: HostPattern?
    }

    private static func places(in state: LedgerState) -> [Place] {
        var places: [Place] = []
        for (id, app) in state.apps {
            for host in app.plannedPlaces where app.plan(of: host)?.isUnderWay == true {
                places.append(Place(app: id, host: host))
            }
        }
        return places
    }

    /// Carries out a plan's due step. False where nothing can be recorded now.
    private func look(at place: Place, in state: LedgerState) async -> Bool {
        guard let version = state.apps[place.app]?.version,
            state.isDue(place.host, app: place.app, in: self.services.contextOfSystem)
        else { return true }
        let outcome = await self.submit(.drive, "the rollout's plan has come to it", at: place, version) { _ in true }
        switch outcome {
        // Something changed meanwhile: the next round checks again.
        case .recorded, .stale, .refused(.appUnknown), .refused(.hostUnknown), .refused(.rolloutPlanUnknown),
            .refused(.rolloutPlanState):
            return true
        // People judge the obstacles of a plan.
        case .refused(let refusal):
            let pause = RolloutCommand.pause(.blocked, detail: refusal.whyNotDone)
            return await self.submit(pause, "the rollout's plan cannot go on", at: place, version) != .unavailable
        case .unavailable: return false
        }
    }

    private func submit(
        _ command: RolloutCommand, _ reason: String, at place: Place, _ version: Int64,
        expecting isExpected: (Refusal) -> Bool = { _ in false }
    ) async -> SystemCommands.Outcome {
        await self.commands.submit(
            .app(place.app, [.rollout(place.host, command)]), because: reason, at: version, failure: .planDelayed,
            ["app": "\(place.app)", "host": "\(place.host?.text ?? "-")"], expecting: isExpected)
    }
}
