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
        var seen: Survey?
        while !Task.isCancelled {
            let view = self.ledger.view
            if seen?.position != view.head.position { seen = Survey(of: view.state, at: view.head.position) }
            for command in seen?.due(at: self.clock()) ?? [] {
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

    /// The kill switches that are engaged. Apps are gone through only after the ledger has grown.
    private struct Survey {
        let position: Int64
        private var engaged: [(killSwitch: KillSwitch, release: Command)] = []

        init(of state: LedgerState, at position: Int64) {
            self.position = position
            if let killSwitch = state.fleet.killSwitch { self.engaged.append((killSwitch, .fleet(.releaseKillSwitch))) }
            for (id, app) in state.apps {
                if let killSwitch = app.killSwitch {
                    self.engaged.append((killSwitch, .app(id, [.releaseKillSwitch(nil)])))
                }
                for (pattern, host) in app.hosts {
                    guard let killSwitch = host.killSwitch else { continue }
                    self.engaged.append((killSwitch, .app(id, [.releaseKillSwitch(pattern)])))
                }
            }
        }

        func due(at now: Timestamp) -> [Command] {
            self.engaged.filter { !$0.killSwitch.isInForce(at: now) }.map(\.release)
        }
    }
}
