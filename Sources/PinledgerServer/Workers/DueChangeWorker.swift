import Concurrency
package import EventStore
import LogLines
import Logging
import Pinning

/// Applies the proposed changes whose time has come, and suspends those that cannot be applied then. Several nodes may try at
/// once: the second finds nothing to do.
package struct DueChangeWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands

    package init(services: Services, commands: SystemCommands) {
        self.services = services
        self.commands = commands
    }

    /// Looks every second until cancelled.
    package func run() async {
        await self.commands.worker(every: .seconds(1)).run {
            for id in self.services.ledger.view.state.dueChanges(at: self.services.clock()) { await self.apply(id) }
        }
    }

    private func apply(_ id: String) async {
        let outcome = await self.commands.submit(
            .change(.applyDue(id: id)), failure: .changeNotApplied, ["change": "\(id)"]
        ) {
            // It waits, is suspended below, or another node was faster.
            _ in true
        }
        guard case .refused(let refusal) = outcome else { return }
        switch refusal {
        case .approvalsMissing, .frozen, .changeUnknown: return
        default: break
        }
        _ = await self.commands.submit(
            .change(.suspend(id: id, obstacle: Problem(refusal).detail)), failure: .changeNotApplied,
            ["change": "\(id)"]
        ) { if case .changeUnknown = $0 { true } else { false } }
    }
}
