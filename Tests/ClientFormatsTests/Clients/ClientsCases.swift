import PinWire
import Pinning
import Testing

/// One line of the table of limits: an app, and a connection in which the limit shows.
struct ClientCase: CustomTestStringConvertible, Sendable {
    var limit: ClientLimit
    var severity: ClientFinding.Severity
    var kind: ClientKind
    var settings: ClientSettings
    var description: String
    var app: ClientApp
    var connection: Connection
    /// What the client does, which is not what the state says.
    var deed: Taken
    var suffixes: Set<String>

    var testDescription: String { "\(self.limit.rawValue): \(self.kind.rawValue) \(self.description)" }

    init(
        _ limit: ClientLimit, _ severity: ClientFinding.Severity, _ kind: ClientKind,
        as settings: ClientSettings = ClientSettings(), _ description: String, _ app: ClientApp,
        _ connection: Connection, _ deed: Taken, suffixes: Set<String> = publicSuffixes
    ) {
        self.limit = limit
        self.severity = severity
        self.kind = kind
        self.settings = settings
        self.description = description
        self.app = app
        self.connection = connection
        self.deed = deed
        self.suffixes = suffixes
    }
}

/// Every limit that is more than a notice, with a connection in which it shows.
let clientCases: [ClientCase] = ClientCase.counts + ClientCase.certificates + ClientCase.names + ClientCase.changes

private let one = Keyed(leaf(1))
private let two = Keyed(leaf(2), .backup)
/// The one of two keys, and of four, that comes last.
private let lastOfTwo = pin(1) < pin(2) ? 2 : 1
private let lastOfFour = [1, 2, 3, 4].max { pin($0) < pin($1) } ?? 4

extension ClientCase {
    /// How many pins, and which.
    private static let pins: [ClientCase] = [
        ClientCase(
            .singlePin, .breaks, .trustkitIOS, "crashes", .onePin, Connection("api.example.com", leaf(1)), .crashes),
        ClientCase(
            .singlePin, .breaks, .trustkitAndroid, "crashes", .onePin, Connection("api.example.com", leaf(1)), .crashes),
        ClientCase(.singlePin, .differs, .reactNative, "goes without pins", .onePin, toStranger, .connects),
        ClientCase(
            .singlePin, .breaks, .dynapins, "0.2 gets no answer", .onePin, Connection("api.example.com", leaf(1)),
            .refuses),
        ClientCase(
            .singlePin, .breaks, .dynapins, as: .ed25519, "0.1 gets no answer", .onePin,
            Connection("api.example.com", leaf(1)), .refuses),
        ClientCase(
            .firstPinOnly, .differs, .dynapins, as: .ed25519, "takes the primary key where nobody saw which is served",
            ClientApp(hosting(one, two), served: []), Connection("api.example.com", leaf(2)), .refuses),
        ClientCase(
            .firstPinOnly, .breaks, .dynapins, as: .ed25519, "takes the first of keys that are all in reserve",
            ClientApp(hosting(Keyed(leaf(1), .backup), two), served: []),
            Connection("api.example.com", leaf(lastOfTwo)), .refuses),
        ClientCase(
            .firstPinOnly, .breaks, .dynapins, as: .ed25519, "takes one server's key, and another has an authority's",
            ClientApp.besideAuthority.presenting(leaf(5), authority(8)),
            Connection("api.example.com", leaf(5), authority(8)), .refuses),
        ClientCase(
            .firstPinOnly, .breaks, .dynapins, as: .ed25519, "takes the first of two served keys",
            ClientApp(hosting(one, two), served: [1, 2]), Connection("api.example.com", leaf(2)), .refuses),
        ClientCase(
            .pinPlaces, .differs, .remoteConfig, "leaves the fourth pin out", .fourPins,
            Connection("api.example.com", leaf(4)), .refuses),
        ClientCase(
            .pinPlaces, .breaks, .remoteConfig, "leaves a served key out", .fourServed,
            Connection("api.example.com", leaf(lastOfFour)), .refuses),
        ClientCase(
            .hashNeverMatches, .differs, .remoteConfig, as: .rawKey, "leaves out a host whose raw key is unknown",
            ClientApp(hosting(Keyed(leaf(1), isKnown: false), two)), toStranger, .connects),
        ClientCase(
            .hashNeverMatches, .differs, .remoteConfig, as: .rawKey, "misses the raw key in reserve",
            ClientApp(hosting(one, Keyed(leaf(2), .backup, isKnown: false))),
            Connection("api.example.com", leaf(2)), .refuses),
        ClientCase(
            .pinsNotCarried, .differs, .remoteConfig, as: .simple, "goes by the app's own pins",
            ClientApp(ClientApp.clean.events + [.fallbackSet(Fallback(usesBuiltinPins: true, hosts: [api]))]),
            Connection("api.example.com", leaf(1)), .refuses),
        ClientCase(
            .pinsNotCarried, .differs, .remoteConfig, as: .simple, "goes without pins", .clean, toStranger, .connects),
        ClientCase(
            .keysPooled, .differs, .sslPinning, "takes any key for any host", .twoHosts,
            Connection("api.example.com", leaf(3, "www.example.com", "api.example.com")), .connects),
    ]

