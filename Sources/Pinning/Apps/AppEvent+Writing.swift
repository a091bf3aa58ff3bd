import PinWire

extension AppEvent {
    /// The event's name in the ledger.
    var type: String {
        switch self {
        case .appCreated: "AppCreated"
        case .appRenamed: "AppRenamed"
        case .versionGateSet: "VersionGateSet"
        case .appRolloutSet: "AppRolloutSet"
        case .fallbackSet: "FallbackSet"
        case .monitoringSet: "MonitoringSet"
        case .pinsValidUntilSet: "PinsValidUntilSet"
        case .hostAdded: "HostAdded"
        case .hostSubdomainsSet: "HostSubdomainsSet"
        case .hostRemoved: "HostRemoved"
        case .modeSet: "ModeSet"
        case .candidateStarted: "CandidateStarted"
        case .candidatePromoted: "CandidatePromoted"
        case .candidateDropped: "CandidateDropped"
        case .hostRolloutSet: "HostRolloutSet"
        case .pinStaged: "PinStaged"
        case .pinActivated: "PinActivated"
        case .pinRoleSet: "PinRoleSet"
        case .pinRetired: "PinRetired"
        case .pinRevoked: "PinRevoked"
        case .killSwitchEngaged, .versionKillSwitchEngaged: "KillSwitchEngaged"
        case .killSwitchReleased, .versionKillSwitchReleased: "KillSwitchReleased"
        case .endpointsSet: "EndpointsSet"
        case .keyDescribed: "KeyDescribed"
        case .guardRailSet: "GuardRailSet"
        case .guardRailsOverridden: "GuardRailsOverridden"
        case .rotationStarted: "RotationStarted"
        case .rotationAdvanced: "RotationAdvanced"
        case .rotationAborted: "RotationAborted"
        case .rolloutPlanSet: "RolloutPlanSet"
        case .rolloutPlanCleared: "RolloutPlanCleared"
        case .rolloutStepTaken: "RolloutStepTaken"
        case .rolloutStepApproved: "RolloutStepApproved"
        case .rolloutSampleReached: "RolloutSampleReached"
        case .rolloutStepExtended: "RolloutStepExtended"
        case .rolloutBakeStarted: "RolloutBakeStarted"
        case .rolloutPlanFinished: "RolloutPlanFinished"
        case .rolloutPaused: "RolloutPaused"
        case .rolloutResumed: "RolloutResumed"
        case .rolloutRolledBack: "RolloutRolledBack"
        case .telemetryReacted: "TelemetryReacted"
        case .clientSet: "ClientSet"
        case .clientRemoved: "ClientRemoved"
        case .clientKeySet: "ClientKeySet"
        }
    }
}

extension Event {
    /// Writes ``data`` as the member `data` of an entry.
    ///
    /// The frequent events without another settings object inside are written member by member; their bytes are those
    /// of ``data``.
    func writeData(to entry: inout CanonicalObject) {
        guard case .app(let event) = self, event.isFlat else {
            entry.add("data", self.data)
            return
        }
        entry.object("data") { event.write(to: &$0) }
    }
}

extension AppEvent {
    /// Whether the event's data are texts, times and flags only.
    fileprivate var isFlat: Bool {
        switch self {
        case .versionGateSet, .appRolloutSet, .hostRolloutSet, .fallbackSet, .monitoringSet, .endpointsSet,
            .keyDescribed, .guardRailSet, .guardRailsOverridden, .rotationStarted, .rotationAdvanced, .rotationAborted,
            .versionKillSwitchEngaged, .versionKillSwitchReleased,
            .rolloutPlanSet, .rolloutPlanCleared, .rolloutStepTaken, .rolloutStepApproved, .rolloutStepExtended,
            .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused, .rolloutResumed, .rolloutRolledBack,
            .rolloutSampleReached, .telemetryReacted, .clientSet, .clientRemoved, .clientKeySet:
            false
        default: true
        }
    }

    /// Writes the members of ``data`` in canonical order.
    fileprivate func write(to data: inout CanonicalObject) {
        func pin(_ host: HostPattern, _ slot: PolicySlot, _ pin: Pin, role: PinRole? = nil, note: String? = nil) {
            data.add("host", host.text)
            data.add("note", note)
            data.add("pin", pin)
            data.add("policy", slot.rawValue)
            data.add("role", role?.rawValue)
        }
        switch self {
        case .appCreated(let name), .appRenamed(let name): data.add("display_name", name)
        case .pinsValidUntilSet(let time):
            if let time { data.add("pins_valid_until", time) }
        case .hostAdded(let pattern, let subdomains, let mode):
            data.add("host", pattern.text)
            data.add("include_subdomains", subdomains)
            data.add("mode", mode?.rawValue)
        case .hostSubdomainsSet(let pattern, let subdomains):
            data.add("host", pattern.text)
            data.add("include_subdomains", subdomains)
        case .hostRemoved(let pattern), .candidatePromoted(let pattern), .candidateDropped(let pattern):
            data.add("host", pattern.text)
        case .modeSet(let pattern, let slot, let mode):
            data.add("host", pattern.text)
            data.add("mode", mode.rawValue)
            data.add("policy", slot.rawValue)
        case .candidateStarted(let pattern, let mode):
            data.add("host", pattern.text)
            data.add("mode", mode.rawValue)
        case .pinStaged(let host, let slot, let digest, let role, let note):
            pin(host, slot, digest, role: role, note: note)
        case .pinRoleSet(let host, let slot, let digest, let role): pin(host, slot, digest, role: role)
        case .pinActivated(let host, let slot, let digest), .pinRetired(let host, let slot, let digest),
            .pinRevoked(let host, let slot, let digest):
            pin(host, slot, digest)
        case .killSwitchEngaged(let pattern, let expiresAt):
            data.add("expires_at", expiresAt)
            data.add("host", pattern?.text)
        case .killSwitchReleased(let pattern): data.add("host", pattern?.text)
        case .versionGateSet, .appRolloutSet, .hostRolloutSet, .fallbackSet, .monitoringSet, .endpointsSet,
            .keyDescribed, .guardRailSet, .guardRailsOverridden, .rotationStarted, .rotationAdvanced, .rotationAborted,
            .versionKillSwitchEngaged, .versionKillSwitchReleased,
            .rolloutPlanSet, .rolloutPlanCleared, .rolloutStepTaken, .rolloutStepApproved, .rolloutStepExtended,
            .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused, .rolloutResumed, .rolloutRolledBack,
            .rolloutSampleReached, .telemetryReacted, .clientSet, .clientRemoved, .clientKeySet:
            break
        }
    }
}
