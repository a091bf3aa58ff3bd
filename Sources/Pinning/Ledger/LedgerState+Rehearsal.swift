package import PinWire

extension LedgerState {
    /// What a change would lead to, whatever the guard rails say of it.
    package struct Rehearsal: Sendable {
        /// The state afterwards.
        package var after: LedgerState
        package var events: [Event]
        package var findings: [Finding]
        /// Whether the guard rails would refuse it.
        package var isRefused: Bool
    }

    /// Finds out what a change of an app would lead to.
    ///
    /// - Throws: ``Refusal`` where there is no state that it would lead to, such as of a host that is not there.
    package func rehearse(
        _ commands: [AppCommand], of id: AppID, in context: DecisionContext
    ) throws(Refusal) -> Rehearsal {
        let decision: Decision
        var findings: [Finding]?
        do throws(Refusal) { decision = try self.decide(.app(id, commands), in: context) } catch {
            guard case .guarded(let found) = error else { throw error }
            findings = found
            // The same without the rails: what they object to is what is to be seen.
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
