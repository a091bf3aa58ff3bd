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
    package var apps = AppTable()
    package var fleet = Fleet()
    package var keys = KeyRing()
    package var access = Access()

    package init() {}

    /// The number of events in a stream.
    package func version(of stream: StreamID) -> Int64 {
        switch stream {
        case .app(let id): self.apps.version(of: id)
        case .fleet: self.fleet.version
        case .keys: self.keys.version
        case .access: self.access.version
        }
    }

    /// What became of an event that was to be taken in.
    package enum Outcome: Hashable, Sendable {
        case applied
        /// It is not the next event of its stream.
        case outOfTurn
        /// It belongs to no such stream.
        case unfit
    }

    /// Takes in the next event of a stream, which is its `version`-th; anything but ``Outcome/applied`` leaves the state
    /// unchanged.
    package mutating func apply(
        _ event: Event, of stream: StreamID, version: Int64, at time: Timestamp
    ) -> Outcome {
        // An app that is there is looked up once: a fold of a long ledger does little else.
        if case .app(let id) = stream, case .app(let event) = event {
            let outcome = self.apps.update(id) { app -> Outcome in
                guard app.version + 1 == version else { return .outOfTurn }
                app.evolve(event, at: time)
                return .applied
            }
            if let outcome { return outcome }
        }
        guard self.version(of: stream) + 1 == version else { return .outOfTurn }
        return self.apply(event, of: stream, at: time) ? .applied : .unfit
    }

    /// Takes in one more event, recorded at `time`. False where it belongs to no such stream; the state is then unchanged.
    package mutating func apply(_ event: Event, of stream: StreamID, at time: Timestamp) -> Bool {
        switch (stream, event) {
        case (.app(let id), .app(let event)):
            if self.apps.update(id, { $0.evolve(event, at: time) }) == nil {
                guard let app = App(first: event, id: id, at: time) else { return false }
                self.apps.insert(app)
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
            try self.fitting(try App.decide(commands, self.apps[id], id: id, in: context), id, at: context.now)
                .map { .app($0) }
        case .fleet(let command): try self.fleet.decide(command, in: context).map { .fleet($0) }
        case .keys(let command): try self.keys.decide(command, in: context).map { .keys($0) }
        case .access(let command): try self.access.decide(command, in: context).map { .access($0) }
        }
    }

    /// The events, if the app's document is not too large after them.
    private func fitting(_ events: [AppEvent], _ id: AppID, at time: Timestamp) throws(Refusal) -> [AppEvent] {
        // No event is larger than 64 KiB, so that few hosts cannot make too much. To render many takes its time.
        guard events.contains(where: \.addsToDocument), (self.apps[id]?.hosts.count ?? 0) + events.count > 12
        else { return events }
        var state = self
        for event in events { _ = state.apply(.app(event), of: .app(id), at: time) }
        guard let document = state.document(of: id) else { return events }
        let byteCount = document.payload(issuedAt: time, expiresAt: time).count
        let grows = byteCount > self.document(of: id)?.payload(issuedAt: time, expiresAt: time).count ?? 0
        guard byteCount <= App.documentLimit || !grows else {
            throw .documentTooLarge(bytes: byteCount, limit: App.documentLimit)
        }
        return events
    }
}
