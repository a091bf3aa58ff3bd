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
        let context = context.knowing(fleet: self.fleet)
        let change = try self.change(of: id, by: commands, in: context)
        let verdict: GuardRailEvaluation.Verdict
        var isRefused = false
        do throws(Refusal) { verdict = try GuardRailEvaluation(.app(change), in: context).verdict() } catch {
            // The rails' objections are the subject of the question.
            guard case .guarded(let findings) = error else { throw error }
            verdict = GuardRailEvaluation.Verdict(findings: findings, overridden: [])
            isRefused = true
        }
        let decision = try self.decision(on: change, verdict)
        var after = self
        after.take(decision.after)
        return Rehearsal(
            after: after, events: decision.events, findings: decision.findings, isRefused: isRefused)
    }

    /// The result of a proposed change for one app, as it would be now.
    ///
    /// - Throws: The refusal by which it could not be applied, but for missing approvals.
    package func rehearse(
        _ change: ProposedChange, of id: AppID, in context: DecisionContext
    ) throws(Refusal) -> Rehearsal {
        guard change.isOpen(at: context.now) else { throw .changeClosed(change.id, change.status(at: context.now)) }
        let plan = try self.plan(of: change, in: context)
        return Rehearsal(
            after: self.after(plan), events: plan.events.filter { $0.0 == .app(id) }.map(\.1), findings: plan.findings,
            isRefused: false)
    }
}
