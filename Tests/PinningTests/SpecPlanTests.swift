import PinWire
import Pinning
import SeededRandom
import Testing

@Suite struct `The plan of a spec` {
    static let created = AppCommand.create(displayName: "Shop")
    static let pins = [new(1), new(2, .backup)]
    static let added = AppCommand.addHost(api, includesSubdomains: false, mode: .enforce, pins: pins)
    static let candidate = AppCommand.startCandidate(api, mode: .reportOnly, copiesBaseline: false, pins: [new(4)])
    static let half = Rollout(basisPoints: 5000)
    static let policy = PolicySpec(mode: .enforce, pins: pins)

    struct Line: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var given: [AppCommand]
        var spec: AppSpec
        var prunes = false
        var commands: [AppCommand] = []
        var remainder: [SpecRemainder] = []
    }

    private static func spec(
        _ baseline: HostSpec.Baseline = .policy(policy), candidate: HostSpec.Candidate = .unmentioned,
        settings: [AppCommand] = []
    ) -> AppSpec {
        AppSpec(
            clients: [:],
            hosts: [
                HostSpec(
                    pattern: api, includesSubdomains: nil, baseline: baseline, candidate: candidate, settings: settings)
            ])
    }

    static let lines: [Line] = [
        Line(
            testDescription: "makes a new app", given: [], spec: AppSpec(displayName: "Shop"),
            commands: [.create(displayName: "Shop")]),
        Line(
            testDescription: "names a new app by its id", given: [], spec: AppSpec(),
            commands: [.create(displayName: "com.example.shop")]),
        Line(testDescription: "of the same app is empty", given: [created, added], spec: spec()),
        Line(
            testDescription: "adds a host with its candidate before the rollout", given: [created],
            spec: spec(candidate: .policy(PolicySpec(mode: .off, pins: nil)), settings: [.setHostRollout(api, half)]),
            commands: [
                added, .startCandidate(api, mode: .off, copiesBaseline: false, pins: []), .setHostRollout(api, half),
            ]),
        Line(
            testDescription: "adds pins before it retires others", given: [created, added],
            spec: spec(.policy(PolicySpec(mode: .enforce, pins: [new(2, .backup), new(3)]))), prunes: true,
            commands: [.addPin(api, .baseline, new(3)), .retirePin(api, .baseline, pin(1))]),
        Line(
            testDescription: "leaves pins without pruning", given: [created, added],
            spec: spec(.policy(PolicySpec(mode: .enforce, pins: [new(2, .backup)]))),
            remainder: [.pin(api, .baseline, pin(1))]),
        Line(
            testDescription: "publishes a staged pin and gives it another role",
            given: [created, .addHost(api, includesSubdomains: false, mode: .off, pins: [new(1, isActive: false)])],
            spec: spec(.policy(PolicySpec(mode: .off, pins: [new(1, .backup)]))),
            commands: [.activatePin(api, .baseline, pin(1)), .setPinRole(api, .baseline, pin(1), .backup)]),
        Line(
            testDescription: "brings a retired pin back",
            given: [
                created, .addHost(api, includesSubdomains: false, mode: .off, pins: pins),
                .retirePin(api, .baseline, pin(1)),
            ],
            spec: spec(), commands: [.setMode(api, .baseline, .enforce), .addPin(api, .baseline, new(1))]),
        Line(
            testDescription: "turns a built-in baseline into a policy by its mode",
            given: [created, .addHost(api, includesSubdomains: false, mode: nil, pins: [])], spec: spec(),
            commands: [
                .setMode(api, .baseline, .enforce), .addPin(api, .baseline, pins[0]),
                .addPin(api, .baseline, pins[1]),
            ]),
        Line(
            testDescription: "leaves a policy that is to be built in", given: [created, added], spec: spec(.builtin),
            prunes: true, remainder: [.publishedBaseline(api)]),
        Line(
            testDescription: "drops a candidate that is to be none, with its rollout",
            given: [created, added, candidate, .setHostRollout(api, half)],
            spec: spec(candidate: .none, settings: [.setHostRollout(api, nil)]), commands: [.dropCandidate(api)]),
        Line(
            testDescription: "prunes a candidate", given: [created, added, candidate], spec: spec(), prunes: true,
            commands: [.dropCandidate(api)]),
        Line(
            testDescription: "leaves the share to a plan under way",
            given: [
                created, added, candidate, .setHostRollout(api, Rollout(basisPoints: 100)),
                .rollout(api, .setPlan(terms(200, 10_000))),
            ],
            spec: spec(
                candidate: .policy(PolicySpec(mode: .reportOnly, pins: [new(4)])),
                settings: [.setHostRollout(api, half)]),
            remainder: [.plannedRollout(api)]),
        Line(
            testDescription: "leaves a rollout that stands rolled back",
            given: [
                created, added, candidate, .setHostRollout(api, half),
                .rollout(api, .rollBack(.requested, detail: nil)),
            ],
            spec: spec(
                candidate: .policy(PolicySpec(mode: .reportOnly, pins: [new(4)])),
                settings: [.setHostRollout(api, half)]),
            remainder: [.rolledBackRollout(api, since: noon)]),
        Line(
            testDescription: "keeps the pins of a rotation under way",
            given: [created, added, .startRotation(rotation)], spec: spec(), prunes: true,
            remainder: [.pinInRotation(api, .baseline, pin(7), "r")]),
        Line(
            testDescription: "keeps the host of a rotation under way",
            given: [created, added, .startRotation(rotation)], spec: AppSpec(hosts: []), prunes: true,
            remainder: [.host(api)]),
        Line(
            testDescription: "does not prune lists that are left out",
            given: [created, added, .setClient(.okhttp, ClientSettings())], spec: AppSpec(), prunes: true,
            remainder: [.host(api), .client(.okhttp)]),
        Line(
            testDescription: "lowers and raises guard rails",
            given: [created, .setGuardRail(.tooManyRiskyChanges, isLowered: true)],
            spec: AppSpec(loweredRails: [.unprovenPin]),
            commands: [
                .setGuardRail(.unprovenPin, isLowered: true), .setGuardRail(.tooManyRiskyChanges, isLowered: false),
            ]),
        Line(
            testDescription: "of an archived app is empty where it is to be archived",
            given: [created, .archive], spec: AppSpec(displayName: "Other", isArchived: true)),
        Line(
            testDescription: "unarchives an app", given: [created, .archive], spec: AppSpec(isArchived: false),
            commands: [.unarchive]),
        Line(
            testDescription: "archives an app and does nothing else", given: [created, added],
            spec: AppSpec(displayName: "Other", isArchived: true, hosts: []), prunes: true, commands: [.archive]),
        Line(
            testDescription: "takes a salt that is written out for that of the place",
            given: [created, added, candidate, .setHostRollout(api, half)],
            spec: spec(
                candidate: .policy(PolicySpec(mode: .reportOnly, pins: [new(4)])),
                settings: [.setHostRollout(api, Rollout(basisPoints: 5000, salt: "host:api.example.com"))])),
    ]

    static let rotation = AppCommand.NewRotation(
        id: "r", kind: .planned, hosts: [api], next: new(7, .backup), goals: Rotation.Goals())

    private static func terms(_ shares: Int...) -> RolloutPlan.Terms {
        RolloutPlan.Terms(
            steps: shares.map { RolloutPlan.Step($0, RolloutPlan.Hold(seconds: 3600)) })
    }

    private static func app(_ commands: [AppCommand]) throws -> App? {
        var state = LedgerState()
        guard !commands.isEmpty else { return nil }
        state.take(try state.decide(.app(shop, commands), in: context("given", isForced: true)).after)
        return state.apps[shop]
    }

    @Test(arguments: lines)
    func `A plan has what differs, and names what stays`(line: Line) throws {
        let app = try Self.app(line.given)
        let plan = line.spec.plan(for: shop, app, prunes: line.prunes)
        #expect(plan.commands == line.commands)
        #expect(plan.remainder == line.remainder)
    }

    @Test(arguments: TestDepth.seeds(500))
    func `A carried out plan leaves nothing to be planned`(seed: UInt64) throws {
        var random = RandomLedger(seed: seed)
        func decide(_ commands: [AppCommand], in state: inout LedgerState) -> Bool {
            var context = context("w", isForced: true, at: random.now)
            context.rails = []
            guard let decision = try? state.decide(.app(shop, commands), in: context) else { return false }
            state.take(decision.after)
            return true
        }
        func drawn() -> LedgerState {
            var state = LedgerState()
            _ = decide([Self.created], in: &state)
            for _ in 0..<60 {
                let command = random.appCommand()
                random.now = random.now.adding(seconds: 3600)
                if case .archive = command { continue }
                _ = decide([command], in: &state)
            }
            return state
        }
        var state = drawn()
        let other = drawn()
        let spec = try AppSpec(of: #require(other.apps[shop]))
        for prunes in [false, true] {
            let own = try AppSpec(of: #require(state.apps[shop]))
            let same = own.plan(for: shop, state.apps[shop], prunes: prunes)
            #expect(same.commands == [] && same.remainder == [])
            let plan = spec.plan(for: shop, state.apps[shop], prunes: prunes)
            // Some are refused: a pin that was revoked, a time that is past.
            guard decide(plan.commands, in: &state) else { continue }
            #expect(spec.plan(for: shop, state.apps[shop], prunes: prunes).commands == [])
        }
    }
}

extension AppSpec {
    /// What an app is, all of it.
    fileprivate init(of app: App) {
        self.init(
            displayName: app.displayName,
            settings: [
                .setVersionGate(app.versionGate), .setRollout(app.rollout), .setFallback(app.fallback),
                .setMonitoring(app.monitoring), .setPinsValidUntil(app.pinsValidUntil),
            ],
            isArchived: app.archivedAt != nil, loweredRails: app.loweredRails,
            clients: app.clients.mapValues(\.settings),
            hosts: app.hosts.sorted { $0.key < $1.key }.map { pattern, host in
                HostSpec(
                    pattern: pattern, includesSubdomains: host.includesSubdomains,
                    baseline: host[.baseline].map { .policy(PolicySpec(of: $0)) } ?? .builtin,
                    candidate: host.candidate.map { .policy(PolicySpec(of: $0)) } ?? .none,
                    settings: [.setEndpoints(pattern, host.endpoints), .setHostRollout(pattern, host.rollout)])
            })
    }
}

extension PolicySpec {
    fileprivate init(of policy: Policy) {
        self.init(
            mode: policy.mode,
            pins: policy.pins.filter(\.value.state.isInUse).sorted { $0.key < $1.key }.map { pin, record in
                AppCommand.NewPin(
                    pin: pin, role: record.role, isActive: record.state == .active, note: record.note)
            })
    }
}
