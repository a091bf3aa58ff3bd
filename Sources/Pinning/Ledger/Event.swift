package import PinWire

/// A fact of any kind of stream.
package enum Event: Hashable, Sendable {
    case app(AppEvent)
    case watch(WatchEvent)
    case fleet(FleetEvent)
    case keys(KeyEvent)
    case access(AccessEvent)
    case webhooks(WebhookEvent)
    case log(LogEvent)
    case changes(ChangeEvent)
    case audit(AuditEvent)
}

/// A command for any kind of stream; one command is one atomic change of one stream, or of several where it applies a
/// proposed change.
package enum Command: Hashable, Sendable {
    case app(AppID, [AppCommand])
    /// Records the due warnings about an app. Only the server itself does this.
    case watch(AppID)
    case telemetryKey(AppID, TelemetryKeyCommand)
    /// Records that a version of an app's document was published. Only the server itself does this.
    case publication(AppID, Publication)
    case fleet(FleetCommand)
    case keys(KeyCommand)
    case access(AccessCommand)
    case webhooks(WebhookCommand)
    case log(LogCommand)
    case change(ChangeCommand)
    /// Only the server itself gives it.
    case audit(AuditCommand)

    /// The stream that the command changes.
    package var stream: StreamID {
        switch self {
        case .app(let id, _): .app(id)
        case .watch(let id), .telemetryKey(let id, _), .publication(let id, _): .watch(id)
        case .fleet: .fleet
        case .keys: .keys
        case .access: .access
        case .webhooks: .webhooks
        case .log: .log
        case .change: .changes
        case .audit: .audit
        }
    }
}

/// The result of a command.
package struct Decision: Hashable, Sendable {
    package var events: [Event]
    /// The guard rails' findings that do not refuse it, or were overridden: the most severe first.
    package var findings: [Finding]
    /// The state of the command's stream that the events lead to.
    package var after: StreamState
    /// What it does to further streams, before its own events.
    package var effects: [ChangeEffect] = []
    /// The proposed change that it applies; nil for none.
    package var applied: AppliedChange?
    /// What it takes to do it, as far as rules can ask for approvals of it.
    package var uses: Set<PermissionUse> = []
    /// Whether a browser's session needs a recent proof for it (``Access/checkProofIsRecent(for:in:)``).
    package var needsRecentProof = false

    init(_ events: [Event], findings: [Finding] = [], after: StreamState) {
        self.events = events
        self.findings = findings
        self.after = after
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

/// What the entries of an applied change say of it.
package struct AppliedChange: Hashable, Sendable {
    package var id: String
    package var isForced: Bool
    package var reason: Reason
}

/// The state that follows from the ledger up to one position: the fold of all its streams.
package struct LedgerState: Sendable {
    package var apps = AppTable()
    package var fleet = Fleet()
    package var keys = KeyRing()
    package var access = Access()
    package var webhooks = Webhooks()
    package var log = LogSettings()
    package var changes = ProposedChanges()
    package var audit = AuditTrail()

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
        case .log: self.log.version
        case .changes: self.changes.version
        case .audit: self.audit.version
        }
    }

    /// The result of taking in an event.
    package enum Outcome: Hashable, Sendable {
        case applied
        /// It is not the next event of its stream.
        case notNext
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
                guard app.version + 1 == version else { return .notNext }
                app.evolve(event, at: time)
                return .applied
            }
            if let outcome { return outcome }
        }
        guard self.version(of: stream) + 1 == version else { return .notNext }
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
        case (.log, .log(let event)): self.log.evolve(event, at: time)
        case (.changes, .changes(let event)): self.changes.evolve(event, at: time)
        case (.audit, .audit(let event)): self.audit.evolve(event, at: time)
        default: return false
        }
        return true
    }
}

extension Event {
    /// The event's data as far as the command and the state decide them.
    var planned: JSON {
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
