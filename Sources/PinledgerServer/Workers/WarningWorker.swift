import Concurrency
package import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Records due warnings, so that receivers of events get them without asking. Several nodes may check at once: a
/// warning that one has recorded is not due for the others.
package struct WarningWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands
    private let interval: Duration

    /// The number of apps that are checked before other work runs.
    private static let stride = 32

    package init(services: Services, commands: SystemCommands, interval: Duration) {
        self.services = services
        self.commands = commands
        self.interval = interval
    }

    /// Checks every app once per interval until cancelled. A node has no probes when it starts, so it waits first.
    package func run() async {
        await self.commands.worker(every: self.interval, first: .afterInterval).run { await self.look() }
    }

    private func look() async {
        let state = self.services.ledger.view.state
        var looked = 0
        for (id, _) in state.apps {
            looked += 1
            if looked.isMultiple(of: Self.stride) { await Task.yield() }
            guard !Task.isCancelled else { return }
            let context = self.services.contextOfSystem
            guard let due = try? state.warnings(of: id, in: context), !due.isEmpty else { continue }
            // Where nothing can be recorded at the moment, the next round does it.
            let outcome = await self.commands.submit(.watch(id), failure: .warningNotRecorded, ["app": "\(id)"])
            guard outcome == .recorded else { return }
        }
    }
}

extension Services {
    /// What the node itself decides with at this moment.
    var contextOfSystem: DecisionContext {
        self.environment.context(at: self.clock(), actor: .system)
    }
}
