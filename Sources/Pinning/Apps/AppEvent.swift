package import PinWire

/// A fact about one app, in the past tense. Cases are only added, never changed. ``Declared`` has their names and fields.
package enum AppEvent: Hashable, Sendable {
    case appCreated(displayName: String)
    case appRenamed(displayName: String)
    case versionGateSet(VersionGate?)
    case appRolloutSet(Rollout?)
    case fallbackSet(Fallback)
    case monitoringSet(Monitoring)
    case pinsValidUntilSet(Timestamp?)
    /// The events before this one in the same change withdrew everything that clients got.
    case appArchived
    /// The app takes changes again. It has no hosts yet.
    case appUnarchived

    /// `mode` is that of the new baseline policy; nil for a baseline of built-in pins.
    case hostAdded(HostPattern, includesSubdomains: Bool, mode: PinMode?)
    case hostSubdomainsSet(HostPattern, includesSubdomains: Bool)
    case hostRemoved(HostPattern)
    case modeSet(HostPattern, PolicySlot, PinMode)
    case candidateStarted(HostPattern, mode: PinMode)
    case candidatePromoted(HostPattern)
    case candidateDropped(HostPattern)
    case hostRolloutSet(HostPattern, Rollout?)

    case pinStaged(HostPattern, PolicySlot, Pin, PinRole, note: String?)
    case pinActivated(HostPattern, PolicySlot, Pin)
    case pinRoleSet(HostPattern, PolicySlot, Pin, PinRole)
    case pinRetired(HostPattern, PolicySlot, Pin)
    case pinRevoked(HostPattern, PolicySlot, Pin)

    /// For the whole app, or for one host.
    case killSwitchEngaged(HostPattern?, expiresAt: Timestamp)
    case killSwitchReleased(HostPattern?)
    /// For some versions of the app.
    case versionKillSwitchEngaged(VersionRange, expiresAt: Timestamp)
    case versionKillSwitchReleased(VersionRange)

    case endpointsSet(HostPattern, [Endpoint]?)
    case keyDescribed(KeyEvidence)
    case guardRailSet(GuardRail, isLowered: Bool)
    /// An actor overrode a guard rail; the entry says who and why.
    case guardRailsOverridden([OverriddenFinding])
    /// The events before this one in the same change put the change back that begins at the position.
    case changeReverted(Int64)

    case rotationStarted(Rotation)
    case rotationAdvanced(String, Rotation.Phase)
    case rotationAborted(String)

    // For a host's candidate, or with nil for the whole app.
    case rolloutPlanSet(HostPattern?, RolloutPlan.Terms)
    case rolloutPlanCleared(HostPattern?)
    /// The rollout goes to the step's share from now on. Steps count from 1.
    case rolloutStepTaken(HostPattern?, step: Int, basisPoints: Int)
    case rolloutStepApproved(HostPattern?, step: Int)
    /// So many installs have reported in the step, which are enough.
    case rolloutSampleReached(HostPattern?, step: Int, installs: Int)
    /// The step waits for its installs once more as long.
    case rolloutStepExtended(HostPattern?, step: Int)
    case rolloutBakeStarted(HostPattern?)
    case rolloutPlanFinished(HostPattern?)
    case rolloutPaused(HostPattern?, RolloutPlan.Cause, detail: String?)
    case rolloutResumed(HostPattern?)
    /// To nobody, listed ids included.
    case rolloutRolledBack(HostPattern?, RolloutPlan.Cause, detail: String?)

    /// The server's reaction to clients' reports stands in the same change.
    case telemetryReacted(Reacted)

    /// Installs of this kind are served, or are to be, with these settings.
    case clientSet(ClientKind, ClientSettings)
    case clientRemoved(ClientKind)
    /// This key signs the kind's format from now on. The private half is not in the ledger.
    case clientKeySet(ClientKind, ClientKey)
    /// A file of the kind, with these pins of a host, is built into installs, or was exported to be.
    case builtInPinsNoted(ClientKind, BuiltInHost, BuiltInPins.Origin)
}

extension App {
    /// The state after the stream's first event, which must be the app's creation; else nil.
    package init?(first event: AppEvent, id: AppID, at time: Timestamp) {
        guard case .appCreated(let displayName) = event else { return nil }
        self.init(id: id, displayName: displayName, createdAt: time)
        self.version = 1
    }

