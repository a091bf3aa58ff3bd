package import PinWire

/// A fact of any kind of stream.
package enum Event: Hashable, Sendable {
    case app(AppEvent)
    case watch(WatchEvent)
    case fleet(FleetEvent)
    case keys(KeyEvent)
    case access(AccessEvent)
    case webhooks(WebhookEvent)
}

/// A command for any kind of stream; one command is one atomic change of one stream.
package enum Command: Hashable, Sendable {
    case app(AppID, [AppCommand])
    /// Records the due warnings about an app. Only the server itself does this.
    case watch(AppID)
    case telemetryKey(AppID, TelemetryKeyCommand)
    case fleet(FleetCommand)
    case keys(KeyCommand)
    case access(AccessCommand)
    case webhooks(WebhookCommand)

    /// The stream that the command changes.
    package var stream: StreamID {
        switch self {
        case .app(let id, _): .app(id)
        case .watch(let id), .telemetryKey(let id, _): .watch(id)
        case .fleet: .fleet
        case .keys: .keys
        case .access: .access
        case .webhooks: .webhooks
        }
    }
}

/// The result of a command.
package struct Decision: Hashable, Sendable {
    package var events: [Event]
    /// The guard rails' findings that do not refuse it, or were overridden: the most severe first.
    package var findings: [Finding]

    init(_ events: [Event]) { self.init(events: events, findings: []) }

    init(events: [Event], findings: [Finding]) {
        self.events = events
        self.findings = findings
    }

    /// A hash of a change's events and of their base, 32 bytes: SHA-256 of canonical JSON. Times and samples of the
    /// moment of decision are left out: they are never the same twice.
    package static func plan(of events: [Event], after version: Int64) -> [UInt8] {
        let json: JSON = [
            "after_version": .integer(version),
            "events": .array(events.map { ["type": .string($0.type), "data": $0.planned] }),
        ]
        return sha256(json.canonicalBytes)
    }
}

/// The state that follows from the ledger up to one position: the fold of all its streams.
package struct LedgerState: Sendable {
    package var apps = AppTable()
    package var fleet = Fleet()
    package var keys = KeyRing()
    package var access = Access()
    package var webhooks = Webhooks()

    package init() {}

    /// The number of events in a stream.
    package func version(of stream: StreamID) -> Int64 {
        switch stream {
        case .app(let id): self.apps.version(of: id)
        case .watch(let id): self.apps[id]?.watch.version ?? 0
        case .fleet: self.fleet.version
        case .keys: self.keys.version
        case .access: self.access.version
        case .webhooks: self.webhooks.version
        }
    }

    /// The result of taking in an event.
    package enum Outcome: Hashable, Sendable {
        case applied
        /// It is not the next event of its stream.
        case outOfTurn
        /// It does not belong to such a stream.
        case unfit
    }

    /// Takes in the next event of a stream, which is its `version`-th; anything but ``Outcome/applied`` leaves the state
    /// unchanged.
    package mutating func apply(
        _ event: Event, of stream: StreamID, version: Int64, at time: Timestamp
    ) -> Outcome {
        // An existing app is looked up once: a fold of a long ledger does little else.
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

    /// Takes in one more event, recorded at `time`. False where it belongs to no such stream; the state is then
    /// unchanged.
    package mutating func apply(_ event: Event, of stream: StreamID, at time: Timestamp) -> Bool {
        switch (stream, event) {
        case (.app(let id), .app(let event)):
            if self.apps.update(id, { $0.evolve(event, at: time) }) == nil {
                guard let app = App(first: event, id: id, at: time) else { return false }
                self.apps.insert(app)
            }
        case (.watch(let id), .watch(let event)):
            return self.apps.update(id) { $0.watch.evolve(event, at: time) } != nil
        case (.fleet, .fleet(let event)): self.fleet.evolve(event, at: time)
        case (.keys, .keys(let event)): self.keys.evolve(event, at: time)
        case (.access, .access(let event)): self.access.evolve(event, at: time)
        case (.webhooks, .webhooks(let event)): self.webhooks.evolve(event, at: time)
        default: return false
        }
        return true
    }

    /// The events that `command` causes in this state, and the guard rails' findings about them.
    package func decide(_ command: Command, in context: DecisionContext) throws(Refusal) -> Decision {
        let context = context.knowing(fleet: self.fleet)
        switch command {
        case .app(let id, let commands):
            let before = self.apps[id]
            let (events, after) = try App.outcome(
                of: commands, before, id: id, lowered: self.fleet.loweredRails, in: context)
            try self.checkFirebaseTarget(from: before, to: after)
            let judged = try GuardRailEvaluation(
                id: id, before: before, after: after, events: events, lowered: self.fleet.loweredRails,
                fleetVersion: self.fleet.version, context: context
            ).verdict()
            return Decision(
                events: try self.fitting(judged.events, id, at: context.now).map { .app($0) },
                findings: judged.findings
            )
        case .watch(let id): return Decision(try self.warnings(of: id, in: context).map { .watch($0) })
        case .telemetryKey(let id, let command):
            guard let app = self.apps[id] else { throw .appUnknown(id) }
            return Decision(try app.watch.decide(command).map { .watch($0) })
        case .fleet(let command):
            let events = try self.fleet.decide(command, in: context)
            let findings = FleetRails.findings(of: command, in: self, context)
            let overridden = findings.filter { $0.severity == .override }.map { OverriddenFinding($0) }
            if !overridden.isEmpty, !context.insists { throw .guarded(findings) }
            let record: [FleetEvent] = overridden.isEmpty ? [] : [.railsOverridden(overridden)]
            return Decision(events: (events + record).map { .fleet($0) }, findings: findings)
        case .keys(let command):
            let isLowered = self.fleet.loweredRails.contains(.signingKeyOverlap)
            let findings = self.keys.overlap(command, isLowered: isLowered, in: context).map { [$0] } ?? []
            let events = try self.keys.decide(command, isLowered: isLowered, in: context)
            return Decision(events: events.map { .keys($0) }, findings: findings)
        case .access(let command): return Decision(try self.access.decide(command, in: context).map { .access($0) })
        case .webhooks(let command):
            return Decision(try self.webhooks.decide(command, in: context).map { .webhooks($0) })
        }
    }

    /// The events, if the app's document is not too large after them.
    private func fitting(_ events: [AppEvent], _ id: AppID, at time: Timestamp) throws(Refusal) -> [AppEvent] {
        // No event is larger than 64 KiB, so that a few hosts cannot make the document too large. Rendering many takes
        // its time.
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

extension Event {
    /// The event's data as far as the command and the state decide them.
    fileprivate var planned: JSON {
        guard case .object(var members) = self.data else { return self.data }
        switch self {
        case .app(.rotationStarted): members["started_at"] = nil
        case .app(.guardRailsOverridden(let findings)), .keys(.railsOverridden(let findings)),
            .fleet(.railsOverridden(let findings)):
            members["findings"] = .array(
                findings.map { finding in
                    var finding = finding
                    finding.detail = ""
                    return finding.json
                })
        default: break
        }
        return .object(members)
    }
}
