package import PinWire

/// A command about one app.
package enum AppCommand: Hashable, Sendable {
    case create(displayName: String)
    case rename(String)
    case setVersionGate(VersionGate?)
    case setRollout(Rollout?)
    case setFallback(Fallback)
    case setMonitoring(Monitoring)
    case setPinsValidUntil(Timestamp?)
    /// Withdraws everything that clients get, and closes the app to changes. Its id stays taken.
    case archive
    case unarchive

    /// `mode` nil: the baseline is the pins built into the app.
    case addHost(HostPattern, includesSubdomains: Bool, mode: PinMode?, pins: [NewPin])
    case setSubdomains(HostPattern, includesSubdomains: Bool)
    case removeHost(HostPattern)
    case setMode(HostPattern, PolicySlot, PinMode)
    /// With `copiesBaseline`, the candidate begins with the baseline's active pins, so that both arms hold the live key;
    /// nil takes them along where there are any.
    case startCandidate(HostPattern, mode: PinMode, copiesBaseline: Bool?, pins: [NewPin])
    case promoteCandidate(HostPattern)
    case dropCandidate(HostPattern)
    case setHostRollout(HostPattern, Rollout?)
    /// For a host's candidate, or with nil for the whole app.
    case rollout(HostPattern?, RolloutCommand)

    case addPin(HostPattern, PolicySlot, NewPin)
    case activatePin(HostPattern, PolicySlot, Pin)
    case setPinRole(HostPattern, PolicySlot, Pin, PinRole)
    case retirePin(HostPattern, PolicySlot, Pin)
    case revokePin(HostPattern, PolicySlot, Pin)

    case engageKillSwitch(HostPattern?, expiresAt: Timestamp)
    case releaseKillSwitch(HostPattern?)
    /// For some versions of the app. Ranges may overlap; the same range again moves its expiry.
    case engageVersionKillSwitch(VersionRange, expiresAt: Timestamp)
    case releaseVersionKillSwitch(VersionRange)

    /// Nil for the services that follow from the pattern.
    case setEndpoints(HostPattern, [Endpoint]?)
    /// Adds facts about keys whose pins the app has.
    case describeKeys([KeyEvidence])
    /// With `isLowered`, the rail only warns from now on.
    case setGuardRail(GuardRail, isLowered: Bool)

    // Indirect, as others below: a rare command must not make every one of them large.
    indirect case startRotation(NewRotation)
    /// Ends the phase `from`; nil for the present one.
    case advanceRotation(String, from: Rotation.Phase?)
    /// With `keepsNext`, the next key stays published.
    case abortRotation(String, keepsNext: Bool)

    /// Declares that installs of a kind are served, with these settings.
    indirect case setClient(ClientKind, ClientSettings)
    case removeClient(ClientKind)
    /// Sets the key that signs the kind's format. Installs have the public half built in.
    case setClientKey(ClientKind, ClientKey)
    /// Notes the pins of a file that installs of a kind have built in. Only the server itself does this of an export.
    case noteBuiltIn(ClientKind, [BuiltInHost], BuiltInPins.Origin)

    /// Carries out the reaction that clients' reports lead to, if it is still due. Only the server itself does this.
    indirect case react(Reaction.Due)

    /// Puts a recorded change back, as far as no later one set the same parts (``Reversal``).
    indirect case revert(PastChange)

    /// A rotation to be started.
    package struct NewRotation: Hashable, Sendable {
        package var id: String
        package var kind: Rotation.Kind
        package var hosts: [HostPattern]
        package var next: NewPin
        /// In an emergency: the key that is compromised; nil for the hosts' primaries.
        package var compromised: Pin?
        package var goals: Rotation.Goals

        package init(
            id: String, kind: Rotation.Kind, hosts: [HostPattern], next: NewPin, compromised: Pin? = nil,
            goals: Rotation.Goals
        ) {
            self.id = id
            self.kind = kind
            self.hosts = hosts
            self.next = next
            self.compromised = compromised
            self.goals = goals
        }
    }

    /// A pin to be recorded.
    package struct NewPin: Hashable, Sendable {
        package var pin: Pin
        package var role: PinRole
        /// Whether it is published at once, or only recorded.
        package var isActive: Bool
        package var note: String?
        /// The uploaded facts of the key; nil where only the pin was given.
        package var evidence: KeyEvidence?

        package init(
            pin: Pin, role: PinRole, isActive: Bool = true, note: String? = nil, evidence: KeyEvidence? = nil
        ) {
            self.pin = pin
            self.role = role
            self.isActive = isActive
            self.note = note
            self.evidence = evidence
        }
    }
}
