import PinWire
import Pinning
import Testing

/// A limit that locks nobody out: an app, what its servers present, and a connection to one that the client takes.
struct HarmlessCase: CustomTestStringConvertible, Sendable {
    var limit: ClientLimit
    var kind: ClientKind
    var settings = ClientSettings.plain
    var description: String
    var app: ClientApp
    var connection: Connection

    var testDescription: String { "\(self.limit.rawValue): \(self.kind.rawValue) \(self.description)" }
}

private let two = Keyed(leaf(2), .backup)
private let toAuthority = Connection("api.example.com", leaf(5), authority(8))
/// A server's key in reserve beside an authority's, and a server under the authority.
private let underAuthority = ClientApp.underAuthority.presenting(leaf(5), authority(8))
private let ending: [AppEvent] = [.pinsValidUntilSet(tomorrow)]
private let killed: [AppEvent] = [.killSwitchEngaged(nil, expiresAt: tomorrow)]

extension ClientApp {
    /// The same after more has happened.
    fileprivate func after(_ events: [AppEvent]) -> ClientApp {
        var app = self
        app.events += events
        return app
    }
}

/// What clients let through that have nothing of a host, or the pins of one kind of owner alone.
let harmlessCases: [HarmlessCase] =
    [
        HarmlessCase(
            limit: .pinsValidUntil, kind: .appleATS, description: "has authorities' keys alone",
            app: underAuthority.after(ending), connection: toAuthority),
        HarmlessCase(
            limit: .pinsValidUntil, kind: .appleATS, description: "has the authority's key of two primaries",
            app: ClientApp(hosting(Keyed(authority(8)), Keyed(leaf(6), isKnown: false)), ending, served: [])
                .presenting(leaf(5), authority(8)), connection: toAuthority),
        HarmlessCase(
            limit: .leafOnly, kind: .appleATS, description: "misses a served key whose authority it has",
            app: ClientApp.underAuthority.presenting(leaf(2), authority(8)),
            connection: Connection("api.example.com", leaf(2), authority(8))),
        HarmlessCase(
            limit: .killSwitch, kind: .flutter, description: "has no certificate of the primary key",
            app: ClientApp(hosting(Keyed(leaf(1), isKnown: false), two), killed).presenting(stranger),
            connection: toStranger),
        HarmlessCase(
            limit: .certificateExpired, kind: .flutter, description: "has no certificate of the primary key",
            app: ClientApp(hosting(Keyed(leaf(1), isKnown: false), Keyed(leaf(2, days: -1), .backup)))
                .presenting(leaf(2, edition: 2)),
            connection: Connection("api.example.com", leaf(2, edition: 2))),
        HarmlessCase(
            limit: .versionKillSwitch, kind: .remoteConfig, settings: .rawKey,
            description: "does not know the primary raw key",
            app: ClientApp(
                ClientApp.versionKilled.events.filter { if case .keyDescribed = $0 { false } else { true } }
            ).presenting(stranger), connection: toStranger),
    ]
    + [ClientKind.curl, .flutter].flatMap { kind in
        [(ClientLimit.pinsValidUntil, ending), (.killSwitch, killed)].map { limit, events in
            HarmlessCase(
                limit: limit, kind: kind, description: "is left out under an authority",
                app: underAuthority.after(events), connection: toAuthority)
        }
    }
    + [ClientKind.curl, .flutter, .trustkitIOS, .androidNSC, .appleATS].map { kind in
        HarmlessCase(
            limit: .killSwitch, kind: kind, description: "has no wildcard",
            app: ClientApp.wildcard.after(killed).presenting(stranger),
            connection: Connection("a.cdn.example.com", stranger))
    }
