import PinWire
import Pinning

// The apps of the tests of client kinds.

extension ClientSettings {
    static let plain = ClientSettings()
    static let ed25519 = ClientSettings(dynapins: .ed25519)
    static let domains = ClientSettings(understandsDomains: true)
    static let simple = ClientSettings(schema: .simple)
    static let rawKey = ClientSettings(hash: .rawKey)
}

/// Every kind in each of its forms.
let clientForms: [(kind: ClientKind, settings: ClientSettings)] =
    ClientKind.allCases.map { ($0, .plain) }
    + [(.dynapins, .ed25519), (.wultra, .domains), (.remoteConfig, .simple), (.remoteConfig, .rawKey)]

/// A certificate of a key that is not pinned.
let stranger = leaf(7)
/// A connection to a server that has it.
let toStranger = Connection("api.example.com", stranger)
let alice = Device(ids: [.deviceID: "alice"])

let tomorrow = monday.adding(seconds: day)

/// The version 3.1 alone.
private let threeOne: VersionRange = {
    let gate = VersionGate(minimum: version("3.1"), maximum: version("3.1"))
    guard let range = VersionRange(gate) else { fatalError("\(gate) has a bound") }
    return range
}()

private let one = Keyed(leaf(1))
private let two = Keyed(leaf(2), .backup)

/// Two keys with certificates for a name, or several.
private func pair(_ pattern: HostPattern, subdomains: Bool = false, from first: Int = 1) -> [AppEvent] {
    hosting(
        on: pattern, subdomains: subdomains, Keyed(leaf(first, pattern.text)),
        Keyed(leaf(first + 1, pattern.text), .backup)
    )
}

extension ClientApp {
    /// Two keys with certificates, of which one is served: what nobody can object to.
    static let clean = ClientApp(hosting(one, two))
    static let onePin = ClientApp(hosting(one))
    static let builtin = ClientApp(hosting(mode: nil))
    static let fourPins = ClientApp(hosting(one, two, Keyed(leaf(3), .backup), Keyed(leaf(4), .emergency)))
    static let fourServed = ClientApp(
        hosting(one, Keyed(leaf(2)), Keyed(leaf(3)), Keyed(leaf(4))), served: [1, 2, 3, 4])
    /// An authority's key, and a key in reserve; and the other way round.
    static let underAuthority = ClientApp(hosting(Keyed(authority(8)), two), served: [])
    static let besideAuthority = ClientApp(hosting(one, Keyed(authority(8), .backup)))

    /// Two hosts with keys of their own, of which one certificate is valid for both.
    static let twoHosts = ClientApp(
        hosting(one, two),
        hosting(
            on: www, Keyed(leaf(3, "www.example.com", "api.example.com")), Keyed(leaf(4, "www.example.com"), .backup)),
        served: [1, 3])
    static let wildcard = ClientApp(pair(cdn))
    static let deepWildcard = ClientApp(pair(cdn, subdomains: true))
    static let subtree = ClientApp(pair(apex, subdomains: true))
    static let subtreeAndHost = ClientApp(pair(apex, subdomains: true, from: 3), hosting(one, two), served: [1, 3])
    static let wildcardAndHost = ClientApp(pair(anyBelow, from: 3), hosting(one, two), served: [1, 3])
    static let holedSubtree = ClientApp(pair(apex, subdomains: true), hosting(on: www, mode: .off))
    static let holedDeeply = ClientApp(
        pair(apex, subdomains: true), hosting(on: www, subdomains: true, mode: .off))
    static let holedWildcard = ClientApp(pair(anyBelow), hosting(on: www, mode: .off))

    static let killed = ClientApp(clean.events + [.killSwitchEngaged(nil, expiresAt: tomorrow)])
    static let hostKilled = ClientApp(clean.events + [.killSwitchEngaged(api, expiresAt: tomorrow)])
    static let versionKilled = ClientApp(
        clean.events + [.versionKillSwitchEngaged(threeOne, expiresAt: tomorrow)])
    static let ending = ClientApp(clean.events + [.pinsValidUntilSet(tomorrow)])
    static let off = ClientApp(hosting(mode: .off, one, two))
    static let reporting = ClientApp(hosting(mode: .reportOnly, one, two))
    /// Hosts whose certificates have one common name, of which the first is turned off.
    static let sharing = ClientApp(
        hosting(Keyed(leaf(1, named: "Shop")), Keyed(leaf(2, named: "Shop"), .backup)),
        hosting(
            on: www, Keyed(leaf(3, "www.example.com", named: "Shop")),
            Keyed(leaf(4, "www.example.com", named: "Shop"), .backup)),
        [.killSwitchEngaged(api, expiresAt: tomorrow)], served: [1, 3])
    /// A wildcard of which certificates of single names are known.
    static let single = ClientApp(
        hosting(on: cdn, Keyed(leaf(1, "a.cdn.example.com")), Keyed(leaf(2, "a.cdn.example.com"), .backup)))
    /// A baseline, and a candidate.
    static let trial = ClientApp(hosting(one, two), trying(Rollout(basisPoints: 10_000), Keyed(leaf(3))))

    /// Built-in pins, and a candidate.
    static func launch(_ rollout: Rollout, _ more: [AppEvent] = []) -> ClientApp {
        ClientApp(hosting(mode: nil), trying(rollout, Keyed(leaf(3)), Keyed(leaf(4), .backup)), more)
    }

    /// A name and those below it, under the same keys, from two patterns.
    static func twins(subdomains: Bool) -> ClientApp {
        let keys = [1, 2].map { Keyed(leaf($0, "example.com", "*.example.com"), $0 == 1 ? .primary : .backup) }
        return ClientApp(
            hosting(on: apex, keys[0], keys[1]), hosting(on: anyBelow, subdomains: subdomains, keys[0], keys[1]))
    }

    /// Apps of all shapes, for what holds of each.
    static let all = [
        clean, fourPins, twoHosts, wildcard, deepWildcard, subtree, subtreeAndHost, wildcardAndHost, holedSubtree,
        holedWildcard, underAuthority, besideAuthority, killed, hostKilled, ending, off, reporting, trial,
        ClientApp(hosting(one, two, Keyed(leaf(3), .emergency))), launch(Rollout(basisPoints: 10_000)),
        twins(subdomains: false), twins(subdomains: true),
    ]
}
