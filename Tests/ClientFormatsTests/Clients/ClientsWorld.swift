import PinWire
import Pinning

// The world of the tests of client kinds: apps, the servers they connect to, and what the app's state says of that.

func host(_ text: String) -> HostPattern { WultraExamples.pattern(text) }
func version(_ text: String) -> AppVersion { WultraExamples.version(text) }

/// The pin of an imagined key.
func pin(_ number: Int) -> Pin { WultraExamples.pin(number) }

let day: Int64 = 86_400
/// When everything that is given was given.
let noon = Timestamp(seconds: 1_769_860_800)
/// A Monday, two days later.
let monday = noon.adding(seconds: 2 * day)

let shop = WultraExamples.appID("com.example.shop")
let api = host("api.example.com")
let cdn = host("*.cdn.example.com")
let www = host("www.example.com")
let apex = host("example.com")
let anyBelow = host("*.example.com")

/// A key, its certificate and its role in a policy.
struct Keyed: Sendable {
    var pin: Pin
    var role: PinRole
    /// Nil for a key of which only the pin is known.
    var certificate: CertificateFacts?

    init(_ certificate: CertificateFacts, _ role: PinRole = .primary, isKnown: Bool = true) {
        self.pin = certificate.key.pin
        self.role = role
        self.certificate = isKnown ? certificate : nil
    }
}

/// A certificate of an imagined key for some names, whose common name is the first of these unless said otherwise.
func leaf(
    _ number: Int, _ names: String..., named name: String? = nil, isNamed: Bool = true, edition: Int = 0,
    days: Int64 = 300
) -> CertificateFacts {
    let names = names.isEmpty ? ["api.example.com"] : names
    return CertificateFacts(
        key: WultraExamples.key(number),
        sha256: sha256(Array("\(number) \(names) \(isNamed ? name ?? names[0] : "") \(edition)".utf8)),
        sha1: Array(sha256([9]).prefix(20)), subject: "CN=\(names[0])", issuer: "CN=R1,O=Good Authority",
        commonName: isNamed ? name ?? names[0] : nil, dnsNames: names, serial: "\(number)",
        notBefore: monday.adding(seconds: -100 * day), notAfter: monday.adding(seconds: days * day))
}

/// The certificate of an imagined authority.
func authority(_ number: Int) -> CertificateFacts {
    CertificateFacts(
        key: WultraExamples.key(number), sha256: sha256(Array("authority \(number)".utf8)),
        sha1: Array(sha256([8]).prefix(20)), subject: "CN=R\(number)", issuer: "CN=Root", commonName: "R\(number)",
        serial: "\(number)", notBefore: monday.adding(seconds: -100 * day),
        notAfter: monday.adding(seconds: 300 * day), isCA: true)
}

/// A host with pins, and what is known of their keys.
func hosting(
    on pattern: HostPattern = api, subdomains: Bool = false, mode: PinMode? = .enforce, _ pins: Keyed...
) -> [AppEvent] {
    [.hostAdded(pattern, includesSubdomains: subdomains, mode: mode)] + publishing(pins, at: pattern, .baseline)
}

/// A candidate of the host, and how it reaches devices.
func trying(_ rollout: Rollout, _ pins: Keyed...) -> [AppEvent] {
    [.candidateStarted(api, mode: .enforce)] + publishing(pins, at: api, .candidate) + [.hostRolloutSet(api, rollout)]
}

private func publishing(_ pins: [Keyed], at pattern: HostPattern, _ slot: PolicySlot) -> [AppEvent] {
    pins.flatMap { key -> [AppEvent] in
        [.pinStaged(pattern, slot, key.pin, key.role, note: nil), .pinActivated(pattern, slot, key.pin)]
            + (key.certificate.map { [.keyDescribed(.certificate($0))] } ?? [])
    }
}

/// An app as the ledger knows it, and what probes saw.
struct ClientApp: Sendable {
    var events: [AppEvent]
    /// The keys that they saw in use: those that are pinned somewhere where they are, and others everywhere.
    var served: Set<Pin>
    /// Whole chains that they saw, of all hosts, servers' own certificates first.
    var chains: [[CertificateFacts]] = []

    init(_ events: [AppEvent]..., served: Set<Int> = [1]) {
        self.events = events.flatMap { $0 }
        self.served = Set(served.map { pin($0) })
    }

