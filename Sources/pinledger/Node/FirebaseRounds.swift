import EventStore
import Firebase
import Formats
import Logging
import PinWire
import PinledgerServer
import Pinning

/// Keeps one Firebase project in step with the apps that name it: soon after one of them changes, and again and again in
/// case somebody else has changed the project.
///
/// Several nodes may do this at once. Whoever comes second finds nothing to put, or what it has read is out of date and
/// it reads anew; and one that lags behind the ledger leaves alone what was written at a later position.
struct FirebaseRounds: Sendable {
    let services: Services
    let project: String
    let push: ProjectPush
    let interval: Duration
    let logger: Logger

    /// For how long an app is left out that the service refuses, while it stays as it is.
    private static let patience = Duration.seconds(3600)
    /// Between two pushes, so that many changes in a row become few versions.
    private static let pause = Duration.seconds(1)

    /// What an app's part follows from, as far as the ledger says it.
    private struct Stamp: Hashable {
        var app: AppID
        var version: Int64?
    }

    /// What has been done so far. Bounded by the apps of the project.
    private struct Progress {
        /// The position that the ledger was last looked through at.
        var position: Int64?
        var stamps: [Stamp] = []
        /// Whether there is something that was not pushed yet.
        var isChanged = false
        var known: ProjectPush.Known?
        /// Apps that the service refused as they were then.
        var refused: [AppID: (part: RemoteConfigPart, trouble: FirebaseFailure, until: ContinuousClock.Instant)] = [:]
        var backoff = PushBackoff()
        var notBefore = ContinuousClock.now
        var nextCheck = ContinuousClock.now
        /// What was last said of each app, so that it is said once.
        var said: [AppID: String] = [:]
    }

