package import PinWire

/// What somebody wants of one app.
package enum AppCommand: Hashable, Sendable {
    case create(displayName: String)
    case rename(String)
    case setVersionGate(VersionGate?)
    case setRollout(Rollout?)
    case setFallback(Fallback)
    case setMonitoring(Monitoring)
    case setPinsValidUntil(Timestamp?)

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

    case addPin(HostPattern, PolicySlot, NewPin)
    case activatePin(HostPattern, PolicySlot, Pin)
    case setPinRole(HostPattern, PolicySlot, Pin, PinRole)
    case retirePin(HostPattern, PolicySlot, Pin)
    case revokePin(HostPattern, PolicySlot, Pin)

    case engageKillSwitch(HostPattern?, expiresAt: Timestamp)
    case releaseKillSwitch(HostPattern?)

    /// A pin to be recorded.
    package struct NewPin: Hashable, Sendable {
        package var pin: Pin
        package var role: PinRole
        /// Whether it is published at once, or only recorded.
        package var isActive: Bool
        package var note: String?

        package init(pin: Pin, role: PinRole, isActive: Bool = true, note: String? = nil) {
            self.pin = pin
            self.role = role
            self.isActive = isActive
            self.note = note
        }
    }
}
