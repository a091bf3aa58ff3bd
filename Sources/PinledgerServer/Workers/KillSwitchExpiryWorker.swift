import Concurrency
package import EventStore
import LogLines
import PinWire
import Pinning

/// Records the release of kill switches whose time is over. Clients check the time themselves; this makes documents
/// and history show it too. Several nodes may try at once: the second finds nothing to release.
package struct KillSwitchExpiryWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands

    package init(services: Services, commands: SystemCommands) {
        self.services = services
        self.commands = commands
    }

    /// Checks every second until cancelled.
    package func run() async {
        var survey = Survey<[Engaged]>()
        await self.commands.worker(every: .seconds(1)).run {
            let now = self.services.clock()
            for engaged in survey.find(in: self.services.ledger.view, Engaged.all) {
                guard let release = engaged.release(at: now) else { continue }
                // A switch that was engaged again meanwhile has a new time, and another version.
                _ = await self.commands.submit(
                    release, because: "the kill switch has expired", at: engaged.version,
                    failure: .killSwitchNotReleased
                ) { if case .killSwitchNotEngaged = $0 { true } else { false } }
            }
        }
    }

    /// The kill switches that are engaged in one stream, at the version that was read.
    struct Engaged {
        var version: Int64
        /// Nil for the fleet's.
        var app: AppID?
        var switches: [(killSwitch: KillSwitch, release: AppCommand)]

        static func all(in state: LedgerState) -> [Self] {
            var all: [Self] = []
            if let killSwitch = state.fleet.killSwitch {
                all.append(
                    Self(version: state.fleet.version, app: nil, switches: [(killSwitch, .releaseKillSwitch(nil))]))
            }
            for (id, app) in state.apps {
                var switches: [(KillSwitch, AppCommand)] = []
                if let killSwitch = app.killSwitch { switches.append((killSwitch, .releaseKillSwitch(nil))) }
                for one in app.versionKillSwitches {
                    switches.append((one.killSwitch, .releaseVersionKillSwitch(one.versions)))
                }
                for (pattern, host) in app.hosts {
                    if let killSwitch = host.killSwitch { switches.append((killSwitch, .releaseKillSwitch(pattern))) }
                }
                if !switches.isEmpty { all.append(Self(version: app.version, app: id, switches: switches)) }
            }
            return all
        }

        /// What releases all those whose time is over; nil where none is.
        func release(at now: Timestamp) -> Command? {
            let over = self.switches.filter { $0.killSwitch.isOver(at: now) }
            guard !over.isEmpty else { return nil }
            return self.app.map { .app($0, over.map(\.release)) } ?? .fleet(.releaseKillSwitch)
        }
    }
}