    /// Works until cancelled.
    func run() async {
        let ledger = self.services.ledger
        let (wakeUps, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in ledger.positions() { wake.yield() } }
            group.addTask {
                // For what is to be tried again, and for what others have changed.
                while !Task.isCancelled {
                    wake.yield()
                    try? await Task.sleep(for: .seconds(1))
                }
            }
            var progress = Progress()
            for await _ in wakeUps {
                guard !Task.isCancelled else { break }
                await self.look(&progress)
            }
            group.cancelAll()
        }
    }

    private func look(_ progress: inout Progress) async {
        guard self.services.ledger.fault == nil, self.services.ledger.suspension == nil else { return }
        let view = self.services.ledger.view
        if progress.position != view.head.position {
            progress.position = view.head.position
            let stamps = self.stamps(in: view.state)
            if stamps != progress.stamps {
                progress.stamps = stamps
                progress.isChanged = true
                self.services.firebase.keep(Set(stamps.map(\.app)), of: self.project)
            }
        }
        let now = ContinuousClock.now
        guard now >= progress.notBefore, progress.isChanged || now >= progress.nextCheck else { return }
        progress.notBefore = now + Self.pause
        await self.bringInStep(view, &progress)
    }

    /// The project's apps in the order of their names. Apps are gone through only after the ledger has grown.
    private func stamps(in state: LedgerState) -> [Stamp] {
        var stamps: [Stamp] = []
        for (id, app) in state.apps where app.clients[.remoteConfig]?.settings.firebaseProject == self.project {
            stamps.append(Stamp(app: id, version: state.documentVersion(of: id)))
        }
        return stamps.sorted { $0.app.text < $1.app.text }
    }

    private func bringInStep(_ view: LedgerView, _ progress: inout Progress) async {
        let position = view.head.position
        let (parts, spared) = self.parts(view, &progress)
        let isCheck = ContinuousClock.now >= progress.nextCheck
        if parts.isEmpty || !isCheck && progress.known?.parts == parts {
            // What has changed does not show in the template.
            progress.isChanged = false
            if isCheck { progress.nextCheck = .now + self.interval }
            for part in parts {
                self.services.firebase.advance(
                    part.app, in: self.project, at: self.services.clock(), position: position)
            }
            return
        }
        do throws(PushFailure) {
            let outcome = try await self.push.run(parts, position: position, sparing: spared, known: progress.known)
            progress.backoff.reset()
            progress.isChanged = false
            progress.nextCheck = .now + self.interval
            progress.known = outcome.known
            if !outcome.differences.isEmpty {
                self.logger.notice(
                    "a Firebase project is brought in step",
                    metadata: [
                        "project": "\(self.project)", "position": "\(position)",
                        "changes": "\(outcome.differences.prefix(5).joined(separator: "; "))",
                        "template_version": "\(outcome.templateVersion ?? "-")",
                    ])
            }
            for part in parts {
                if let trouble = outcome.refused[part.app] {
                    progress.refused[part.app] = (part, trouble, ContinuousClock.now + Self.patience)
                    self.fail(part.app, trouble.description, trouble.advice, &progress)
                } else {
                    progress.said[part.app] = nil
                    self.services.firebase.succeed(
                        part.app, in: self.project, at: self.services.clock(), position: position,
                        templateVersion: outcome.templateVersion, foreignConditions: outcome.foreignConditions)
                }
            }
        } catch {
            guard !Task.isCancelled else { return }
            self.postpone(error, parts, &progress)
        }
    }

    /// What each app has to have in the project, and whose conditions are to stay as they are.
    private func parts(
        _ view: LedgerView, _ progress: inout Progress
    ) -> (parts: [RemoteConfigPart], spared: [RemoteConfigOwner]) {
        var parts: [RemoteConfigPart] = []
        var spared: [RemoteConfigOwner] = []
        for stamp in progress.stamps {
            guard let app = view.state.apps[stamp.app] else { continue }
            do throws(RemoteConfigRefusal) {
                if let part = try self.services.remoteConfigPart(of: app, in: view) { parts.append(part) }
            } catch {
                let settings = app.clients[.remoteConfig]?.settings
                spared.append(RemoteConfigOwner(app: app.id, firebaseApp: settings?.firebaseApp))
                self.fail(app.id, "there is no template: \(error)", nil, &progress)
            }
        }
        let conflicts = RemoteConfigPart.conflicts(in: parts)
        let now = ContinuousClock.now
        progress.refused = progress.refused.filter { $0.value.until > now }
        for part in parts {
            if let conflict = conflicts[part.app] {
                self.fail(part.app, conflict, nil, &progress)
            } else if let refused = progress.refused[part.app], refused.part == part {
                self.fail(part.app, refused.trouble.description, refused.trouble.advice, &progress)
            } else {
                continue
            }
            spared.append(part.owner)
        }
        parts.removeAll { part in spared.contains(part.owner) }
        return (parts, spared)
    }

    /// Tries again soon what passes by itself; anything else when something changes here, or at the next check.
    private func postpone(_ failure: PushFailure, _ parts: [RemoteConfigPart], _ progress: inout Progress) {
        progress.known = nil
        let now = ContinuousClock.now
        switch failure {
        case .service(let trouble) where trouble.isPassing:
            let wait = progress.backoff.delay(random: .random(in: 0..<1), requested: trouble.requestedWait)
            progress.notBefore = now + .seconds(wait)
            progress.isChanged = true
        case .refused(.newer):
            // Most likely this node is about to hear of it.
            progress.notBefore = now + .seconds(progress.backoff.delay(random: .random(in: 0..<1)))
            progress.isChanged = true
        case .service(.invalid(let detail)):
            for part in parts { progress.refused[part.app] = (part, .invalid(detail), now + Self.patience) }
            progress.isChanged = false
            progress.nextCheck = now + self.interval
        case .service, .refused:
            progress.isChanged = false
            progress.nextCheck = now + self.interval
        }
        for part in parts { self.fail(part.app, failure.description, failure.advice, &progress) }
    }

    private func fail(_ app: AppID, _ detail: String, _ advice: String?, _ progress: inout Progress) {
        self.services.firebase.fail(
            app, in: self.project, .init(at: self.services.clock(), detail: detail, advice: advice))
        guard progress.said[app] != detail else { return }
        progress.said[app] = detail
        var metadata: Logger.Metadata = ["project": "\(self.project)", "app": "\(app)", "error": "\(detail)"]
        if let advice { metadata["advice"] = "\(advice)" }
        self.logger.warning("a Firebase project is not in step", metadata: metadata)
    }
}
