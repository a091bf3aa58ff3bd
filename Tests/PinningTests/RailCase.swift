import PinWire
import Pinning
import Testing

/// One line of a guard rail's table: what was done before, what is known, what is asked for, and what the rail says.
struct RailCase: CustomTestStringConvertible, Sendable {
    var rail: GuardRail
    var description: String
    var given: [AppCommand]
    var commands: [AppCommand]
    var facts: ExternalFacts
    var now: Timestamp
    var actor: Actor.Kind
    var isImport: Bool
    /// What else became of the app before.
    var prepare: @Sendable (inout App) -> Void
    /// Nil where the rail has nothing to say.
    var severity: GuardRail.Severity?
    var verdict: Finding.Verdict

    var testDescription: String { "\(self.rail.code) \(self.description)" }

    /// What a rail that fires says.
    enum Saying {
        case warn, override, block
        /// That it cannot judge: beside the way, or in it.
        case unknown, unknownOverride
    }

    /// A case in which the rail fires.
    init(
        _ rail: GuardRail, _ saying: Saying, _ description: String,
        given: [AppCommand] = sound, when commands: AppCommand..., facts: ExternalFacts = ExternalFacts(serving(1)),
        at now: Timestamp = monday, actor: Actor.Kind = .token, isImport: Bool = false,
        prepare: @escaping @Sendable (inout App) -> Void = { _ in }
    ) {
        self.rail = rail
        self.description = description
        self.given = given
        self.commands = commands
        self.facts = facts
        self.now = now
        self.actor = actor
        self.isImport = isImport
        self.prepare = prepare
        self.severity =
            switch saying {
            case .warn, .unknown: .warn
            case .override, .unknownOverride: .override
            case .block: .block
            }
        self.verdict =
            switch saying {
            case .warn, .override, .block: .violated
            case .unknown, .unknownOverride: .unknown
            }
    }

    /// A case of many commands in which the rail fires, and of which nothing is known.
    init(
        _ rail: GuardRail, _ saying: Saying, _ description: String, given: [AppCommand], commands: [AppCommand]
    ) {
        self.init(rail, saying, description, given: given, facts: unseen)
        self.commands = commands
    }

    /// A case in which the rail is silent, and nothing else refuses the change.
    init(
        _ rail: GuardRail, quiet description: String, given: [AppCommand] = sound, when commands: AppCommand...,
        facts: ExternalFacts = ExternalFacts(serving(1)), at now: Timestamp = monday, actor: Actor.Kind = .token,
        isImport: Bool = false, prepare: @escaping @Sendable (inout App) -> Void = { _ in }
    ) {
        self.init(
            rail, .warn, description, given: given, facts: facts, at: now, actor: actor, isImport: isImport,
            prepare: prepare)
        self.commands = commands
        self.severity = nil
    }

    /// A case of many commands in which the rail has nothing to say.
    init(
        _ rail: GuardRail, quiet description: String, given: [AppCommand], commands: [AppCommand], at now: Timestamp,
        actor: Actor.Kind
    ) {
        self.init(rail, quiet: description, given: given, facts: unseen, at: now, actor: actor)
        self.commands = commands
    }

    /// What comes of the commands.
    struct Outcome {
        /// Nil where they are refused.
        var events: [AppEvent]?
        var findings: [Finding] = []
        var refusal: Refusal?

        /// Whether the rail has something to say.
        func mentions(_ rail: GuardRail) -> Bool {
            self.refusal?.rail == rail || self.findings.contains { $0.rail == rail }
        }

        /// What is recorded as overridden.
        var overridden: [OverriddenFinding] {
            (self.events ?? []).flatMap { event -> [OverriddenFinding] in
                if case .guardRailsOverridden(let findings) = event { findings } else { [] }
            }
        }
    }

    /// The ledger before the commands.
    func state() throws -> LedgerState {
        var state = LedgerState()
        guard var app = try madeBy(self.given) else { return state }
        self.prepare(&app)
        state.apps.insert(app)
        return state
    }

    func outcome(
        _ why: String? = nil, isForced: Bool = false, at now: Timestamp? = nil,
        rails: Set<GuardRail> = Set(GuardRail.allCases), in state: LedgerState? = nil
    ) throws -> Outcome {
        let state = try state ?? self.state()
        var facts = self.facts
        if let last = state.documentVersion(of: shop) {
            // Nobody has a document that was never made.
            facts.adoption = { $1 <= last ? self.facts.adoption($0, $1) : nil }
        }
        let context = DecisionContext(
            now: now ?? self.now, reason: why.map(reason), isForced: isForced, facts: facts, actor: self.actor,
            isImport: self.isImport, rails: rails
        ) { ["com", "co.uk", "github.io"].contains($0) }
        do {
            let decision = try state.decide(.app(shop, self.commands), in: context)
            let events = decision.events.compactMap { event -> AppEvent? in
                if case .app(let event) = event { event } else { nil }
            }
            return Outcome(events: events, findings: decision.findings)
        } catch .guarded(let findings) {
            return Outcome(findings: findings, refusal: .guarded(findings))
        } catch {
            return Outcome(refusal: error)
        }
    }
}

/// ``given(_:isCreated:)``, under a name that a member called `given` does not hide.
private func madeBy(_ commands: [AppCommand]) throws -> App? { try given(commands) }