    /// The same, where probes saw a server present this chain too.
    func presenting(_ chain: CertificateFacts...) -> ClientApp {
        var app = self
        app.chains.append(chain)
        return app
    }

    /// The same, where servers use this key.
    func serving(_ number: Int) -> ClientApp {
        var app = self
        app.served = [pin(number)]
        return app
    }

    /// As it was when installs were released that have its pins built in: nothing had been switched off.
    var asReleased: ClientApp {
        var app = self
        app.events = self.events.compactMap { event in
            switch event {
            case .killSwitchEngaged, .versionKillSwitchEngaged: nil
            case .hostAdded(let pattern, let includesSubdomains, .off):
                .hostAdded(pattern, includesSubdomains: includesSubdomains, mode: .enforce)
            default: event
            }
        }
        return app
    }

    struct Impossible: Error {}

    /// What a device sees of it of which the request says no more than `version`.
    func view(at now: Timestamp = monday, version: String? = nil) throws -> ClientView {
        guard var app = App(first: .appCreated(displayName: "Shop"), id: shop, at: noon) else { throw Impossible() }
        for event in self.events { app.evolve(event, at: noon) }
        var state = LedgerState()
        state.apps.insert(app)
        guard let document = state.document(of: shop) else { throw Impossible() }
        let pins = Dictionary(document.hosts.map { ($0.pattern, Self.pins($0)) }) { first, _ in first }
        let pinned = pins.values.reduce(into: Set<Pin>()) { $0.formUnion($1) }
        let served = pins.mapValues { own in self.served.filter { own.contains($0) || !pinned.contains($0) } }
        let chains = self.chains.map { chain in
            ObservedChain(
                pins: chain.map(\.key.pin), certificates: chain, address: "192.0.2.1", vantage: "here",
                firstSeen: noon, lastSeen: now, isCurrent: true)
        }
        return ClientView(
            document, of: app, served: served, chains: chains.isEmpty ? [:] : pins.mapValues { _ in chains },
            device: Device(appVersion: version), at: now)
    }

    private static func pins(_ host: Document.Host) -> Set<Pin> {
        Set([host.baseline, host.candidate].flatMap { $0?.pins ?? [] }.map(\.pin))
    }

    func findings(
        _ kind: ClientKind, _ settings: ClientSettings = ClientSettings(), suffixes: Set<String> = publicSuffixes
    ) throws -> [ClientFinding] {
        ClientLimits.findings(for: kind, settings: settings, view: try self.view()) { suffixes.contains($0) }
    }
}

let publicSuffixes: Set<String> = ["com", "co.uk", "github.io"]

/// A device's connection to a server.
struct Connection: Sendable {
    enum Platform: CaseIterable, Sendable { case ios, android }

    var name: String
    /// The server's own certificate first.
    var chain: [CertificateFacts]
    var time: Timestamp
    var device: Device
    /// Whether the request for pins says which version the app is.
    var saysVersion: Bool
    var platform: Platform
    /// What a client draws that knows percentages, from 0 to 99.
    var lot = 50

    init(
        _ name: String, _ chain: CertificateFacts..., at time: Timestamp = monday,
        device: Device = Device(), saysVersion: Bool = true, on platform: Platform = .ios
    ) {
        self.name = name
        self.chain = chain
        self.time = time
        self.device = device
        self.saysVersion = saysVersion
        self.platform = platform
    }

    var pins: Set<Pin> { Set(self.chain.map(\.key.pin)) }
    var leafPin: Pin? { self.chain.first?.key.pin }
    /// The key that is built into every app of these tests.
    static let builtin = 99
}

/// What comes of a connection.
enum Taken: Sendable {
    case connects
    /// It connects, and reports that no pin matched.
    case reports
    case refuses
    /// The app does not come so far.
    case crashes

    /// For the user it is the same whether it is reported.
    var passes: Bool { self == .connects || self == .reports }
}

extension ClientApp {
    /// What the app's state asks for.
    func stated(_ connection: Connection) throws -> Taken {
        let view = try self.view(at: connection.time)
        let decision = Evaluator(view.document).decide(
            connection.name, for: connection.device, at: connection.time)
        let isMatch = decision.pins.contains { connection.pins.contains($0.pin) }
        return switch decision.outcome {
        case .off: .connects
        case .enforce: isMatch ? .connects : .refuses
        case .reportOnly: isMatch ? .connects : .reports
        case .builtin: connection.pins.contains(pin(Connection.builtin)) ? .connects : .refuses
        }
    }
}
