import PinWire

// What each command needs. The route table names the same permission for its operation; this one counts: it is asked in the
// state on which the command is decided, so that no right outlives its end, however long a command waits.

extension DecisionContext {
    /// Refuses unless the commander holds a permission on everything.
    func requireEverywhere(_ permission: Permission) throws(Refusal) {
        guard self.rights.allowsEverywhere(permission) else { throw .permissionMissing(permission, .everywhere) }
    }

    /// Refuses unless the commander holds a permission on any app.
    func requireSomewhere(_ permission: Permission) throws(Refusal) {
        guard self.rights.allowsSomewhere(permission) else { throw .permissionMissing(permission, .anyApp) }
    }

    /// Refuses unless the commander holds a permission on an app. Where it does not see the app, the app does not exist.
    func require(_ permission: Permission, on app: AppID, hosts: [HostPattern]? = nil) throws(Refusal) {
        guard !self.rights.allows(permission, on: app, hosts: hosts) else { return }
        guard permission == .createApps || self.rights.sees(app) else { throw .appUnknown(app) }
        throw .permissionMissing(permission, .app(app))
    }

    /// Whether an engagement of the fleet's kill switch ends it sooner than it would end: that is to release it.
    func endsSooner(_ end: Timestamp) -> Bool {
        self.fleet.killSwitch.map { $0.isInForce(at: self.now) && end < $0.expiresAt } ?? false
    }

    /// Refuses a command that the commander may not give.
    ///
    /// - Parameter apps: Those of the state on which it is decided: they know what hosts a rotation is of.
    func authorize(_ command: Command, on apps: AppTable) throws(Refusal) {
        switch command {
        case .app(let app, let commands):
            // Nothing is looked up of an app that the commander does not see: not even the time may tell that it is there.
            let knowsRotations = commands.contains(where: \.isOfRotation) && self.rights.sees(app)
            let rotations = knowsRotations ? apps[app]?.rotations ?? [] : []
            for command in commands {
                for permission in command.permissions {
                    try self.require(permission, on: app, hosts: command.hosts(rotations))
                }
                guard !command.isOfServer || self.commander?.kind != .token else {
                    throw .permissionMissing(.changeApps, .app(app))
                }
            }
            if self.isForced { try self.require(.overrideGuardRails, on: app, hosts: commands.hosts(rotations)) }
        case .watch(let app), .publication(let app, _):
            guard self.commander?.kind != .token else { throw .permissionMissing(.changeApps, .app(app)) }
        case .telemetryKey(let app, _):
            try self.require(.manageTelemetryKeys, on: app)
            if self.isForced { try self.require(.overrideGuardRails, on: app) }
        case .fleet(let command):
            try self.requireEverywhere(command.permission)
            if case .engageKillSwitch(let end) = command, self.endsSooner(end) {
                try self.requireEverywhere(.releaseKillSwitches)
            }
            if case .restoreHistory = command, self.commander?.kind == .token {
                throw .permissionMissing(command.permission, .everywhere)
            }
        case .keys: try self.requireEverywhere(.manageKeys)
        case .webhooks: try self.requireEverywhere(.manageWebhooks)
        case .log: try self.requireEverywhere(.manageLog)
        // What is needed depends on the state (`Access.decide`, `LedgerState+Changes.swift`).
        case .access, .change: break
        case .audit:
            guard self.commander?.kind != .token else { throw .permissionMissing(.readAudit, .everywhere) }
        }
        if self.isForced, command.stream.app == nil, command.stream != .changes {
            try self.requireEverywhere(.overrideGuardRails)
        }
    }
}

extension FleetCommand {
    var permission: Permission {
        switch self {
        case .engageKillSwitch: .engageKillSwitches
        case .releaseKillSwitch: .releaseKillSwitches
        case .setGuardRail: .changeGuardRails
        case .setIssuer, .restoreHistory, .raiseFeatureLevel: .changeFleet
        }
    }
}

