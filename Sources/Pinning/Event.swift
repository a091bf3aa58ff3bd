package import PinWire

/// A fact of any kind of stream.
package enum Event: Hashable, Sendable {
    case app(AppEvent)
    case fleet(FleetEvent)
    case keys(KeyEvent)
    case access(AccessEvent)
}

/// What somebody wants of any kind of stream; one command is one atomic change of one stream.
package enum Command: Hashable, Sendable {
    case app(AppID, [AppCommand])
    case fleet(FleetCommand)
    case keys(KeyCommand)
    case access(AccessCommand)

    /// The stream that the command changes.
    package var stream: StreamID {
        switch self {
        case .app(let id, _): .app(id)
        case .fleet: .fleet
        case .keys: .keys
        case .access: .access
        }
    }
}

/// Everything that follows from the ledger up to one position: the fold of all its streams.
package struct LedgerState: Sendable {
    package var apps: [AppID: App] = [:]
    package var fleet = Fleet()
    package var keys = KeyRing()
    package var access = Access()

    package init() {}

    /// The number of events in a stream.
    package func version(of stream: StreamID) -> Int64 {
        switch stream {
        case .app(let id): self.apps[id]?.version ?? 0
        case .fleet: self.fleet.version
        case .keys: self.keys.version
        case .access: self.access.version
        }
    }

    /// Takes in one more event, recorded at `time`. False where it belongs to no such stream; the state is then unchanged.
    package mutating func apply(_ event: Event, of stream: StreamID, at time: Timestamp) -> Bool {
        switch (stream, event) {
        case (.app(let id), .app(let event)):
            if self.apps[id] != nil {
                self.apps[id]?.evolve(event, at: time)
            } else {
                guard let app = App(first: event, id: id, at: time) else { return false }
                self.apps[id] = app
            }
        case (.fleet, .fleet(let event)): self.fleet.evolve(event, at: time)
        case (.keys, .keys(let event)): self.keys.evolve(event, at: time)
        case (.access, .access(let event)): self.access.evolve(event, at: time)
        default: return false
        }
        return true
    }

    /// The events that `command` causes in this state.
    package func decide(_ command: Command, in context: DecisionContext) throws(Refusal) -> [Event] {
        switch command {
        case .app(let id, let commands):
            try App.decide(commands, self.apps[id], id: id, in: context).map { .app($0) }
        case .fleet(let command): try self.fleet.decide(command, in: context).map { .fleet($0) }
        case .keys(let command): try self.keys.decide(command, in: context).map { .keys($0) }
        case .access(let command): try self.access.decide(command, in: context).map { .access($0) }
        }
    }
}
