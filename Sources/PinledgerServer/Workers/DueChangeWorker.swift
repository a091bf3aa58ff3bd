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
            for id in self.services.ledger.view.state.dueChanges(at: self.services.clock()) {
                // Where nothing can be recorded at the moment, the next round does it.
                guard await self.apply(id) != .unavailable else { return }
            }
        }
    }

    /// Submits what this node sees to be ready, or never to become so; a change that waits for approvals or the end of a freeze is left
    /// alone.
    private func apply(_ id: String) async -> SystemCommands.Outcome? {
        let state = self.services.ledger.view.state
        guard let change = state.changes[id] else { return nil }
        var command = ChangeCommand.applyDue(id: id)
        do throws(Refusal) {
            try state.checkAuthorsToken(of: change)
            let plan = try state.plan(of: change, in: self.services.contextOfSystem)
            try state.checkMayApply(change, plan, at: self.services.clock())
        } catch {
            switch error {
            case .approvalsMissing, .frozen, .changeNotDue: return nil
            default: command = .suspend(id: id, obstacle: Problem(error).detail)
            }
        }
        // The state may have changed since: another node was faster, or the next round looks again.
        return await self.commands.submit(.change(command), failure: .changeNotApplied, ["change": "\(id)"]) { _ in true
        }
    }
}