    private static let missing: [ClientCase] = [ClientKind.dynapins, .wultra, .muejam, .sslPinning].map {
        ClientCase(
            .nothingPublished, .breaks, $0, "refuses a host of which it gets nothing", .builtin,
            Connection("api.example.com", leaf(Connection.builtin)), .refuses)
    }

    /// A host that enforces and has no pins is refused by clients that take it literally.
    private static let empty: [ClientCase] = clientForms.filter { form in
        ![ClientKind.dynapins, .wultra, .muejam, .sslPinning].contains(form.kind)
    }.map { kind, settings in
        ClientCase(
            .nothingPublished, .differs, kind, as: settings, "goes without pins", ClientApp(hosting()), toStranger,
            .connects)
    }

    static let counts = pins + missing + empty

    static let certificates = authorities + above + unknown + expired + renewed + wultra

    private static let authorities: [ClientCase] = [
        ClientKind.wultra, .muejam, .flutter, .curl, .sslPinning, .remoteConfig, .appleATS,
    ].flatMap { kind -> [ClientCase] in
        let underAuthority =
            switch kind {
            case .flutter, .curl:
                ClientCase(
                    .leafOnly, .differs, kind, "goes without pins under an authority", .underAuthority, toStranger,
                    .connects)
            case .appleATS:
                ClientCase(
                    .leafOnly, .differs, kind, "misses a server's key in reserve", .underAuthority,
                    Connection("api.example.com", leaf(2)), .refuses)
            default:
                ClientCase(
                    .leafOnly, .breaks, kind, "never finds an authority's key", .underAuthority,
                    Connection("api.example.com", leaf(5), authority(8)), .refuses)
            }
        return [
            underAuthority,
            ClientCase(
                .leafOnly, .differs, kind, "misses an authority in reserve", .besideAuthority,
                Connection("api.example.com", leaf(5), authority(8)), .refuses),
        ]
    }

    /// Only the pin of an authority's key is known, and probes saw the authority above a server that is not pinned.
    private static let above: [ClientCase] = bareAuthority + bareAuthorityInReserve

    private static let bareAuthority: [ClientCase] = [
        ClientKind.wultra, .muejam, .curl, .sslPinning, .remoteConfig, .appleATS,
    ].map {
        ClientCase(
            .leafOnly, .breaks, $0, "never finds what is an authority's key",
            ClientApp(hosting(Keyed(authority(8), isKnown: false), two), served: [])
                .presenting(leaf(5), authority(8)),
            Connection("api.example.com", leaf(5), authority(8)), .refuses)
    }

    private static let bareAuthorityInReserve: [ClientCase] = clientForms.filter { form in
        [ClientKind.wultra, .muejam, .flutter].contains(form.kind)
    }.map { kind, settings in
        ClientCase(
            .certificateUnknown, .breaks, kind, as: settings, "misses an authority that is served",
            ClientApp(hosting(one, Keyed(authority(8), .backup, isKnown: false)), served: [])
                .presenting(leaf(5), authority(8)),
            Connection("api.example.com", leaf(5), authority(8)), .refuses)
    }