    /// Takes in one more event of the app's stream, recorded at `time`. Total: an event that does not fit the state
    /// (which `decide` never makes) changes what it can and nothing else.
    package mutating func evolve(_ event: AppEvent, at time: Timestamp) {
        self.version += 1
        self.updatedAt = time
        switch event {
        case .appCreated: break
        case .appRenamed(let displayName): self.displayName = displayName
        case .versionGateSet(let gate): self.versionGate = gate
        case .appRolloutSet(let rollout):
            self.rollout = rollout
            self.rolloutRevision = self.version
            self.rolledBackAt = nil
        case .fallbackSet(let fallback): self.fallback = fallback
        case .monitoringSet(let monitoring): self.monitoring = monitoring
        case .pinsValidUntilSet(let time): self.pinsValidUntil = time
        case .appArchived: self.close(at: time)
        case .appUnarchived: self.archivedAt = nil
        case .hostAdded(let pattern, let includesSubdomains, let mode):
            self.hosts[pattern] = Host(
                includesSubdomains: includesSubdomains,
                baseline: mode.map { .policy(Policy(mode: $0)) } ?? .builtin
            )
        case .hostSubdomainsSet(let pattern, let includesSubdomains):
            if self.hosts[pattern]?.includesSubdomains == true, !includesSubdomains { self.noteRisk(at: time) }
            self.hosts[pattern]?.includesSubdomains = includesSubdomains
        case .hostRemoved(let pattern):
            if self.hosts[pattern] != nil { self.noteRisk(at: time) }
            self.hosts[pattern] = nil
            for kind in self.clients.keys { self.clients[kind]?.builtIn[pattern] = nil }
        case .modeSet(let pattern, let slot, let mode):
            if let was = self.hosts[pattern]?[slot]?.mode, mode.strength < was.strength { self.noteRisk(at: time) }
            if self.hosts[pattern]?[slot] == nil {
                self.hosts[pattern]?[slot] = Policy(mode: mode)
            } else {
                self.hosts[pattern]?[slot]?.set(mode)
            }
        case .candidateStarted(let pattern, let mode):
            self.hosts[pattern]?.candidate = Policy(mode: mode)
            self.hosts[pattern]?.plan = nil
            self.hosts[pattern]?.rolledBackAt = nil
        case .candidatePromoted(let pattern):
            guard var candidate = self.hosts[pattern]?.candidate else { break }
            if let was = self.hosts[pattern]?[.baseline], !was.lost(to: candidate).isEmpty { self.noteRisk(at: time) }
            // Devices of a built-in baseline had none of its pins from here.
            let baseline = self.hosts[pattern]?[.baseline] ?? Policy(mode: .off)
            candidate.takeOver(baseline, at: time, by: self.version)
            self.hosts[pattern]?.baseline = .policy(candidate)
            self.hosts[pattern]?.loseCandidate(at: time)
        case .candidateDropped(let pattern):
            if let candidate = self.hosts[pattern]?.candidate, self.hosts[pattern]?[.baseline] != nil {
                self.hosts[pattern]?[.baseline]?.takeOver(candidate, at: time, by: self.version)
            }
            self.hosts[pattern]?.loseCandidate(at: time)
        case .hostRolloutSet(let pattern, let rollout):
            self.hosts[pattern]?.rollout = rollout
            self.hosts[pattern]?.rolloutRevision = self.version
            self.hosts[pattern]?.rolledBackAt = nil
        case .pinStaged(let pattern, let slot, let pin, let role, let note):
            self.hosts[pattern]?[slot]?.pins[pin] = PinRecord(role: role, state: .staged, note: note, since: time)
        case .pinActivated(let pattern, let slot, let pin):
            self.set(.active, of: pin, pattern, slot, at: time)
            self.hosts[pattern]?[slot]?.pins[pin]?.publishedBy = self.version
        case .pinRoleSet(let pattern, let slot, let pin, let role):
            self.hosts[pattern]?[slot]?.pins[pin]?.role = role
        case .pinRetired(let pattern, let slot, let pin):
            self.noteRisk(ofEnding: pin, pattern, slot, at: time)
            self.set(.retired, of: pin, pattern, slot, at: time)
        case .pinRevoked(let pattern, let slot, let pin):
            self.noteRisk(ofEnding: pin, pattern, slot, at: time)
            self.set(.revoked, of: pin, pattern, slot, at: time)
            self.revokedPins.insert(pin)
        case .killSwitchEngaged(let pattern, let expiresAt):
            let killSwitch = KillSwitch(engagedAt: time, expiresAt: expiresAt)
            if let pattern { self.hosts[pattern]?.killSwitch = killSwitch } else { self.killSwitch = killSwitch }
        case .killSwitchReleased(let pattern): self.endKillSwitch(of: pattern, at: time)
        case .versionKillSwitchEngaged(let versions, let expiresAt):
            self.set(KillSwitch(engagedAt: time, expiresAt: expiresAt), for: versions)
        case .versionKillSwitchReleased(let versions):
            if let ended = self.killSwitch(for: versions)?.end(releasedAt: time) { self.switchEndedAt = ended }
            self.set(nil, for: versions)
        case .endpointsSet(let pattern, let endpoints): self.hosts[pattern]?.endpoints = endpoints
        case .keyDescribed(let evidence):
            let pin = evidence.key.pin
            if self.keys[pin] == nil {
                self.keys[pin] = KeyKnowledge(evidence)
            } else {
                self.keys[pin]?.take(evidence)
            }
        case .guardRailSet(let rail, let isLowered):
            if isLowered { self.loweredRails.insert(rail) } else { self.loweredRails.remove(rail) }
        case .guardRailsOverridden, .changeReverted: break
        case .rotationStarted(let rotation): self.rotations.append(rotation)
        case .rotationAdvanced(let id, let phase): self.setPhase(phase, of: id, at: time)
        case .rotationAborted(let id): self.setPhase(.aborted, of: id, at: time)
        case .rolloutPlanSet, .rolloutPlanCleared, .rolloutStepTaken, .rolloutStepApproved, .rolloutStepExtended,
            .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused, .rolloutResumed, .rolloutRolledBack,
            .rolloutSampleReached:
            self.evolve(rollout: event, at: time)
        case .telemetryReacted(let reacted): self.note(reacted, at: time)
        case .clientSet(let kind, let settings):
            if self.clients[kind] == nil {
                self.clients[kind] = Client(settings: settings)
            } else {
                self.clients[kind]?.settings = settings
            }
        case .clientRemoved(let kind): self.clients[kind] = nil
        case .clientKeySet(let kind, let key): self.clients[kind]?.key = key
        case .builtInPinsNoted(let kind, let host, let origin):
            self.clients[kind]?.take(
                BuiltInPins(origin: origin, pins: host.pins, isEnforced: host.isEnforced, since: time),
                of: host.pattern)
        }
    }

