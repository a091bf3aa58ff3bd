package import PinWire

/// A part of an app that one command sets, and that a change can therefore be put back by.
package enum ChangedPart: Hashable, Sendable, CustomStringConvertible {
    case displayName
    /// Whether the app is archived.
    case archive
    case versionGate
    /// A host's candidate's, or with nil the whole app's.
    case rollout(HostPattern?)
    case plan(HostPattern?)
    case rotation(String)
    case fallback
    case monitoring
    case pinsValidUntil
    case killSwitch(HostPattern?)
    case versionKillSwitch(VersionRange)
    case guardRail(GuardRail)
    case client(ClientKind)
    case clientKey(ClientKind)
    case host(HostPattern)
    case subdomains(HostPattern)
    case endpoints(HostPattern)
    case candidate(HostPattern)
    case mode(HostPattern, PolicySlot)
    case pin(HostPattern, PolicySlot, Pin)

    package var description: String {
        func place(_ host: HostPattern?) -> String { host.map { "\($0)" } ?? "the app" }
        return switch self {
        case .displayName: "the app's display name"
        case .archive: "whether the app is archived"
        case .versionGate: "the app's version gate"
        case .rollout(let host): "the rollout of \(place(host))"
        case .plan(let host): "the rollout plan of \(place(host))"
        case .rotation(let id): "the rotation \(id)"
        case .fallback: "the app's fallback"
        case .monitoring: "the app's monitoring"
        case .pinsValidUntil: "the date until which the app's pins are valid"
        case .killSwitch(let host): "the kill switch of \(place(host))"
        case .versionKillSwitch(let versions): "the kill switch of the versions \(versions)"
        case .guardRail(let rail): "the guard rail \(rail.code)"
        case .client(let kind): "the client \(kind.rawValue)"
        case .clientKey(let kind): "the key of the client \(kind.rawValue)"
        case .host(let host): "the host \(host)"
        case .subdomains(let host): "include_subdomains of \(host)"
        case .endpoints(let host): "the endpoints of \(host)"
        case .candidate(let host): "the candidate of \(host)"
        case .mode(let host, let slot): "the mode of the \(slot.rawValue) of \(host)"
        case .pin(let host, let slot, let pin): "\(pin) in the \(slot.rawValue) of \(host)"
        }
    }
}
