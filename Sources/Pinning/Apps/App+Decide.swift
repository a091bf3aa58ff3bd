import PinWire

extension App {
    /// The change that `commands` cause, decided one after the other as one atomic change. ``GuardRailEvaluation`` judges
    /// rules about whole policies (how many pins, a backup, a reason for weakening) on the result: the order of commands
    /// within a change does not matter to them.
    ///
    /// - Parameters:
    ///   - app: The state before; nil before the app's creation.
    ///   - context: With the fleet.
    /// - Returns: The change; without events where everything already is as commanded.
    /// - Throws: ``Refusal`` where a command does not fit the state.
    static func change(
        by commands: [AppCommand], _ app: App?, id: AppID, in context: DecisionContext
    ) throws(Refusal) -> AppChange {
        let (events, state) = try Self.events(of: commands, app, id: id, in: context)
        // An empty change is refused too where there is nothing to command.
        guard let state else { throw .appUnknown(id) }
        let pauses = state.pauses(ofPlansSince: app, events)
        return AppChange(
            before: app, after: state.after(pauses, at: context.now), events: events + pauses, context: context)
    }

    /// The events of `commands`, one after the other, and the state after them.
    static func events(
        of commands: [AppCommand], _ app: App?, id: AppID, in context: DecisionContext
    ) throws(Refusal) -> (events: [AppEvent], after: App?) {
        var events: [AppEvent] = []
        var state = app
        for command in commands {
            let made = try Self.decideOne(command, state, id: id, in: context)
            for event in made {
                if state == nil {
                    state = App(first: event, id: id, at: context.now)
                } else {
                    state?.evolve(event, at: context.now)
                }
            }
            events += made
        }
        return (events, state)
    }

    private static func decideOne(
        _ command: AppCommand, _ app: App?, id: AppID, in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        if case .create(let displayName) = command {
            guard app == nil else { throw .appExists(id) }
            return [.appCreated(displayName: displayName)]
        }
        guard let app else { throw .appUnknown(id) }
        guard app.archivedAt == nil || command.isForArchived else { throw .appArchived(id) }
        return try app.decide(command, in: context)
    }