    private mutating func endKillSwitch(of pattern: HostPattern?, at time: Timestamp) {
        guard let pattern else {
            if let ended = self.killSwitch?.end(releasedAt: time) { self.switchEndedAt = ended }
            self.killSwitch = nil
            return
        }
        if let ended = self.hosts[pattern]?.killSwitch?.end(releasedAt: time) {
            self.hosts[pattern]?.switchEndedAt = ended
        }
        self.hosts[pattern]?.killSwitch = nil
    }

    private mutating func setPhase(_ phase: Rotation.Phase, of id: String, at time: Timestamp) {
        guard let place = self.rotations.firstIndex(where: { $0.id == id }) else { return }
        if phase == .aborted { self.rotations[place].abortedIn = self.rotations[place].phase }
        self.rotations[place].phase = phase
        self.rotations[place].phaseSince = time
        while self.rotations.count(where: \.phase.isOver) > Rotation.pastLimit,
            let oldest = self.rotations.firstIndex(where: \.phase.isOver)
        {
            self.rotations.remove(at: oldest)
        }
    }

    /// Remembers that something was taken away. Several removals of one change count once.
    private mutating func noteRisk(at time: Timestamp) {
        guard self.riskyChanges.last != time else { return }
        self.riskyChanges.append(time)
        if self.riskyChanges.count > Self.riskyLimit { self.riskyChanges.removeFirst() }
    }

    /// The same of a pin, if it was published.
    private mutating func noteRisk(
        ofEnding pin: Pin, _ pattern: HostPattern, _ slot: PolicySlot, at time: Timestamp
    ) {
        guard self.hosts[pattern]?[slot]?.pins[pin]?.state == .active else { return }
        self.noteRisk(at: time)
    }

    private mutating func set(
        _ state: PinState, of pin: Pin, _ pattern: HostPattern, _ slot: PolicySlot, at time: Timestamp
    ) {
        self.hosts[pattern]?[slot]?.pins[pin]?.state = state
        self.hosts[pattern]?[slot]?.pins[pin]?.since = time
    }
}
