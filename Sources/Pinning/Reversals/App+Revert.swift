extension App {
    /// The events that put a recorded change back, and the record of it; none where everything already is as before.
    ///
    /// - Throws: ``Refusal/changedSince(_:)`` where a later change set the same parts: that one has to be put back first.
    ///   ``Refusal/notRevertible(_:)``. The refusal of a command that does not fit any more.
    func revert(_ change: PastChange, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        let reversal = try Reversal(of: change, in: self, at: context.now)
        guard reversal.conflicts.isEmpty else { throw .changedSince(reversal.conflicts) }
        let events = try Self.events(of: reversal.commands, self, id: self.id, in: context).events
        if events.isEmpty, let kept = reversal.kept.first { throw .notRevertible(.nothingLeft(kept)) }
        return events.isEmpty ? [] : events + [.changeReverted(change.position)]
    }
}
