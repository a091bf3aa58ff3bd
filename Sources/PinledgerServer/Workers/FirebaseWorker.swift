import ClientFormats
import Concurrency
import EventStore
package import Firebase
import LogLines
import Logging
import PinWire
import Pinning

/// Keeps one Firebase project in step with the apps that name it: soon after one of them changes, and at intervals in
/// case others have changed the project.
///
/// Several nodes may do this at once. The second one finds nothing to write, or what it has read is out of date and it
/// reads again; a node that lags behind the ledger leaves entries of a later position alone. Nodes that only read do
/// not push: their probes' results stay with them, and with those the order of pins.
package struct FirebaseWorker: Sendable {
    private let services: Services
    private let project: String
    private let push: ProjectPush
    private let interval: Duration

    /// How long until refused parts, and rollouts that were left out, are tried again while nothing changes.
    private static let patience = Duration.seconds(3600)
    /// The time between two pushes, so that many changes in a row become few versions.
    private static let pause = Duration.seconds(1)

    /// The inputs of an app's part, as far as the ledger has them.
    private struct Stamp: Hashable {
        var app: AppID
        var version: Int64?
    }

    /// The work done so far. Bounded by the apps of the project.
    private struct Progress {
        /// The position of the ledger at the last look.
        var position: Int64?
        var stamps: [Stamp] = []
        /// Whether there is something that was not pushed yet.
        var isChanged = false
        /// Whether nothing is pushed while the node is halted or suspended.
        var isIdle = false
        var known: ProjectPush.Known?
        /// The apps of the last successful push.
        var holders: Set<AppID> = []
        /// When the parts that were left out are tried again.
        var retry = ContinuousClock.now
        var backoff = PushBackoff()
        var notBefore = ContinuousClock.now
        var nextCheck = ContinuousClock.now
        /// The last log line about each app, so that it is logged once.
        var said: [AppID: String] = [:]
    }

    /// - Parameters:
    ///   - push: What writes to the project.
    ///   - interval: How often the project is looked at although nothing has changed here.
    package init(services: Services, project: String, push: ProjectPush, interval: Duration) {
        self.services = services
        self.project = project
        self.push = push
        self.interval = interval
    }

    /// Works until cancelled.
    package func run() async {
        let ledger = self.services.ledger
        let (wakeUps, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in ledger.positions() { wake.yield() } }
            // The interval for repetitions, and for changes by others.
            group.addTask { await PeriodicWorker(every: .seconds(1)).run { wake.yield() } }
            var progress = Progress()
            for await _ in wakeUps {
                guard !Task.isCancelled else { break }
                await self.look(&progress)
            }
            group.cancelAll()
        }
    }

    private func look(_ progress: inout Progress) async {
        let ledger = self.services.ledger
        let (fault, suspension) = (ledger.fault ?? ledger.unsigned, ledger.suspension)
        let view = ledger.view
        var isAnother = false
        if progress.position != view.head.position {
            progress.position = view.head.position
            let stamps = self.stamps(in: view.state)
            if stamps != progress.stamps {
                progress.stamps = stamps
                progress.isChanged = true
                isAnother = true
                let apps = Set(stamps.map(\.app))
                progress.said = progress.said.filter { apps.contains($0.key) }
                self.services.firebase.keep(apps, of: self.project)
            }
        }
        if let why = fault.map({ "\($0)" }) ?? suspension {
            // Without a record, the last push would go on looking current.
            if !progress.isIdle || isAnother {
                let advice =
                    fault != nil
                    ? "See `pinledger doctor` before this node is started again; another node may push meanwhile."
                    : "Set the clocks of this node and of the database by NTP."
                for stamp in progress.stamps {
                    self.fail(stamp.app, "this node pushes nothing for now: \(why)", advice, &progress)
                }
            }
            progress.isIdle = true
            return
        }
        if progress.isIdle {
            progress.isIdle = false
            progress.nextCheck = .now
        }
        let now = ContinuousClock.now
        guard now >= progress.notBefore, progress.isChanged || now >= progress.nextCheck else { return }
        progress.notBefore = now + Self.pause
        await self.bringInStep(view, &progress)
    }

    /// The project's apps in the order of their names. Apps are listed only after the ledger has grown.
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
        let isKnown = progress.known?.parts == parts && progress.known?.spared == spared
        if parts.isEmpty || !isCheck && isKnown {
            // Changed inputs do not show in the template.
            progress.isChanged = false
            if isCheck { progress.nextCheck = .now + self.interval }
            if isKnown { self.tell(parts, at: position, nil, &progress) }
            return
        }
        // Without the known state everything is tried again.
        let isSettled = progress.known.map { $0.refused.isEmpty && $0.withheld.isEmpty } ?? true
        let known = isSettled || ContinuousClock.now < progress.retry ? progress.known : nil
        do throws(PushFailure) {
            let outcome = try await self.push.run(
                parts, position: position, sparing: spared, holders: progress.holders, known: known)
            progress.backoff.reset()
            progress.isChanged = false
            progress.nextCheck = .now + self.interval
            if outcome.known != known { progress.retry = .now + Self.patience }
            progress.known = outcome.known
            progress.holders = outcome.known.put
            if !outcome.differences.isEmpty {
                self.services.logger.log(
                    .firebaseUpdated,
                    [
                        "project": "\(self.project)", "position": "\(position)",
                        "changes": "\(outcome.differences.prefix(5).joined(separator: "; "))",
                        "template_version": "\(outcome.templateVersion ?? "-")",
                    ])
            }
            self.tell(parts, at: position, .some(outcome.templateVersion), &progress)
        } catch {
            guard !Task.isCancelled else { return }
            self.postpone(error, parts, &progress)
        }
    }

    /// Records the state of each part that was to be written.
    ///
    /// - Parameter version: The template's; nil where it was not read again.
    private func tell(
        _ parts: [RemoteConfigPart], at position: Int64, _ version: String??, _ progress: inout Progress
    ) {
        guard let known = progress.known else { return }
        let versions = Dictionary(progress.stamps.map { ($0.app, $0.version) }) { first, _ in first }
        for part in parts {
            if let failure = known.refused[part.app] {
                self.fail(part.app, failure.description, failure.advice, &progress)
                continue
            }
            let withheld = known.withheld[part.app].map { "\($0)" } ?? part.withheld.map { "\($0). \($0.advice)" }
            let template = version.map { version in
                PushStatus.Template(
                    version: version, foreignConditions: known.foreignConditions[part.parameter] ?? [],
                    withheld: withheld)
            }
            self.services.firebase.succeed(
                part.app, in: self.project,
                .init(at: self.services.clock(), position: position, documentVersion: versions[part.app] ?? nil),
                template: template)
            self.warn(of: withheld, part.app, &progress)
        }
    }

    /// The parts that each app must have in the project, and the app whose conditions stay unchanged.
    private func parts(
        _ view: LedgerView, _ progress: inout Progress
    ) -> (parts: [RemoteConfigPart], spared: Set<AppID>) {
        var parts: [RemoteConfigPart] = []
        var spared: Set<AppID> = []
        for stamp in progress.stamps {
            guard let app = view.state.apps[stamp.app] else { continue }
            do throws(RemoteConfigRefusal) {
                if let part = try self.services.remoteConfigPart(of: app, in: view) { parts.append(part) }
            } catch {
                spared.insert(app.id)
                self.fail(app.id, "there is no template: \(error)", error.advice, &progress)
            }
        }
        return (parts, spared)
    }

    /// Tries temporary failures again soon; others when something changes here, or at the next check.
    private func postpone(_ failure: PushFailure, _ parts: [RemoteConfigPart], _ progress: inout Progress) {
        progress.known = nil
        let now = ContinuousClock.now
        switch failure {
        case .service(let trouble) where trouble.isPassing:
            let wait = progress.backoff.delay(random: .random(in: 0..<1), requested: trouble.requestedWait)
            progress.notBefore = now + .seconds(wait)
            progress.isChanged = true
        case .refused(.newer):
            // Most likely this node is about to receive that event.
            progress.notBefore = now + .seconds(progress.backoff.delay(random: .random(in: 0..<1)))
            progress.isChanged = true
        case .service, .refused:
            progress.isChanged = false
            progress.nextCheck = now + self.interval
        }
        for part in parts { self.fail(part.app, failure.description, failure.advice, &progress) }
    }

    /// Logs once that rollouts are left out.
    private func warn(of withheld: String?, _ app: AppID, _ progress: inout Progress) {
        guard progress.said[app] != withheld else { return }
        progress.said[app] = withheld
        guard let withheld else { return }
        self.services.logger.log(
            .firebaseRolloutsWithheld, ["project": "\(self.project)", "app": "\(app)", "reason": "\(withheld)"])
    }

    private func fail(_ app: AppID, _ detail: String, _ advice: String?, _ progress: inout Progress) {
        self.services.firebase.fail(
            app, in: self.project, .init(at: self.services.clock(), detail: detail, advice: advice))
        guard progress.said[app] != detail else { return }
        progress.said[app] = detail
        var metadata: Logger.Metadata = ["project": "\(self.project)", "app": "\(app)", "error": "\(detail)"]
        if let advice { metadata["advice"] = "\(advice)" }
        self.services.logger.log(.firebaseBehind, metadata)
    }
}
