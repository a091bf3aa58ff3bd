package import PinWire

/// The effect of one command of a change: the events of its stream, and the state after them.
package struct ChangeEffect: Hashable, Sendable {
    package var stream: StreamID
    package var events: [Event]
    package var after: StreamState
}

/// What the commands of a change do in one state: nothing of it has happened yet.
package struct ChangePlan: Sendable {
    /// In the order of the commands; those that change nothing are left out.
    package var effects: [ChangeEffect] = []
    /// The guard rails' findings that do not refuse it, or were overridden.
    package var findings: [Finding] = []
    /// What it takes to do it.
    package var uses: Set<PermissionUse> = []
    /// Whether a browser's session needs a recent proof to have it done.
    package var needsRecentProof = false

    /// The events, in order.
    package var events: [(stream: StreamID, event: Event)] {
        self.effects.flatMap { effect in effect.events.map { (effect.stream, $0) } }
    }

    /// The hash of the events, 32 bytes: SHA-256 of canonical JSON. Neither the versions of their streams nor what belongs to
    /// the moment of decision is in it, so that it stays the same as long as the same things happen.
    package var digest: [UInt8] { sha256(self.json.canonicalBytes) }

    /// The events, as far as the commands and the state decide them: what ``digest`` is the hash of.
    package var json: JSON {
        .array(
            self.events.map { stream, event in
                ["stream": .string(stream.text), "type": .string(event.type), "data": event.planned]
            })
    }
}

extension LedgerState {
    /// What commands do, one after the other.
    ///
    /// - Parameter rights: What their author may do; nil for what `context` says of its commander.
    /// - Throws: The refusal of the first command that cannot be done.
    package func plan(
        _ commands: [Command], as rights: Rights? = nil, in context: DecisionContext
    ) throws(Refusal) -> ChangePlan {
        var context = context
        context.standingRights = rights
        context.isPlanned = true
        var (state, plan) = (self, ChangePlan())
        for command in commands {
            guard command.isProposable else { throw .commandNotProposable }
            let decision = try state.decide(command, in: context)
            plan.findings += decision.findings
            plan.uses.formUnion(decision.uses)
            guard !decision.events.isEmpty else { continue }
            if decision.needsRecentProof { plan.needsRecentProof = true }
            state.take(decision.after)
            plan.effects.append(
                ChangeEffect(stream: command.stream, events: decision.events, after: decision.after))
        }
        return plan
    }

    /// The state after a plan.
    package func after(_ plan: ChangePlan) -> LedgerState {
        var after = self
        for effect in plan.effects { after.take(effect.after) }
        return after
    }
}
