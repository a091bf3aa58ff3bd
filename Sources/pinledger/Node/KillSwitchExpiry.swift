import EventStore
import Logging
import PinWire
import Pinning

/// Records the release of kill switches whose time is over. Clients look at the time themselves; this makes documents
/// and history say it too. Several nodes may try at once: the second finds nothing to release.
struct KillSwitchExpiry: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    /// Looks every second until cancelled.
    func run() async {
        while !Task.isCancelled {
            for command in self.due() {
                let request = CommandRequest(
                    command: command,
                    origin: Origin(actor: .system, reason: try? Reason("the kill switch has expired")),
                    digest: [UInt8](repeating: 0, count: 32)
                )
                do throws(WriteFailure) {
                    _ = try await self.writer?.execute(request)
                } catch {
                    if case .refused(.killSwitchNotEngaged) = error { continue }
                    self.logger.warning("an expired kill switch is not released yet", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func due() -> [Command] {
        let state = self.ledger.view.state
        let now = self.clock()
        func isOver(_ killSwitch: KillSwitch?) -> Bool { killSwitch.map { !$0.isInForce(at: now) } ?? false }
        var commands: [Command] = []
        if isOver(state.fleet.killSwitch) { commands.append(.fleet(.releaseKillSwitch)) }
        for (id, app) in state.apps {
            if isOver(app.killSwitch) { commands.append(.app(id, [.releaseKillSwitch(nil)])) }
            for (pattern, host) in app.hosts where isOver(host.killSwitch) {
                commands.append(.app(id, [.releaseKillSwitch(pattern)]))
            }
        }
        return commands
    }
}
