package import PinWire

/// A decision that was made beside the line of commands, with the versions of the streams on which it rests.
///
/// A command about hundreds of hosts takes a large part of a second to decide, for which no other command is to wait: it is decided
/// on the state of a moment, and enters the line with the result, which holds until one of those streams grows.
package struct PreparedDecision: Sendable {
    fileprivate let stream: StreamID
    fileprivate let result: Result<Decision, Refusal>
    fileprivate let basis: [StreamID: Int64]
    /// The number of apps, where it rests on all of them.
    fileprivate let appCount: Int?
}

extension LedgerState {
    /// Decides a command so that the result holds in later states too.
    package func prepare(_ command: Command, in context: DecisionContext) -> PreparedDecision {
        let result = Result { () throws(Refusal) in try self.decide(command, in: context) }
        let concernsFleet = self.concernsFleet(command)
        let apps = concernsFleet ? Array(self.apps.keys) : self.appIDs(of: command)
        let streams = Self.shared + apps.flatMap { [StreamID.app($0), .watch($0)] }
        let basis = Dictionary(streams.map { ($0, self.version(of: $0)) }) { first, _ in first }
        return PreparedDecision(
            stream: command.stream, result: result, basis: basis, appCount: concernsFleet ? apps.count : nil)
    }

    /// The streams besides those of apps that decisions look at. What `audit` holds decides nothing.
    private static let shared: [StreamID] = [.fleet, .keys, .access, .webhooks, .log, .changes]

    /// A prepared decision in this state; nil where it has to be made again, because of what was recorded since.
    ///
    /// - Parameter now: The time at which its events take effect: the state that they lead to is of that time.
    /// - Throws: The refusal that was prepared, or that of another app which has taken a Firebase parameter since.
    package func confirm(_ prepared: PreparedDecision, at now: Timestamp) throws(Refusal) -> Decision? {
        guard prepared.appCount.map({ $0 == self.apps.count }) ?? true,
            prepared.basis.allSatisfy({ self.version(of: $0) == $1 })
        else { return nil }
        var decision: Decision
        do throws(Refusal) { decision = try prepared.result.get() } catch {
            // The app that had the parameter may have given it up since.
            if case .firebaseParameterTaken = error { return nil }
            throw error
        }
        for case .app(let after) in decision.effects.map(\.after) + [decision.after] {
            try self.checkFirebaseTarget(from: self.apps[after.id], to: after)
        }
        var state = self
        for (place, effect) in decision.effects.enumerated() {
            guard let after = state.take(effect.events, of: effect.stream, at: now) else { return nil }
            decision.effects[place].after = after
        }
        guard let after = state.take(decision.events, of: prepared.stream, at: now) else { return nil }
        decision.after = after
        return decision
    }

    /// Takes in events of a stream, and returns its state then; nil where they do not belong to it.
    private mutating func take(_ events: [Event], of stream: StreamID, at time: Timestamp) -> StreamState? {
        for event in events {
            guard self.apply(event, of: stream, at: time) else { return nil }
        }
        return self.state(of: stream)
    }

    /// The number of hosts and single commands that deciding a command looks at: what its cost grows with.
    package func weight(of command: Command) -> Int {
        switch command {
        case .app(let id, let commands): (self.apps[id]?.hosts.count ?? 0) + commands.count
        case .watch(let id): self.apps[id]?.hosts.count ?? 0
        case .change(let change): self.commands(of: change).reduce(0) { $0 + self.weight(of: $1) }
        case .telemetryKey, .publication, .fleet, .keys, .access, .webhooks, .log, .audit: 0
        }
    }

    /// True of a command that others' work must not hold up: kill switches, and what takes something compromised away. One that has many
    /// parts holds others up itself.
    package func isUrgent(_ command: Command) -> Bool {
        guard case .change(let change) = command else { return command.isUrgent && command.count <= Self.urgentCount }
        let commands = self.commands(of: change)
        return !commands.isEmpty && commands.allSatisfy(\.isUrgent)
            && commands.reduce(0) { $0 + $1.count } <= Self.urgentCount
    }

    /// The most single commands of an urgent one.
    private static let urgentCount = 8

    /// True of a command whose decision looks at every app.
    private func concernsFleet(_ command: Command) -> Bool {
        switch command {
        case .fleet: true
        case .change(let change): self.commands(of: change).contains(where: self.concernsFleet)
        case .app, .watch, .telemetryKey, .publication, .keys, .access, .webhooks, .log, .audit: false
        }
    }

    private func appIDs(of command: Command) -> [AppID] {
        guard case .change(let change) = command else { return command.stream.app.map { [$0] } ?? [] }
        return self.commands(of: change).compactMap(\.stream.app)
    }

    /// The commands that a proposed change has, or gets.
    private func commands(of change: ChangeCommand) -> [Command] {
        switch change {
        case .create(_, let draft, _), .bypass(_, let draft), .edit(_, _, let draft): draft.commands
        case .propose(let id), .approve(let id, _, _), .reject(let id), .withdraw(let id), .apply(let id, _),
            .applyDue(let id), .suspend(let id, _), .review(let id):
            self.changes[id]?.content.commands ?? []
        }
    }
}

extension Command {
    /// The number of its single commands.
    fileprivate var count: Int { if case .app(_, let commands) = self { commands.count } else { 1 } }

    fileprivate var isUrgent: Bool {
        switch self {
        case .app(_, let commands): !commands.isEmpty && commands.allSatisfy(\.isUrgent)
        case .fleet(let command): command.isUrgent
        case .access(let command): command.isUrgent
        case .watch, .telemetryKey, .publication, .keys, .webhooks, .log, .change, .audit: false
        }
    }
}

extension AppCommand {
    fileprivate var isUrgent: Bool {
        switch self {
        case .engageKillSwitch, .releaseKillSwitch, .engageVersionKillSwitch, .releaseVersionKillSwitch, .revokePin,
            .rollout(_, .rollBack):
            true
        default: false
        }
    }
}

extension FleetCommand {
    fileprivate var isUrgent: Bool {
        switch self {
        case .engageKillSwitch, .releaseKillSwitch, .restoreHistory: true
        case .setIssuer, .setGuardRail, .raiseFeatureLevel: false
        }
    }
}

extension AccessCommand {
    fileprivate var isUrgent: Bool {
        switch self {
        case .revokeToken, .suspendPrincipal, .revokeGrant, .removeApprovalKey: true
        default: false
        }
    }
}
