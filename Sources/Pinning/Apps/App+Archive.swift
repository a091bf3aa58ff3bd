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
        var events: [AppEvent] = self.hosts.keys.sorted().map { .hostRemoved($0) }
        if self.killSwitch != nil { events.append(.killSwitchReleased(nil)) }
        events += self.versionKillSwitches.map { .versionKillSwitchReleased($0.versions) }
        if self.rollout != nil { events.append(.appRolloutSet(nil)) }
        if self.versionGate != nil { events.append(.versionGateSet(nil)) }
        if self.pinsValidUntil != nil { events.append(.pinsValidUntilSet(nil)) }
        return events + [.appArchived]
    }

    /// Closes the app. The revoked pins stay, which must never return, and the facts about keys, without which its hosts
    /// could not come back as they were; the rest of what it knew beside its settings does not.
    mutating func close(at time: Timestamp) {
        self.archivedAt = time
        self.rotations = []
        self.plan = nil
        self.rolledBackAt = nil
        self.reactionsTaken = []
        self.riskyChanges = []
    }
}