extension [AppCommand] {
    /// The hosts of all of them; nil where one concerns the whole app.
    fileprivate func hosts(_ rotations: [Rotation]) -> [HostPattern]? {
        var hosts: [HostPattern] = []
        for command in self {
            guard let more = command.hosts(rotations) else { return nil }
            hosts += more
        }
        return hosts
    }
}

extension AppCommand {
    var permissions: [Permission] {
        switch self {
        case .create: [.createApps]
        case .archive, .unarchive: [.archiveApps]
        case .engageKillSwitch, .engageVersionKillSwitch: [.engageKillSwitches]
        case .releaseKillSwitch, .releaseVersionKillSwitch: [.releaseKillSwitches]
        case .setGuardRail: [.changeGuardRails]
        case .setClientKey: [.manageClientKeys]
        case .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil, .addHost,
            .setSubdomains, .removeHost, .setMode, .startCandidate, .promoteCandidate, .dropCandidate, .setHostRollout,
            .rollout, .addPin, .activatePin, .setPinRole, .retirePin, .revokePin, .setEndpoints, .describeKeys,
            .startRotation, .advanceRotation, .abortRotation, .setClient, .removeClient, .noteBuiltIn, .react,
            .revert:
            [.changeApps]
        }
    }

    /// Whether only the server itself does this.
    fileprivate var isOfServer: Bool {
        switch self {
        case .react, .rollout(_, .drive), .noteBuiltIn(_, _, .exported): true
        case .create, .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil, .archive,
            .unarchive, .addHost, .setSubdomains, .removeHost, .setMode, .startCandidate, .promoteCandidate,
            .dropCandidate, .setHostRollout, .rollout, .addPin, .activatePin, .setPinRole, .retirePin, .revokePin,
            .engageKillSwitch, .releaseKillSwitch, .engageVersionKillSwitch, .releaseVersionKillSwitch, .setEndpoints,
            .describeKeys, .setGuardRail, .startRotation, .advanceRotation, .abortRotation, .setClient, .removeClient,
            .setClientKey, .noteBuiltIn, .revert:
            false
        }
    }

    /// Whether it ends a phase of a rotation, or all of it.
    fileprivate var isOfRotation: Bool {
        switch self {
        case .advanceRotation, .abortRotation: true
        case .create, .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil, .archive,
            .unarchive, .addHost, .setSubdomains, .removeHost, .setMode, .startCandidate, .promoteCandidate,
            .dropCandidate, .setHostRollout, .rollout, .addPin, .activatePin, .setPinRole, .retirePin, .revokePin,
            .engageKillSwitch, .releaseKillSwitch, .engageVersionKillSwitch, .releaseVersionKillSwitch, .setEndpoints,
            .describeKeys, .setGuardRail, .startRotation, .setClient, .removeClient, .setClientKey, .noteBuiltIn,
            .react,
            .revert:
            false
        }
    }

    /// The hosts that a command is about; nil where it is about the whole app, or about a rotation that there is not.
    ///
    /// - Parameter rotations: The app's.
    fileprivate func hosts(_ rotations: [Rotation]) -> [HostPattern]? {
        switch self {
        case .addHost(let host, _, _, _), .setSubdomains(let host, _), .removeHost(let host), .setMode(let host, _, _),
            .startCandidate(let host, _, _, _), .promoteCandidate(let host), .dropCandidate(let host),
            .setHostRollout(let host, _), .addPin(let host, _, _), .activatePin(let host, _, _),
            .setPinRole(let host, _, _, _), .retirePin(let host, _, _), .revokePin(let host, _, _),
            .setEndpoints(let host, _):
            [host]
        case .rollout(let host, _), .engageKillSwitch(let host, _), .releaseKillSwitch(let host): host.map { [$0] }
        case .startRotation(let rotation): rotation.hosts
        case .advanceRotation(let id, _), .abortRotation(let id, _): rotations.first { $0.id == id }?.hosts
        case .create, .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil, .archive,
            .unarchive, .engageVersionKillSwitch, .releaseVersionKillSwitch, .describeKeys, .setGuardRail,
            .setClient, .removeClient, .setClientKey, .noteBuiltIn, .react, .revert:
            nil
        }
    }
}

