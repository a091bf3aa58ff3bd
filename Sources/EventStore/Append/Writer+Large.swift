import Concurrency
package import Pinning

// Commands about hundreds of hosts, whose decisions take long: they are made beside the line, each on a thread of its own.

extension Writer {
    /// Records a command; a large one is decided beside the line first.
    nonisolated func record(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        var request = request
        let state = self.ledger.view.state
        request.isUrgent = state.isUrgent(request.command)
        if !request.isUrgent, state.weight(of: request.command) >= self.limits.largeWeight {
            let end = ContinuousClock.now + self.limits.answer
            // The next of its sender, or about its app, is decided on what it has recorded.
            let place = try await self.largeDecisions.place(for: request, atMost: self.limits.answer)
            defer { place.release() }
            for _ in 0..<Self.preparations where ContinuousClock.now < end && self.mayBeRecorded(request) {
                request.prepared = await self.prepared(request)
                if let recorded = try await self.queue.enter(request) { return recorded }
            }
            request.prepared = nil
        }
        guard let recorded = try await self.queue.enter(request) else { throw .overloaded }
        return recorded
    }

    /// How often a command is decided beside the line, because what others record outdates the decision, before it is decided in line.
    private static let preparations = 3

    /// False for a command that is refused in line, before it is decided.
    private nonisolated func mayBeRecorded(_ request: CommandRequest) -> Bool {
        let (head, state) = (self.ledger.view.head, self.ledger.view.state)
        let context = request.context(in: self.environment.context(at: head.present(by: self.clock())))
        let version = state.version(of: request.expectedStream ?? request.command.stream)
        // A version that this node has not come to may be there by then.
        guard request.expectedVersion.map({ $0 >= version }) ?? true else { return false }
        return (try? state.authorize(request.command, in: context)) != nil
    }

    /// The decision on a large command, made on a thread of its own; nil where the system has none to give.
    private nonisolated func prepared(_ request: CommandRequest) async -> PreparedDecision? {
        await DetachedThread.run { [ledger, environment, now = self.clock()] in
            let view = ledger.view
            let context = request.context(in: environment.context(at: view.head.present(by: now)))
            return view.state.prepare(request.command, in: context)
        }
    }

    /// A command's result as if it were recorded now and no other were under way.
    package struct Rehearsal: Sendable {
        package var recorded: Recorded
        /// The state before and after it.
        package var before: LedgerState
        package var after: LedgerState
    }

    /// The entries that a command would record now. One that takes long is decided as ``execute(_:)`` does it.
    package nonisolated func rehearse(_ request: CommandRequest) async throws(WriteFailure) -> Rehearsal {
        guard self.ledger.view.state.weight(of: request.command) >= self.limits.largeWeight else {
            return try self.rehearseAtOnce(request)
        }
        let place = try await self.largeDecisions.place(for: request, isRehearsal: true, atMost: self.limits.answer)
        defer { place.release() }
        let result = await DetachedThread.run { Result { () throws(WriteFailure) in try self.rehearseAtOnce(request) } }
        guard let result else { throw .overloaded }
        return try result.get()
    }

    private nonisolated func rehearseAtOnce(_ request: CommandRequest) throws(WriteFailure) -> Rehearsal {
        var batch = Batch(on: self.ledger.view, at: self.clock(), environment: self.environment)
        batch.add(request)
        if let recorded = batch.recorded(at: 0) {
            return Rehearsal(recorded: recorded, before: batch.base.state, after: batch.after.state)
        }
        guard case .failed(let failure) = batch.outcomes[0] else { throw .overloaded }
        throw failure
    }
}
