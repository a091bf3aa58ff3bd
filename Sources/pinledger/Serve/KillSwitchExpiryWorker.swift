import Concurrency
import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Records the release of kill switches whose time is over. Clients check the time themselves; this makes documents and
/// history show it too. Several nodes may try at once: the second finds nothing to release.
struct KillSwitchExpiryWorker: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    /// Checks every second until cancelled.
    func run() async {
        var seen: Survey?
        // A node that may not write has said so, and does not repeat it every second.
        await PeriodicWorker(every: .seconds(1), isPaused: { self.ledger.refusal != nil }).run {
            let view = self.ledger.view
            if seen?.position != view.head.position { seen = Survey(of: view.state, at: view.head.position) }
            for release in seen?.due(at: self.clock()) ?? [] { await self.record(release) }
        }
    }

    private func record(_ release: Survey.Release) async {
        let request = CommandRequest(
            command: release.command,
            origin: Origin(actor: .system, reason: try? Reason("the kill switch has expired")),
            // A switch that was engaged again meanwhile has a new time: it is checked again.
            expectedVersion: release.version,
            digest: [UInt8](repeating: 0, count: 32)
        )
        do throws(WriteFailure) {
            _ = try await self.writer?.execute(request)
        } catch {
            switch error {
            case .stale, .refused(.killSwitchNotEngaged): break
            default:
                self.logger.log(.killSwitchNotReleased, ["error": "\(error)"])
            }
        }
    }

    /// The engaged kill switches. Apps are listed only after the ledger has grown.
    private struct Survey {
        /// The command that releases all due switches of one stream, at the version that was read.
        struct Release {
            var command: Command
            var version: Int64
        }

        let position: Int64
        private var fleet: (killSwitch: KillSwitch, version: Int64)?
        private var apps: [(id: AppID, version: Int64, engaged: [(killSwitch: KillSwitch, release: AppCommand)])] = []

        init(of state: LedgerState, at position: Int64) {
            self.position = position
            self.fleet = state.fleet.killSwitch.map { ($0, state.fleet.version) }
            for (id, app) in state.apps {
                var engaged: [(KillSwitch, AppCommand)] = []
                if let killSwitch = app.killSwitch { engaged.append((killSwitch, .releaseKillSwitch(nil))) }
                for one in app.versionKillSwitches {
                    engaged.append((one.killSwitch, .releaseVersionKillSwitch(one.versions)))
                }
                for (pattern, host) in app.hosts {
                    if let killSwitch = host.killSwitch { engaged.append((killSwitch, .releaseKillSwitch(pattern))) }
                }
                if !engaged.isEmpty { self.apps.append((id, app.version, engaged)) }
            }
        }

        func due(at now: Timestamp) -> [Release] {
            var due: [Release] = []
            if let fleet, !fleet.killSwitch.isInForce(at: now) {
                due.append(Release(command: .fleet(.releaseKillSwitch), version: fleet.version))
            }
            for app in self.apps {
                let over = app.engaged.filter { !$0.killSwitch.isInForce(at: now) }
                guard !over.isEmpty else { continue }
                due.append(Release(command: .app(app.id, over.map(\.release)), version: app.version))
            }
            return due
        }
    }
}
