package import PinWire

/// What makes an app what its spec says.
package struct SpecPlan: Hashable, Sendable {
    /// To be recorded together; none where the app is so already.
    package private(set) var commands: [AppCommand] = []
    /// What stays as it is all the same.
    package private(set) var remainder: [SpecRemainder] = []
    private let prunes: Bool
}

extension AppSpec {
    /// What is to be done to an app.
    ///
    /// Pins are added before others are retired, and hosts before others are removed. What is in place already gets no command, so
    /// that the plan for the app that it makes is empty.
    ///
    /// - Parameters:
    ///   - app: Nil for one that does not exist yet.
    ///   - prunes: Whether what the spec does not mention is removed: entries of the lists that it has (hosts, pins, clients), the
    ///     candidates of its hosts, and settings, which get the value that they have where nobody set them. What a rotation or a
    ///     rollout's plan still needs stays, and so does what keeps devices from candidates.
    package func plan(for id: AppID, _ app: App?, prunes: Bool) -> SpecPlan {
        var plan = SpecPlan(prunes: prunes)
        plan.add(self, to: app, id)
        return plan
    }
}

extension SpecPlan {
    fileprivate init(prunes: Bool) { self.prunes = prunes }

    fileprivate mutating func add(_ spec: AppSpec, to known: App?, _ id: AppID) {
        let app =
            known
            ?? App(id: id, displayName: spec.displayName ?? id.text, createdAt: Timestamp(seconds: 0))
        if known == nil { self.commands.append(.create(displayName: app.displayName)) }
        if app.archivedAt != nil {
            switch spec.isArchived {
            case true?: return
            case nil: return self.remainder.append(.archivedApp)
            case false?: self.commands.append(.unarchive)
            }
        } else if spec.isArchived == true, known != nil {
            return self.commands.append(.archive)
        }
        if let name = spec.displayName { self.set(.rename(name), in: app) }
        for command in spec.settings { self.set(command, in: app) }
        self.rails(spec.loweredRails, of: app)
        self.hosts(spec.hosts, of: app)
        // After the hosts, whose names some kinds ask for.
        self.clients(spec.clients, of: app)
        self.unmentioned(app.settingsInForce, spec.settings)
        if known == nil, spec.isArchived == true { self.commands.append(.archive) }
    }

    // MARK: Settings

    private mutating func set(_ command: AppCommand, in app: App) {
        guard let command = self.allowed(command, in: app), !app.isInPlace(command) else { return }
        self.commands.append(command)
    }

    /// A command without what a plan, or a rollback, has the say over; nil where nothing is left of it.
    private mutating func allowed(_ command: AppCommand, in app: App) -> AppCommand? {
        let (place, wanted): (HostPattern?, Rollout?)
        switch command {
        case .setRollout(let rollout): (place, wanted) = (nil, rollout)
        case .setHostRollout(let pattern, let rollout): (place, wanted) = (pattern, rollout)
        default: return command
        }
        guard !app.isInPlace(command) else { return command }
        if let time = app.rolledBackAt(of: place) {
            self.remainder.append(.rolledBackRollout(place, since: time))
            return nil
        }
        guard let plan = app.plan(of: place), let now = app.rollout(of: place) else { return command }
        // One that is done leaves its last share behind, which a file of before does not know.
        let isStale = plan.phase == .done && (wanted?.basisPoints ?? 10_000) < now.basisPoints
        guard plan.isUnderWay || isStale else { return command }
        guard var rollout = wanted else {
            self.remainder.append(.plannedRollout(place))
            return nil
        }
        guard rollout.basisPoints != now.basisPoints else { return command }
        rollout.basisPoints = now.basisPoints
        self.remainder.append(.plannedRollout(place))
        let others = place.map { AppCommand.setHostRollout($0, rollout) } ?? .setRollout(rollout)
        return app.isInPlace(others) ? nil : others
    }

    /// What puts settings that the spec does not mention back, or the note that they stay.
    ///
    /// - Parameter settings: Those that differ from what they are where nobody set them: their names, and what puts them back.
    private mutating func unmentioned(
        _ settings: [(name: String, reset: AppCommand)], _ mentioned: [AppCommand], _ pattern: HostPattern? = nil
    ) {
        for (name, reset) in settings where !mentioned.contains(where: { $0.setting == reset.setting }) {
            if self.prunes, reset.setting?.keepsDevicesOut == false {
                self.commands.append(reset)
            } else {
                self.remainder.append(.setting(pattern, name))
            }
        }
    }

