import PinWire

extension AppCommand {
    /// Whether an archived app takes the command. A reversal begins with ``unarchive`` where it can be decided at all.
    var isForArchived: Bool {
        switch self {
        case .archive, .unarchive, .revert: true
        default: false
        }
    }
}

extension App {
    /// The events that archive the app: whatever clients get is withdrawn by events of its own, so that the guard rails,
    /// history and webhooks see an archived host as a removed one.
    ///
    /// Declarations of deployed clients stay: their keys cannot be made again, and an install that gets no answer keeps
    /// the pins it has.
    func archive(in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard self.archivedAt == nil else { return [] }
        try context.requireReason("it ends pinning for all installs of \(self.id)")
        var events: [AppEvent] = self.rotations.filter { !$0.phase.isOver }.map { .rotationAborted($0.id) }
        if self.plan?.isUnderWay == true { events.append(.rolloutPlanCleared(nil)) }
        events += self.hosts.keys.sorted().map { .hostRemoved($0) }
        if self.killSwitch != nil { events.append(.killSwitchReleased(nil)) }
        events += self.versionKillSwitches.map { .versionKillSwitchReleased($0.versions) }
        if self.rollout != nil { events.append(.appRolloutSet(nil)) }
        if self.versionGate != nil { events.append(.versionGateSet(nil)) }
        if self.pinsValidUntil != nil { events.append(.pinsValidUntilSet(nil)) }
        // Built-in pins may be of keys that are long gone: a host that no document names would enforce them.
        if !self.fallback.hosts.isEmpty { events.append(.fallbackSet(Fallback(usesBuiltinPins: false))) }
        return events + [.appArchived]
    }

    /// Closes the app. What would make it grow is gone by then, or bounded; facts about keys stay, without which its hosts could
    /// not come back as they were, and revoked pins, which must never return.
    mutating func close(at time: Timestamp) {
        self.archivedAt = time
        self.rotations = []
        self.plan = nil
        self.rolledBackAt = nil
    }
}
