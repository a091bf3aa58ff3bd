package import PinWire

/// Every way in which a well-formed command can be refused.
///
/// Thrown by `decide`; the server maps each case to one problem type, status and advice (`Problem+Refusal.swift`),
/// checked by the compiler.
package enum Refusal: Error, Hashable, Sendable {
    case appExists(AppID)
    case appUnknown(AppID)
    case hostExists(HostPattern)
    case hostUnknown(HostPattern)
    case publicSuffix(HostPattern)
    case tooManyHosts(limit: Int)
    case documentTooLarge(bytes: Int, limit: Int)

    case pinExists(Pin, PinState)
    case pinUnknown(Pin)
    case pinNotStaged(Pin, PinState)
    case pinNotInUse(Pin, PinState)
    case pinRevoked(Pin)
    case pinPlaceholder(Pin, Pin.Placeholder)
    case tooManyPins(limit: Int)
    case tooFewPins(HostPattern, PolicySlot, active: Int)
    case noBackupPin(HostPattern, PolicySlot)
    case lastBackupPin(HostPattern, PolicySlot)

    case baselineIsBuiltin(HostPattern)
    case candidateExists(HostPattern)
    case candidateMissing(HostPattern)

    case reasonRequired(String)
    case expiryNotAhead(Timestamp)
    case expiryTooFar(Timestamp, limit: Timestamp)
    case killSwitchNotEngaged(KillSwitchScope)

    case keyExists(String)
    case keyUnknown(String)
    case keyNotAnnounced(String, SigningKeyState)
    case keyTooYoung(String, until: Timestamp)
    case keyInUse(String)
    case keyStillTrusted(String, until: Timestamp)
    case keyRetired(String)

    case tokenExists(String)
    case tokenUnknown(String)
    case tokenRevoked(String)
}