    private mutating func rails(_ wanted: Set<GuardRail>?, of app: App) {
        guard let wanted else {
            if !app.loweredRails.isEmpty { self.remainder.append(.setting(nil, "lowered_guard_rails")) }
            return
        }
        for rail in wanted.symmetricDifference(app.loweredRails).sorted() {
            self.commands.append(.setGuardRail(rail, isLowered: wanted.contains(rail)))
        }
    }

    private mutating func clients(_ wanted: [ClientKind: ClientSettings]?, of app: App) {
        for (kind, settings) in (wanted ?? [:]).sorted(by: { $0.key < $1.key }) {
            self.set(.setClient(kind, settings), in: app)
        }
        for kind in app.clients.keys.sorted() where wanted?[kind] == nil {
            if self.prunes, wanted != nil {
                self.commands.append(.removeClient(kind))
            } else {
                self.remainder.append(.client(kind))
            }
        }
    }

    // MARK: Hosts

    private mutating func hosts(_ wanted: [HostSpec]?, of app: App) {
        for spec in wanted ?? [] {
            if let host = app.hosts[spec.pattern] {
                self.change(host, to: spec, of: app)
            } else {
                self.add(spec)
            }
        }
        let mentioned = Set((wanted ?? []).map(\.pattern))
        for (pattern, host) in app.hosts.sorted(by: { $0.key < $1.key }) where !mentioned.contains(pattern) {
            // One that a rotation is about stays: without it the rotation could not end.
            if !self.prunes || wanted == nil || app.openRotation(of: pattern) != nil {
                self.remainder.append(.host(pattern))
            } else if app.isRollingOut(host) {
                self.remainder.append(.candidateInRollout(pattern))
            } else {
                self.commands.append(.removeHost(pattern))
            }
        }
    }

    private mutating func add(_ spec: HostSpec) {
        let subdomains = spec.includesSubdomains ?? false
        switch spec.baseline {
        case .builtin:
            self.commands.append(.addHost(spec.pattern, includesSubdomains: subdomains, mode: nil, pins: []))
        case .policy(let policy):
            self.commands.append(
                .addHost(
                    spec.pattern, includesSubdomains: subdomains, mode: policy.mode, pins: policy.pins ?? []))
        }
        if case .policy(let policy) = spec.candidate {
            self.commands.append(
                .startCandidate(spec.pattern, mode: policy.mode, copiesBaseline: false, pins: policy.pins ?? []))
        }
        self.commands += spec.settings.filter { !$0.isWithoutValue }
    }

    private mutating func change(_ host: Host, to spec: HostSpec, of app: App) {
        let pattern = spec.pattern
        if let subdomains = spec.includesSubdomains {
            self.set(.setSubdomains(pattern, includesSubdomains: subdomains), in: app)
        }
        if host.isPromotion(of: spec) { return self.remainder.append(.promotedCandidate(pattern)) }
        switch (spec.baseline, host[.baseline]) {
        case (.builtin, nil): break
        case (.builtin, _?): self.remainder.append(.publishedBaseline(pattern))
        case (.policy(let policy), let known):
            // A built-in baseline becomes a policy by its mode.
            if known?.mode != policy.mode { self.commands.append(.setMode(pattern, .baseline, policy.mode)) }
            self.pins(policy.pins, known, pattern, .baseline, of: app)
        }
        let hasCandidate = self.candidate(spec.candidate, of: host, pattern, app)
        for command in spec.settings {
            if case .setHostRollout(_, let rollout) = command, host.candidate == nil || !hasCandidate {
                // A new candidate has no rollout, and one that is gone took its own along.
                if rollout != nil { self.commands.append(command) }
            } else {
                self.set(command, in: app)
            }
        }
        self.unmentioned(
            host.settingsInForce(pattern, hasCandidate: hasCandidate), spec.settings, pattern)
        if spec.includesSubdomains == nil, host.includesSubdomains {
            if self.prunes {
                self.commands.append(.setSubdomains(pattern, includesSubdomains: false))
            } else {
                self.remainder.append(.setting(pattern, "include_subdomains"))
            }
        }
    }

    /// - Returns: Whether the host has a candidate afterwards.
    private mutating func candidate(
        _ wanted: HostSpec.Candidate, of host: Host, _ pattern: HostPattern, _ app: App
    ) -> Bool {
        switch (wanted, host.candidate) {
        case (.none, nil), (.unmentioned, nil): return false
        case (.policy(let policy), nil):
            self.commands.append(
                .startCandidate(pattern, mode: policy.mode, copiesBaseline: false, pins: policy.pins ?? []))
            return true
        case (.policy(let policy), let known?):
            self.set(.setMode(pattern, .candidate, policy.mode), in: app)
            self.pins(policy.pins, known, pattern, .candidate, of: app)
            return true
        case (.unmentioned, _?) where !self.prunes:
            self.remainder.append(.candidate(pattern))
            return true
        case (.unmentioned, _?) where app.isRollingOut(host):
            self.remainder.append(.candidateInRollout(pattern))
            return true
        case (.unmentioned, _?), (.none, _?):
            self.commands.append(.dropCandidate(pattern))
            return false
        }
    }