    private func decide(_ command: AppCommand, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        func host(_ pattern: HostPattern) throws(Refusal) -> Host {
            guard let host = self.hosts[pattern] else { throw .hostUnknown(pattern) }
            return host
        }
        switch command {
        case .create: throw .appExists(self.id)
        case .rename(let displayName):
            return displayName == self.displayName ? [] : [.appRenamed(displayName: displayName)]
        case .setVersionGate(let gate): return gate == self.versionGate ? [] : [.versionGateSet(gate)]
        case .setRollout(let rollout): return try self.setRollout(rollout, of: nil)
        case .rollout(let pattern, let command): return try self.decide(command, of: pattern, in: context)
        case .react(let due): return self.react(due, in: context)
        case .revert(let change): return try self.revert(change, in: context)
        case .setFallback(let fallback): return fallback == self.fallback ? [] : [.fallbackSet(fallback)]
        case .setMonitoring(let monitoring): return monitoring == self.monitoring ? [] : [.monitoringSet(monitoring)]
        case .setPinsValidUntil(let time):
            if let time, time <= context.now { throw .expiryNotAhead(time) }
            return time == self.pinsValidUntil ? [] : [.pinsValidUntilSet(time)]

        case .archive: return try self.archive(in: context)
        case .unarchive: return self.archivedAt == nil ? [] : [.appUnarchived]

        case .addHost(let pattern, let includesSubdomains, let mode, let pins):
            guard self.hosts[pattern] == nil else { throw .hostExists(pattern) }
            guard self.hosts.count < Self.hostLimit else { throw .tooManyHosts(limit: Self.hostLimit) }
            try context.refuse(CommandRails.name(of: pattern, in: context))
            if mode == nil, !pins.isEmpty { throw .baselineIsBuiltin(pattern) }
            return [.hostAdded(pattern, includesSubdomains: includesSubdomains, mode: mode)]
                + (try self.additions(pins, to: Policy(mode: mode ?? .off), pattern, .baseline, in: context))
        case .setSubdomains(let pattern, let includesSubdomains):
            return try host(pattern).includesSubdomains == includesSubdomains
                ? [] : [.hostSubdomainsSet(pattern, includesSubdomains: includesSubdomains)]
        case .removeHost(let pattern):
            _ = try host(pattern)
            return [.hostRemoved(pattern)]
        case .setMode(let pattern, let slot, let mode):
            let host = try host(pattern)
            if slot == .candidate, host.candidate == nil { throw .candidateMissing(pattern) }
            return host[slot]?.mode == mode ? [] : [.modeSet(pattern, slot, mode)]
        case .startCandidate(let pattern, let mode, let copiesBaseline, let pins):
            let host = try host(pattern)
            guard host.candidate == nil else { throw .candidateExists(pattern) }
            var new = pins
            if copiesBaseline ?? (host[.baseline] != nil) {
                guard let baseline = host[.baseline] else { throw .baselineIsBuiltin(pattern) }
                let given = Set(pins.map(\.pin))
                let copied = baseline.activePins.filter { !given.contains($0.pin) }.sorted { $0.pin < $1.pin }
                new = copied.map { .init(pin: $0.pin, role: $0.role, note: baseline.pins[$0.pin]?.note) } + pins
            }
            return [.candidateStarted(pattern, mode: mode)]
                + (try self.additions(new, to: Policy(mode: mode), pattern, .candidate, in: context))
        case .promoteCandidate(let pattern):
            return try self.promotion(of: pattern)
        case .dropCandidate(let pattern):
            guard try host(pattern).candidate != nil else { throw .candidateMissing(pattern) }
            return [.candidateDropped(pattern)]
        case .setHostRollout(let pattern, let rollout):
            let host = try host(pattern)
            guard rollout == nil || host.candidate != nil else { throw .candidateMissing(pattern) }
            return try self.setRollout(rollout, of: pattern)

        case .addPin(let pattern, let slot, let pin):
            return try self.additions([pin], to: try self.policy(pattern, slot), pattern, slot, in: context)
        case .activatePin(let pattern, let slot, let pin):
            let record = try self.record(of: pin, pattern, slot)
            guard record.state != .active else { return [] }
            guard record.state == .staged else { throw .pinNotStaged(pin, record.state) }
            guard !self.revokedPins.contains(pin) else { throw .pinRevoked(pin) }
            return [.pinActivated(pattern, slot, pin)]
        case .setPinRole(let pattern, let slot, let pin, let role):
            let record = try self.record(of: pin, pattern, slot)
            guard record.state.isInUse else { throw .pinNotInUse(pin, record.state) }
            return record.role == role ? [] : [.pinRoleSet(pattern, slot, pin, role)]
        case .retirePin(let pattern, let slot, let pin):
            let record = try self.record(of: pin, pattern, slot)
            guard record.state.isInUse else { throw .pinNotInUse(pin, record.state) }
            return [.pinRetired(pattern, slot, pin)]
        case .revokePin(let pattern, let slot, let pin):
            let record = try self.record(of: pin, pattern, slot)
            guard record.state != .revoked else { return [] }
            try context.requireReason("it revokes a pin")
            return [.pinRevoked(pattern, slot, pin)]

        case .engageKillSwitch(let pattern, let expiresAt):
            if let pattern { _ = try host(pattern) }
            try context.requireReason("it turns pinning off")
            try KillSwitch.check(expiry: expiresAt, at: context.now)
            return [.killSwitchEngaged(pattern, expiresAt: expiresAt)]
        case .engageVersionKillSwitch(let versions, let expiresAt):
            try context.requireReason("it turns pinning off")
            try KillSwitch.check(expiry: expiresAt, at: context.now)
            return try self.engagement(for: versions, until: expiresAt, at: context.now)
        case .setEndpoints(let pattern, let endpoints):
            let host = try host(pattern)
            guard (endpoints?.count ?? 0) <= Host.endpointLimit else {
                throw .tooManyEndpoints(limit: Host.endpointLimit)
            }
            return endpoints == host.endpoints ? [] : [.endpointsSet(pattern, endpoints)]
        case .describeKeys(let evidence):
            for item in evidence where !self.hasPin(item.key.pin) { throw .keyNotPinned(item.key.pin) }
            return evidence.compactMap { self.description($0) }
        case .setGuardRail(let rail, let isLowered):
            guard rail.isAdjustable else { throw .guardRailFixed(rail) }
            guard self.loweredRails.contains(rail) != isLowered else { return [] }
            if isLowered { try context.requireReason("it lowers a guard rail") }
            return [.guardRailSet(rail, isLowered: isLowered)]

        case .setClient(let kind, let settings): return try self.set(settings, of: kind)
        case .removeClient(let kind):
            return try self.remove(kind, in: context)
        case .setClientKey(let kind, let key): return try self.set(key, of: kind, in: context)
        case .noteBuiltIn(let kind, let hosts, let origin): return try self.note(hosts, origin, of: kind)

        case .startRotation(let rotation): return try self.start(rotation, in: context)
        case .advanceRotation(let id, let phase): return try self.advance(id, from: phase, in: context)
        case .abortRotation(let id, let keepsNext): return try self.abort(id, keepsNext: keepsNext)

        case .releaseKillSwitch(let pattern):
            let engaged = if let pattern { try host(pattern).killSwitch } else { self.killSwitch }
            guard engaged != nil else {
                throw .killSwitchNotEngaged(pattern.map { .host(self.id, $0) } ?? .app(self.id))
            }
            return [.killSwitchReleased(pattern)]
        case .releaseVersionKillSwitch(let versions):
            guard self.killSwitch(for: versions) != nil else {
                throw .killSwitchNotEngaged(.versions(self.id, versions))
            }
            return [.versionKillSwitchReleased(versions)]
        }
    }