// MARK: The world of these tests

let day: Int64 = 86_400
/// A Monday, two days after everything that was given.
let monday = noon.adding(seconds: 2 * day)

/// What is known of an imagined key.
func key(
    _ number: Int, algorithm: String = "ec", curve: String? = "P-256", weaknesses: [String] = []
) -> KeyFacts {
    KeyFacts(
        pin: pin(number), algorithm: algorithm, bits: 256, curve: curve,
        spkiSHA512: sha256([1]) + sha256([UInt8(truncatingIfNeeded: number)]),
        rawKeySHA256: sha256(Array("raw \(number)".utf8)), weaknesses: weaknesses
    )
}

/// A certificate of an imagined key for api.example.com, which is sound unless said otherwise.
func certificate(
    _ number: Int, names: [String] = ["api.example.com"], subject: String = "CN=api.example.com",
    issuer: String = "CN=R1,O=Good Authority", from: Int64 = -100, days: Int64 = 300, isCA: Bool = false,
    isSelfSigned: Bool = false, algorithm: String = "ec", curve: String? = "P-256", weaknesses: [String] = []
) -> CertificateFacts {
    CertificateFacts(
        key: key(number, algorithm: algorithm, curve: curve, weaknesses: weaknesses),
        sha256: sha256(Array("certificate \(number) of \(issuer)".utf8)),
        sha1: Array(sha256([9]).prefix(20)), subject: subject, issuer: issuer, dnsNames: names, serial: "\(number)",
        notBefore: monday.adding(seconds: from * day), notAfter: monday.adding(seconds: days * day), isCA: isCA,
        isSelfSigned: isSelfSigned
    )
}

/// A pin with an uploaded key.
func shown(_ certificate: CertificateFacts, _ role: PinRole = .primary, isActive: Bool = true) -> AppCommand.NewPin {
    AppCommand.NewPin(pin: certificate.key.pin, role: role, isActive: isActive, evidence: .certificate(certificate))
}

/// A backup with an uploaded signing request.
func requested(_ number: Int, _ role: PinRole = .backup) -> AppCommand.NewPin {
    AppCommand.NewPin(pin: pin(number), role: role, evidence: .request(key(number), subject: "CN=next", dnsNames: []))
}

func enforcing(
    on pattern: HostPattern = api, subdomains: Bool = false, mode: PinMode = .enforce, _ pins: AppCommand.NewPin...
) -> AppCommand {
    .addHost(pattern, includesSubdomains: subdomains, mode: mode, pins: pins)
}

/// A host to which no rail objects: one key is served, two stand in reserve.
let sound: [AppCommand] = [enforcing(shown(certificate(1)), requested(2), requested(3))]

/// A rotation of one host or several to a key of which a request was shown.
func rotation(
    _ hosts: [HostPattern] = [api], to next: AppCommand.NewPin = requested(4), kind: Rotation.Kind = .planned,
    goals: Rotation.Goals = Rotation.Goals()
) -> AppCommand {
    .startRotation(AppCommand.NewRotation(id: "r", kind: kind, hosts: hosts, next: next, goals: goals))
}

func advance() -> AppCommand { .advanceRotation("r", from: nil) }

/// What one service presents.
struct Presented: Sendable {
    var endpoint: Endpoint
    var chains: [ObservedChain]
}

/// A service that presents keys, seen from two places an hour ago unless said otherwise; since ten days.
func serving(
    _ pins: Int..., at endpoint: String = "api.example.com:443", certificates: [CertificateFacts] = [],
    from places: [String] = ["vienna", "oslo"], hoursAgo: Int64 = 1, sinceDays: Int64 = 10, isCurrent: Bool = true,
    now: Timestamp = monday
) -> Presented {
    Presented(
        endpoint: endpoints(endpoint)[0],
        chains: places.map { place in
            ObservedChain(
                pins: pins.map { pin($0) }, certificates: certificates, address: "192.0.2.1", vantage: place,
                firstSeen: now.adding(seconds: -sinceDays * day), lastSeen: now.adding(seconds: -hoursAgo * 3600),
                isCurrent: isCurrent
            )
        }
    )
}

/// What is known where nobody looked or counted.
let unseen = ExternalFacts(documentLifetime: 86_400, documentMaxAge: 60)

extension ExternalFacts {
    /// What is known where these services were seen, and clients counted.
    init(
        _ presented: Presented..., ownHosts: Set<String> = [], share: AdoptionShare? = nil,
        claims: AdoptionClaims? = nil
    ) {
        let chains = Dictionary(grouping: presented, by: \.endpoint).mapValues { $0.flatMap(\.chains) }
        self.init(
            ownHosts: ownHosts,
            endpoint: { endpoint in
                chains[endpoint].map { EndpointFacts(chains: $0, lastSuccess: $0.map(\.lastSeen).max()) }
            },
            adoption: { _, _ in share }, claims: { _ in claims }
        )
    }
}

/// Installations of which some share has a document, from `low` to `high` in per cent.
func installs(_ low: Int, _ high: Int, of sample: Int64 = 5000) -> AdoptionShare {
    AdoptionShare(basis: .installs, low: low * 100, high: high * 100, sample: sample)
}