    private mutating func pins(
        _ wanted: [AppCommand.NewPin]?, _ policy: Policy?, _ pattern: HostPattern, _ slot: PolicySlot, of app: App
    ) {
        let known = policy?.pins ?? [:]
        let inUse = known.filter(\.value.state.isInUse).map(\.key).sorted()
        guard let wanted else { return self.remainder += inUse.map { .pin(pattern, slot, $0) } }
        let mentioned = Set(wanted.map(\.pin))
        let rotation = app.rotation(ahead: mentioned, of: pattern)
        for new in wanted {
            if let rotation, rotation.concerns(new.pin) {
                let record = known[new.pin]
                if record?.state.isInUse != true || record?.role != new.role {
                    self.remainder.append(.pinInRotation(pattern, slot, new.pin, rotation.id))
                }
            } else {
                self.pin(new, known[new.pin], pattern, slot, of: app)
            }
        }
        for pin in inUse where !mentioned.contains(pin) {
            if let rotation, rotation.concerns(pin) {
                self.remainder.append(.pinInRotation(pattern, slot, pin, rotation.id))
            } else if self.prunes {
                self.commands.append(.retirePin(pattern, slot, pin))
            } else {
                self.remainder.append(.pin(pattern, slot, pin))
            }
        }
    }

    /// One pin that the spec has.
    private mutating func pin(
        _ new: AppCommand.NewPin, _ record: PinRecord?, _ pattern: HostPattern, _ slot: PolicySlot, of app: App
    ) {
        // One that was retired may come back; one that was revoked is refused when it is recorded.
        guard let record, record.state.isInUse else { return self.commands.append(.addPin(pattern, slot, new)) }
        if new.isActive, record.state == .staged {
            self.commands.append(.activatePin(pattern, slot, new.pin))
        } else if !new.isActive, record.state == .active {
            self.remainder.append(.publishedPin(pattern, slot, new.pin))
        }
        if record.role != new.role { self.commands.append(.setPinRole(pattern, slot, new.pin, new.role)) }
        if let note = new.note, note != record.note { self.remainder.append(.note(pattern, slot, new.pin)) }
        if let evidence = new.evidence, app.description(evidence) != nil {
            self.commands.append(.describeKeys([evidence]))
        }
    }
}

extension App {
    /// The rotation of a host that a spec with these pins is behind: one under way, or else the last one that was carried out
    /// where the spec does not know its key.
    fileprivate func rotation(ahead mentioned: Set<Pin>, of pattern: HostPattern) -> Rotation? {
        if let open = self.openRotation(of: pattern) { return open }
        let last = self.rotations.last { $0.phase == .done && $0.hosts.contains(pattern) }
        return last.flatMap { mentioned.contains($0.next) ? nil : $0 }
    }

    /// Whether a plan rolls a host's candidate out, its own or that of the app.
    fileprivate func isRollingOut(_ host: Host) -> Bool {
        host.plan?.isUnderWay == true || host.candidate != nil && self.plan?.isUnderWay == true
    }

    /// Settings with other values than where nobody set them: by their names, with what puts them back.
    fileprivate var settingsInForce: [(name: String, reset: AppCommand)] {
        var settings: [(String, AppCommand)] = []
        if self.versionGate != nil { settings.append(("version_gate", .setVersionGate(nil))) }
        if self.rollout != nil { settings.append(("rollout", .setRollout(nil))) }
        if self.fallback != Fallback() { settings.append(("fallback", .setFallback(Fallback()))) }
        if self.monitoring != Monitoring() { settings.append(("monitoring", .setMonitoring(Monitoring()))) }
        if self.pinsValidUntil != nil { settings.append(("pins_valid_until", .setPinsValidUntil(nil))) }
        return settings
    }

