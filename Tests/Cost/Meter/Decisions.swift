import PinWire
import Pinning

extension Works {
    /// One command of each kind that comes often, decided in the state of an app with few hosts and of one with many, and taken in.
    static let decisions = [5, 500].flatMap { hosts in
        Self.commands.map { kind in
            Work("decide-\(kind.name)-\(hosts)", count: hosts == 5 ? 100 : 10) {
                var app = try ExampleApp(hosts: hosts)
                for event in kind.before { try app.record(event) }
                let command = Command.app(app.id, try kind.commands(app))
                let context = try ExampleApp.context(isForced: kind.isForced)
                let state = app.state
                return { _ in
                    let decision = try state.decide(command, in: context)
                    var after = state
                    after.take(decision.after)
                    return decision.events.count + after.apps.count
                }
            }
        }
    }

    private struct Kind: Sendable {
        let name: String
        /// True for a sender who overrides guard rails.
        var isForced = false
        /// The events of the app before the command.
        var before: [AppEvent] = []
        let commands: @Sendable (ExampleApp) throws -> [AppCommand]
    }

    private static let hourAhead = ExampleApp.now.adding(seconds: 3600)

    private static let commands = [
        Kind(name: "add-pin") { app in
            [
                .addPin(
                    app.hosts[2], .baseline,
                    AppCommand.NewPin(
                        pin: try ExampleApp.pin(29), role: .backup,
                        evidence: .request(
                            try ExampleApp.key(29), subject: "CN=\(app.hosts[2].name)", dnsNames: [app.hosts[2].name])))
            ]
        },
        Kind(name: "patch-app") { _ in
            [.rename("Shop, renamed"), .setMonitoring(Monitoring(isEnabled: true, failureThreshold: 700))]
        },
        Kind(name: "kill-switch-on") { _ in [.engageKillSwitch(nil, expiresAt: Self.hourAhead)] },
        Kind(name: "kill-switch-off", before: [.killSwitchEngaged(nil, expiresAt: Self.hourAhead)]) { _ in
            [.releaseKillSwitch(nil)]
        },
        // Nothing is known of what clients hold, so that a guard rail has to be overridden.
        Kind(name: "rollout-share", isForced: true) { app in
            [.setHostRollout(app.hosts[0], Rollout(basisPoints: 5000))]
        },
        Kind(name: "rotation-step", isForced: true) { _ in [.advanceRotation(ExampleApp.rotation, from: .deliver)] },
    ]
}
