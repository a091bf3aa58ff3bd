import Concurrency
package import EventStore
import LogLines

/// Vouches for the ledger's end to nodes that share the database and remember nothing of it, as ``VouchRequests`` brings their questions.
///
/// This node's memory shows that the ledger has lost nothing; so only a node that keeps one, and whose ledger goes on from it, vouches.
package struct VouchingWorker: Sendable {
    private let services: Services
    private let keys: BatchKeys

    /// How often it looks. A node that asks waits seven times as long.
    private static let interval = VouchRequests.patience / 7

    package init(services: Services, keys: BatchKeys) {
        self.services = services
        self.keys = keys
    }

    /// Answers until cancelled.
    package func run() async {
        await PeriodicWorker(every: Self.interval, jitter: 0.1).run(logging: .vouchNotGiven, to: self.services.logger) {
            try await self.answer()
        }
    }

    private func answer() async throws {
        // Nothing speaks against the ledger at the moment, and all that has authenticated it is in force.
        guard Readiness(self.services).stateName == Readiness.running, self.services.ledger.position > 0 else { return }
        let requests = VouchRequests(pool: self.services.pool)
        for challenge in try await requests.waiting() {
            guard let answer = VouchedEnd(of: self.services.ledger.view).answer(to: challenge, by: self.keys) else {
                continue
            }
            try await requests.answer(challenge, with: answer)
        }
    }
}