    private func policy(_ pattern: HostPattern, _ slot: PolicySlot) throws(Refusal) -> Policy {
        guard let host = self.hosts[pattern] else { throw .hostUnknown(pattern) }
        guard let policy = host[slot] else {
            throw slot == .candidate ? .candidateMissing(pattern) : .baselineIsBuiltin(pattern)
        }
        return policy
    }

    private func record(of pin: Pin, _ pattern: HostPattern, _ slot: PolicySlot) throws(Refusal) -> PinRecord {
        guard let record = try self.policy(pattern, slot).pins[pin] else { throw .pinUnknown(pin) }
        return record
    }

    /// The events that put new pins into a policy. A retired pin may come back; one that was revoked, in this policy or
    /// in any other of the app, may not.
    func additions(
        _ pins: [AppCommand.NewPin], to policy: Policy, _ pattern: HostPattern, _ slot: PolicySlot,
        in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        var known = policy.pins
        var events: [AppEvent] = []
        for new in pins {
            try context.refuse(
                CommandRails.placeholder(
                    new.pin, pattern, slot, isPresented: self.isPresented(new.pin, by: pattern, in: context)))
            switch known[new.pin]?.state {
            case .staged?, .active?:
                // The same key twice in one change counts as its own reserve, in either order.
                let roles = Set([new.role.isReserve, known[new.pin]?.role.isReserve])
                let isGivenTwice = policy.pins[new.pin]?.state.isInUse != true
                if roles.count == 2, new.role.isReserve || isGivenTwice {
                    try context.refuse(CommandRails.sameKey(new.pin))
                }
                throw .pinExists(new.pin, known[new.pin]?.state ?? .staged)
            case .revoked?, .retired?, nil: break
            }
            guard !self.revokedPins.contains(new.pin) else { throw .pinRevoked(new.pin) }
            guard known[new.pin] != nil || known.count < Self.pinLimit else { throw .tooManyPins(limit: Self.pinLimit) }
            known[new.pin] = PinRecord(role: new.role, state: .staged, note: new.note, since: context.now)
            events.append(.pinStaged(pattern, slot, new.pin, new.role, note: new.note))
            if new.isActive { events.append(.pinActivated(pattern, slot, new.pin)) }
            if let event = new.evidence.flatMap(self.description) { events.append(event) }
        }
        return events
    }

    /// Whether a service of the host presents a key with the pin, as far as probes tell.
    private func isPresented(_ pin: Pin, by pattern: HostPattern, in context: DecisionContext) -> Bool {
        (self.hosts[pattern]?.probed(of: pattern) ?? Endpoint(host: pattern).map { [$0] } ?? []).contains { endpoint in
            context.facts.endpoint(endpoint)?.live(at: context.now).contains { $0.pins.contains(pin) } == true
        }
    }

    /// Whether any policy of the app remembers the pin.
    private func hasPin(_ pin: Pin) -> Bool {
        self.hosts.values.contains { host in PolicySlot.allCases.contains { host[$0]?.pins[pin] != nil } }
    }

    /// The event that records the uploaded facts of a key; nil where it adds nothing.
    func description(_ evidence: KeyEvidence) -> AppEvent? {
        if let known = self.keys[evidence.key.pin] { return known.has(evidence) ? nil : .keyDescribed(evidence) }
        return self.keys.count < Self.keyLimit ? .keyDescribed(evidence) : nil
    }
}
