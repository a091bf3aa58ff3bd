import Concurrency
import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Carries out the due steps of rollout plans: the next step, the bake time, the end. All of its inputs are in the
/// ledger, so that it resumes wherever it was interrupted. Several nodes may try at once: a step is recorded for the
/// version of the app that was read, and so once.
struct RolloutPlanWorker: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let environment: DecisionEnvironment
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    /// Checks every second until cancelled.
    func run() async {
        var survey: (position: Int64, places: [Place])?
        // A node that may not write has said so, and does not repeat it every second.
        await PeriodicWorker(every: .seconds(1), isPaused: { self.ledger.refusal != nil }).run {
            let view = self.ledger.view
            if survey?.position != view.head.position {
                survey = (view.head.position, Self.places(in: view.state))
            }
            for place in survey?.places ?? [] {
                // Where one cannot be recorded, no other can: later, all of them.
                guard !Task.isCancelled, await self.look(at: place, in: view.state) else { return }
            }
        }
    }

    /// A plan that is under way: an app's own, or of a host's candidate.
    private struct Place {
        var app: AppID
        var host: HostPattern?
    }

    /// Apps are listed only after the ledger has grown.
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
        let context = DecisionContext(
            now: self.clock(), reason: nil, isForced: false, facts: self.environment.facts(), actor: .system,
            isPublicSuffix: self.environment.isPublicSuffix
        )
        guard let version = state.apps[place.app]?.version, state.isDue(place.host, app: place.app, in: context) else {
            return true
        }
        do throws(WriteFailure) {
            try await self.record(.drive, "the rollout's plan has come to it", at: place, version)
        } catch {
            switch error {
            // Something changed meanwhile: it is checked again.
            case .stale, .refused(.appUnknown), .refused(.hostUnknown), .refused(.rolloutPlanUnknown),
                .refused(.rolloutPlanState):
                break
            case .refused(let refusal): return await self.pause(place, version, refusal)
            default:
                self.warn(place, error)
                return false
            }
        }
        return true
    }

    /// People judge the obstacles of a plan.
    private func pause(_ place: Place, _ version: Int64, _ refusal: Refusal) async -> Bool {
        do throws(WriteFailure) {
            try await self.record(
                .pause(.blocked, detail: refusal.whyNotDone), "the rollout's plan cannot go on", at: place, version)
        } catch {
            if case .stale = error { return true }
            self.warn(place, error)
            if case .refused = error { return true }
            return false
        }
        return true
    }

    private func record(
        _ command: RolloutCommand, _ reason: String, at place: Place, _ version: Int64
    ) async throws(WriteFailure) {
        let request = CommandRequest(
            command: .app(place.app, [.rollout(place.host, command)]),
            origin: Origin(actor: .system, reason: try? Reason(reason)), expectedVersion: version,
            digest: [UInt8](repeating: 0, count: 32)
        )
        _ = try await self.writer?.execute(request)
    }

    private func warn(_ place: Place, _ error: WriteFailure) {
        self.logger.log(
            .planDelayed,
            [
                "app": "\(place.app)", "host": "\(place.host?.text ?? "-")", "error": "\(error)",
            ])
    }
}