    private static let unknown: [ClientCase] = [ClientKind.wultra, .muejam, .flutter].flatMap { kind -> [ClientCase] in
        [
            kind == .flutter
                ? ClientCase(
                    .certificateUnknown, .differs, kind, "goes without pins",
                    ClientApp(hosting(Keyed(leaf(1), isKnown: false), two)), toStranger, .connects)
                : ClientCase(
                    .certificateUnknown, .breaks, kind, "misses the served key",
                    ClientApp(hosting(Keyed(leaf(1), isKnown: false), two)), Connection("api.example.com", leaf(1)),
                    .refuses),
            ClientCase(
                .certificateUnknown, .differs, kind, "misses the key in reserve",
                ClientApp(hosting(one, Keyed(leaf(2), .backup, isKnown: false))),
                Connection("api.example.com", leaf(2)), .refuses),
        ]
    }

    private static let expired: [ClientCase] = [ClientKind.wultra, .muejam, .flutter].flatMap { kind -> [ClientCase] in
        [
            ClientCase(
                .certificateExpired, .breaks, kind, "does not know the renewal of the served key",
                ClientApp(hosting(Keyed(leaf(1, days: -1)), two)), Connection("api.example.com", leaf(1, edition: 2)),
                .refuses),
            ClientCase(
                .certificateExpired, .differs, kind, "does not know the renewal of the key in reserve",
                ClientApp(hosting(one, Keyed(leaf(2, days: -1), .backup))),
                Connection("api.example.com", leaf(2, edition: 2)), .refuses),
        ]
    }

    private static let renewed: [ClientCase] = [ClientKind.wultra, .muejam, .flutter].map {
        ClientCase(
            .certificateRenewed, .breaks, $0, "does not know what is served",
            ClientApp(hosting(one, two)).presenting(leaf(1, edition: 2)),
            Connection("api.example.com", leaf(1, edition: 2)), .refuses)
    }

    private static let wultra: [ClientCase] = [
        ClientCase(
            .commonNameMissing, .breaks, .wultra, "finds no name on the served key",
            ClientApp(hosting(Keyed(leaf(1, isNamed: false)), two)),
            Connection("api.example.com", leaf(1, isNamed: false), on: .android), .refuses),
        ClientCase(
            .commonNameMissing, .differs, .wultra, "finds no name on the key in reserve",
            ClientApp(hosting(one, Keyed(leaf(2, isNamed: false), .backup))),
            Connection("api.example.com", leaf(2, isNamed: false), on: .android), .refuses),
        ClientCase(
            .hostNotCompared, .differs, .wultra, "takes one host's key for the other",
            ClientApp(
                hosting(Keyed(leaf(1, named: "Shop")), Keyed(leaf(2, named: "Shop"), .backup)),
                hosting(
                    on: www, Keyed(leaf(3, "www.example.com", "api.example.com", named: "Shop")),
                    Keyed(leaf(4, "www.example.com", named: "Shop"), .backup)), served: [1, 3]),
            Connection("api.example.com", leaf(3, "www.example.com", "api.example.com", named: "Shop")), .connects),
        ClientCase(
            .emptyList, .breaks, .wultra, "refuses what it was never told of",
            ClientApp(hosting(mode: .off)), toStranger, .refuses),
        ClientCase(
            .emptyList, .breaks, .wultra, as: .domains, "refuses what it was never told of",
            ClientApp(hosting(Keyed(leaf(1), isKnown: false))), Connection("api.example.com", leaf(1)), .refuses),
        ClientCase(
            .killSwitch, .differs, .wultra, as: .domains, "knows two hosts by one name", .sharing,
            Connection("api.example.com", leaf(7, named: "Shop")), .refuses),
        ClientCase(
            .killSwitch, .breaks, .wultra, as: .domains, "knows two hosts by one name", .sharing.serving(7),
            Connection("api.example.com", leaf(7, named: "Shop")), .refuses),
        ClientCase(
            .hostNotCompared, .differs, .wultra, as: .domains, "takes another host for the one that is off",
            ClientApp(
                hosting(one, two),
                hosting(
                    on: www, Keyed(leaf(3, "www.example.com", named: "api.example.com")),
                    Keyed(leaf(4, "www.example.com", named: "api.example.com"), .backup)),
                [.killSwitchEngaged(api, expiresAt: tomorrow)], served: [1, 3]),
            Connection("www.example.com", leaf(7, "www.example.com", named: "api.example.com")), .connects),
    ]

}