extension AppEvent {
    /// What it takes to cause the event, beyond a change of the app, with the hosts that it is about. A revert causes events
    /// of every kind.
    ///
    /// - Parameter before: The app before the change: to end a kill switch sooner is to release it, and one that has run out
    ///   protects nobody.
    func need(after before: App?, at now: Timestamp) -> (permission: Permission, hosts: [HostPattern]?)? {
        func isLeft(_ present: KillSwitch?) -> Bool { present?.isOver(at: now) == false }
        func isSooner(_ end: Timestamp, _ present: KillSwitch?) -> Bool {
            present.map { $0.isInForce(at: now) && end < $0.expiresAt } ?? false
        }
        func present(_ host: HostPattern?) -> KillSwitch? {
            host.map { before?.hosts[$0]?.killSwitch } ?? before?.killSwitch
        }
        switch self {
        case .killSwitchEngaged(let host, let end):
            return (isSooner(end, present(host)) ? .releaseKillSwitches : .engageKillSwitches, host.map { [$0] })
        case .versionKillSwitchEngaged(let versions, let end):
            return (isSooner(end, before?.killSwitch(for: versions)) ? .releaseKillSwitches : .engageKillSwitches, nil)
        case .killSwitchReleased(let host):
            return isLeft(present(host)) ? (.releaseKillSwitches, host.map { [$0] }) : nil
        case .versionKillSwitchReleased(let versions):
            return isLeft(before?.killSwitch(for: versions)) ? (.releaseKillSwitches, nil) : nil
        case .appCreated: return (.createApps, nil)
        case .appArchived, .appUnarchived: return (.archiveApps, nil)
        case .clientKeySet: return (.manageClientKeys, nil)
        case .guardRailSet: return (.changeGuardRails, nil)
        case .appRenamed, .versionGateSet, .appRolloutSet, .fallbackSet, .monitoringSet, .pinsValidUntilSet, .hostAdded,
            .hostSubdomainsSet, .hostRemoved, .modeSet, .endpointsSet, .candidateStarted, .candidatePromoted,
            .candidateDropped, .hostRolloutSet, .pinStaged, .pinActivated, .pinRoleSet, .pinRetired, .pinRevoked,
            .keyDescribed, .guardRailsOverridden, .changeReverted, .rotationStarted, .rotationAdvanced,
            .rotationAborted, .rolloutPlanSet, .rolloutPlanCleared, .rolloutStepTaken, .rolloutStepApproved,
            .rolloutSampleReached, .rolloutStepExtended, .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused,
            .rolloutResumed, .rolloutRolledBack, .telemetryReacted, .clientSet, .clientRemoved,
            .builtInPinsNoted:
            return nil
        }
    }
}

extension DecisionContext {
    /// Refuses a change of an app with effects that its commander may not cause.
    func authorize(_ change: AppChange) throws(Refusal) {
        for event in change.events {
            if let (permission, hosts) = event.need(after: change.before, at: self.now) {
                try self.require(permission, on: change.after.id, hosts: hosts)
            }
            // A host's kill switch ends with the host.
            if case .hostRemoved(let host) = event,
                change.before?.hosts[host]?.killSwitch?.isOver(at: self.now) == false
            {
                try self.require(.releaseKillSwitches, on: change.after.id, hosts: [host])
            }
        }
        // What the server does by itself, such as the promotion that ends a plan, was allowed when the plan was set.
        guard self.commander?.kind != .system else { return }
        let weakened = change.weakening.hosts
        if !weakened.isEmpty { try self.require(.weakenProtection, on: change.after.id, hosts: weakened) }
        if change.weakening.isOfApp { try self.require(.weakenProtection, on: change.after.id) }
    }
}