    /// Whether a command that sets something would change nothing.
    fileprivate func isInPlace(_ command: AppCommand) -> Bool {
        switch command {
        case .rename(let name): name == self.displayName
        case .setVersionGate(let gate): gate == self.versionGate
        case .setRollout(let rollout): Self.draw(rollout, self.rollout, "app:\(self.id)", self.rolloutRevision)
        case .setFallback(let fallback): fallback == self.fallback
        case .setMonitoring(let monitoring): monitoring == self.monitoring
        case .setPinsValidUntil(let time): time == self.pinsValidUntil
        case .setSubdomains(let pattern, let subdomains): self.hosts[pattern]?.includesSubdomains == subdomains
        case .setMode(let pattern, let slot, let mode): self.hosts[pattern]?[slot]?.mode == mode
        case .setHostRollout(let pattern, let rollout):
            Self.draw(
                rollout, self.hosts[pattern]?.rollout, "host:\(pattern)", self.hosts[pattern]?.rolloutRevision ?? 0)
        case .setEndpoints(let pattern, let endpoints): self.hosts[pattern]?.endpoints == endpoints
        case .setClient(let kind, let settings): self.clients[kind]?.settings == settings
        default: false
        }
    }

    /// Whether two rollouts of a place let the same devices in: a salt that is written out is the one that the place gives.
    private static func draw(_ wanted: Rollout?, _ known: Rollout?, _ place: String, _ revision: Int64) -> Bool {
        guard let wanted = wanted?.salted(place, revision: revision),
            let known = known?.salted(place, revision: revision)
        else { return wanted == nil && known == nil }
        // Texts may count as equal without having the same bytes, and the bytes are hashed.
        return wanted == known && wanted.salt.map { Array($0.utf8) } == known.salt.map { Array($0.utf8) }
    }
}

extension Rotation {
    fileprivate func concerns(_ pin: Pin) -> Bool { self.next == pin || self.old.contains(pin) }
}

extension Host {
    /// Whether the candidate of a spec is the baseline by now, and the spec of a time before.
    fileprivate func isPromotion(of spec: HostSpec) -> Bool {
        guard self.candidate == nil, case .policy(let wanted) = spec.candidate, let pins = wanted.pins,
            let baseline = self[.baseline], baseline.mode == wanted.mode
        else { return false }
        let now = Set(baseline.pins.filter(\.value.state.isInUse).map(\.key))
        guard !now.isEmpty, now == Set(pins.map(\.pin)) else { return false }
        guard case .policy(let before) = spec.baseline else { return true }
        return before.mode != baseline.mode || before.pins.map { Set($0.map(\.pin)) != now } ?? false
    }

    /// As those of an app. A rollout belongs to the candidate that it lets devices in to.
    fileprivate func settingsInForce(
        _ pattern: HostPattern, hasCandidate: Bool
    ) -> [(name: String, reset: AppCommand)] {
        var settings: [(String, AppCommand)] = []
        if self.endpoints != nil { settings.append(("endpoints", .setEndpoints(pattern, nil))) }
        if self.rollout != nil, hasCandidate { settings.append(("rollout", .setHostRollout(pattern, nil))) }
        return settings
    }
}

extension AppCommand {
    /// The settings of a spec that it may leave out.
    fileprivate enum Setting {
        case versionGate, rollout, fallback, monitoring, pinsValidUntil, endpoints, hostRollout

        /// Whether it keeps devices from candidates: to take that away is no tidying up.
        var keepsDevicesOut: Bool {
            switch self {
            case .versionGate, .rollout, .hostRollout: true
            case .fallback, .monitoring, .pinsValidUntil, .endpoints: false
            }
        }
    }

    /// The setting that it sets; nil where it sets none.
    fileprivate var setting: Setting? {
        switch self {
        case .setVersionGate: .versionGate
        case .setRollout: .rollout
        case .setFallback: .fallback
        case .setMonitoring: .monitoring
        case .setPinsValidUntil: .pinsValidUntil
        case .setEndpoints: .endpoints
        case .setHostRollout: .hostRollout
        // All of them, so that a new one is looked at: pruning takes back what has a name here and is not mentioned.
        case .create, .rename, .archive, .unarchive, .addHost, .setSubdomains, .removeHost, .setMode, .startCandidate,
            .promoteCandidate, .dropCandidate, .rollout, .addPin, .activatePin, .setPinRole, .retirePin, .revokePin,
            .engageKillSwitch, .releaseKillSwitch, .engageVersionKillSwitch, .releaseVersionKillSwitch, .describeKeys,
            .setGuardRail, .startRotation, .advanceRotation, .abortRotation, .setClient, .removeClient, .setClientKey,
            .noteBuiltIn, .react, .revert:
            nil
        }
    }

    /// Whether it takes a setting away that a new host has not.
    fileprivate var isWithoutValue: Bool {
        switch self {
        case .setEndpoints(_, nil), .setHostRollout(_, nil): true
        default: false
        }
    }
}
