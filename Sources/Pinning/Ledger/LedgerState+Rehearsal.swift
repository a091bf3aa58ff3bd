package import PinWire

extension LedgerState {
    /// The result of a change, without regard to the guard rails.
    package struct Rehearsal: Sendable {
        /// The state afterwards.
        package var after: LedgerState
        package var events: [Event]
        package var findings: [Finding]
        /// Whether the guard rails would refuse it.
        package var isRefused: Bool
    }

    /// Finds out the result of a change of an app.
    ///
    /// - Throws: ``Refusal`` where the change has no result, such as for a host that does not exist.
    package func rehearse(
        _ commands: [AppCommand], of id: AppID, in context: DecisionContext
    ) throws(Refusal) -> Rehearsal {
        let decision: Decision
        var findings: [Finding]?
        do throws(Refusal) { decision = try self.decide(.app(id, commands), in: context) } catch {
            guard case .guarded(let found) = error else { throw error }
            findings = found
            // The same without the rails: their objections are the subject of the question.
            var unguarded = context
            unguarded.rails = []
            decision = try self.decide(.app(id, commands), in: unguarded)
        }
        var after = self
        for event in decision.events { _ = after.apply(event, of: .app(id), at: context.now) }
        return Rehearsal(
            after: after, events: decision.events, findings: findings ?? decision.findings, isRefused: findings != nil)
    }
}
