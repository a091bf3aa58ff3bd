import Concurrency
import EventStore
import LogLines
import Logging
import PinWire
import Pinning

/// Records due warnings, so that receivers of events get them without asking. Several nodes may check at once: a
/// warning that one has recorded is not due for the others.
struct WarningWorker: Sendable {
    let ledger: Ledger
    let writer: Writer?
    let environment: DecisionEnvironment
    let clock: @Sendable () -> Timestamp
    let interval: Duration
    let logger: Logger

    /// The number of apps that are checked before other work runs.
    private static let stride = 32

    /// Checks every app once per interval until cancelled.
    func run() async {
        // A node has probed nothing when it starts, and a node that may not write has said so.
        let worker = PeriodicWorker(every: self.interval, first: .afterInterval) { self.ledger.refusal != nil }
        await worker.run { await self.look() }
    }

    private func look() async {
        let state = self.ledger.view.state
        var looked = 0
        for (id, _) in state.apps {
            looked += 1
            if looked.isMultiple(of: Self.stride) { await Task.yield() }
            guard !Task.isCancelled else { return }
            let context = DecisionContext(
                now: self.clock(), reason: nil, isForced: false, facts: self.environment.facts(), actor: .system,
                isPublicSuffix: self.environment.isPublicSuffix
            )
            guard let due = try? state.warnings(of: id, in: context), !due.isEmpty else { continue }
            guard await self.record(id) else { return }
        }
    }

    /// False where nothing can be recorded at the moment: the next round does it.
    private func record(_ id: AppID) async -> Bool {
        let request = CommandRequest(
            command: .watch(id), origin: Origin(actor: .system), expectedVersion: nil,
            digest: [UInt8](repeating: 0, count: 32)
        )
        do throws(WriteFailure) {
            _ = try await self.writer?.execute(request)
            return true
        } catch {
            self.logger.log(.warningNotRecorded, ["app": "\(id)", "error": "\(error)"])
            return false
        }
    }
}
