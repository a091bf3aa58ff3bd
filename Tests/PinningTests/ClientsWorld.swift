import PinWire
import Pinning

// The world of the tests of client kinds: apps, the servers they connect to, and what the app's state says of that.

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
    var facts = certificate(number, names: names, subject: "CN=\(names[0])", days: days)
    facts.commonName = isNamed ? name ?? names[0] : nil
    facts.sha256 = sha256(Array("\(number) \(names) \(facts.commonName ?? "") \(edition)".utf8))
    return facts
}

/// The certificate of an imagined authority.
func authority(_ number: Int) -> CertificateFacts {
    var facts = certificate(number, names: [], subject: "CN=R\(number)", issuer: "CN=Root", isCA: true)
    facts.commonName = "R\(number)"
    return facts
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

/// An app as the ledger knows it, and the keys that probes saw in use.
struct ClientApp: Sendable {
    var events: [AppEvent]
    var served: Set<Pin>

    init(_ events: [AppEvent]..., served: Set<Int> = [1]) {
        self.events = events.flatMap { $0 }
        self.served = Set(served.map { pin($0) })
    }

    struct Impossible: Error {}

    /// What a device sees of it of which the request says no more than `version`.
    func view(at now: Timestamp = monday, version: String? = nil) throws -> ClientView {
        guard var app = App(first: .appCreated(displayName: "Shop"), id: shop, at: noon) else { throw Impossible() }
        for event in self.events { app.evolve(event, at: noon) }
        var state = LedgerState()
        state.apps.insert(app)
        guard let document = state.document(of: shop) else { throw Impossible() }
        let served = Dictionary(document.hosts.map { ($0.pattern, self.served) }) { first, _ in first }
        return ClientView(document, of: app, served: served, device: Device(appVersion: version), at: now)
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
enum Deed: Sendable {
    case connects
    /// It connects, and somebody hears that no pin matched.
    case reports
    case refuses
    /// The app does not come so far.
    case crashes

    /// For the user it is the same whether somebody hears of it.
    var passes: Bool { self == .connects || self == .reports }
}

extension ClientApp {
    /// What the app's state asks for.
    func stated(_ connection: Connection) throws -> Deed {
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
