import PinWire
import Pinning
import Testing

@Suite struct `A rotation` {
    private static let served = AppCommand.addHost(
        api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup)])
    private static let other = AppCommand.addHost(
        cdn, includesSubdomains: false, mode: .enforce, pins: [new(5), new(6, .backup)])

    private static func start(
        _ id: String = "r", _ hosts: [HostPattern] = [api], next: AppCommand.NewPin = new(3, .backup),
        kind: Rotation.Kind = .planned, compromised: Pin? = nil
    ) -> AppCommand {
        .startRotation(
            AppCommand.NewRotation(
                id: id, kind: kind, hosts: hosts, next: next, compromised: compromised, goals: Rotation.Goals())
        )
    }

    private static func advance(_ id: String = "r", from phase: Rotation.Phase? = nil) -> AppCommand {
        .advanceRotation(id, from: phase)
    }

    private static func started(
        hosts: [HostPattern] = [api], kind: Rotation.Kind = .planned, isNextNew: Bool = true, next: Int = 3,
        old: [Int] = [1]
    ) -> AppEvent {
        .rotationStarted(
            Rotation(
                id: "r", kind: kind, hosts: hosts, next: pin(next), isNextNew: isNextNew,
                old: old.map { pin($0) }.sorted(),
                goals: Rotation.Goals(), startedAt: noon))
    }

    static let steps = [
        Case(
            "publishes the next key as an active backup", given: [served], when: start(),
            then: [
                started(), .pinStaged(api, .baseline, pin(3), .backup, note: nil),
                .pinActivated(api, .baseline, pin(3)),
            ]),
        Case(
            "takes a backup that is there already", given: [served], when: start(next: new(2, .backup)),
            then: [started(isNextNew: false, next: 2)]),
        Case(
            "activates a staged one", given: [served, .addPin(api, .baseline, new(3, .backup, isActive: false))],
            when: start(), then: [started(isNextNew: false), .pinActivated(api, .baseline, pin(3))]),
        Case(
            "covers candidates too",
            given: [served, .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [])], when: start(),
            then: [
                started(), .pinStaged(api, .baseline, pin(3), .backup, note: nil),
                .pinActivated(api, .baseline, pin(3)), .pinStaged(api, .candidate, pin(3), .backup, note: nil),
                .pinActivated(api, .candidate, pin(3)),
            ]),
        Case(
            "covers several hosts", given: [served, other], when: start("r", [api, cdn]),
            then: [
                started(hosts: [cdn, api].sorted(), old: [1, 5]),
                .pinStaged(api, .baseline, pin(3), .backup, note: nil), .pinActivated(api, .baseline, pin(3)),
                .pinStaged(cdn, .baseline, pin(3), .backup, note: nil), .pinActivated(cdn, .baseline, pin(3)),
            ]),
        Case(
            "goes on to the switch", given: [served, start()], when: advance(), then: [.rotationAdvanced("r", .switch)]),
        Case(
            "promotes the next key when it settles", given: [served, start(), advance()], when: advance(from: .switch),
            then: [
                .rotationAdvanced("r", .settle), .pinRoleSet(api, .baseline, pin(3), .primary),
                .pinRoleSet(api, .baseline, pin(1), .backup),
            ]),
        Case(
            "retires the old key at the end", given: [served, start(), advance(), advance()], when: advance(), why: "w",
            then: [.rotationAdvanced("r", .cleanUp), .pinRetired(api, .baseline, pin(1))]),
        Case(
            "ends", given: [served, start(), advance(), advance(), advance()], when: advance(),
            then: [.rotationAdvanced("r", .done)]),
        Case(
            "of an emergency begins with the switch and revokes the old key",
            given: [served, start(kind: .emergency, compromised: pin(1))], when: advance(), why: "stolen",
            then: [
                .rotationAdvanced("r", .cleanUp), .pinRoleSet(api, .baseline, pin(3), .primary),
                .pinRevoked(api, .baseline, pin(1)),
            ]),
        Case(
            "gives its next key up when it is aborted", given: [served, start()],
            when: .abortRotation("r", keepsNext: false),
            why: "w", then: [.rotationAborted("r"), .pinRetired(api, .baseline, pin(3))]),
        Case(
            "may leave its next key published", given: [served, start()], when: .abortRotation("r", keepsNext: true),
            then: [.rotationAborted("r")]),
        Case(
            "leaves a backup that was there before", given: [served, start(next: new(2, .backup))],
            when: .abortRotation("r", keepsNext: false), then: [.rotationAborted("r")]),
        Case(
            "leaves the pins alone once the next key is in service", given: [served, start(), advance(), advance()],
            when: .abortRotation("r", keepsNext: false), then: [.rotationAborted("r")]),
    ]

    static let refused = [
        Case(
            "has a name of its own", given: [served, other, start()], when: start("r", [cdn]),
            refused: .rotationExists("r")),
        Case("is known by its name", given: [served], when: advance("x"), refused: .rotationUnknown("x")),
        Case(
            "is not advanced from another phase than it is in", given: [served, start()], when: advance(from: .switch),
            refused: .rotationPhase("r", .deliver)),
        Case(
            "ends once", given: [served, start(), .abortRotation("r", keepsNext: true)], when: advance(),
            refused: .rotationPhase("r", .aborted)),
        Case(
            "is a host's only one", given: [served, start()], when: start("s", next: new(4, .backup)),
            refused: .rotationUnderWay(api, "r")),
        Case(
            "needs a key to replace",
            given: [.addHost(api, includesSubdomains: false, mode: .off, pins: [new(2, .backup)])],
            when: start(), refused: .rotationWithoutOldKey(api)),
        Case(
            "needs its next key", given: [served, start(), advance(), .retirePin(api, .baseline, pin(3))],
            when: advance(),
            refused: .rotationWithoutNextKey(api, "r")),
        Case(
            "needs pins from here", given: [.addHost(api, includesSubdomains: false, mode: nil, pins: [])],
            when: start(),
            refused: .baselineIsBuiltin(api)),
        Case("needs a host of the app", when: start(), refused: .hostUnknown(api)),
        Case(
            "is of another key", given: [served], when: start(next: new(1, .backup)),
            refused: .guarded([
                Finding(
                    .backupIsPrimary, pin: pin(1),
                    "\(pin(1)) is the pin of the served key too: a backup on the same key is lost with it.",
                    remedy:
                        "Make another key pair, keep it apart from the served one, and give its certificate or signing request."
                )
            ])),
        Case(
            "cannot retire a key that leaves one pin alone",
            given: [
                .addHost(api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup)]),
                start(next: new(2, .backup)), advance(), advance(),
            ], when: advance(), why: "w", refused: .tooFewPins(api, .baseline, active: 1)),
        Case(
            "of an emergency says why", given: [served, start(kind: .emergency)], when: advance(),
            refused: .reasonRequired("it revokes a compromised key's pin")),
        Case(
            "comes in a number that people can follow",
            given: (0..<100).map { start("r\($0)", [host("h\($0).example.com")]) }.enumerated().flatMap {
                index, start in
                [
                    .addHost(
                        host("h\(index).example.com"), includesSubdomains: false, mode: .enforce,
                        pins: [new(1), new(2, .backup)]), start,
                ]
            } + [served], when: start(), refused: .tooManyRotations(limit: 100)),
        Case(
            "is probed at few places", given: [served],
            when: .setEndpoints(api, (1...21).flatMap { endpoints("api.example.com:\($0)") }),
            refused: .tooManyEndpoints(limit: 20)),
        Case(
            "is of pinned keys", given: [served],
            when: .describeKeys([
                .publicKey(
                    KeyFacts(
                        pin: pin(9), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
                        rawKeySHA256: sha256([1])))
            ]), refused: .keyNotPinned(pin(9))),
        Case(
            "lowers only what can be insisted on", given: [served], when: .setGuardRail(.twoPins, isLowered: true),
            why: "w", refused: .guardRailFixed(.twoPins)),
    ]

    @Test(arguments: steps) func `a rotation goes step by step`(line: Case) throws { try line.check() }

    @Test(arguments: refused) func `a malformed rotation is refused`(line: Case) throws { try line.check() }

    @Test func `a rotation is remembered when it is over, for a while`() throws {
        var app = try #require(try given([Self.served]))
        for number in 0..<30 {
            for command in [
                Self.start("r\(number)", next: new(2, .backup)), .abortRotation("r\(number)", keepsNext: true),
            ] {
                for event in try App.decide([command], app, id: shop, in: context("w")) { app.evolve(event, at: noon) }
            }
        }
        #expect(app.rotations.count == Rotation.pastLimit)
        #expect(app.rotations.last?.id == "r29" && app.rotations.last?.phase == .aborted)
    }

    @Test func `a rotation is planned the same whenever it is asked, and with force`() throws {
        var state = LedgerState()
        let app = try #require(try given([Self.served]))
        state.apps.insert(app)
        func plan(at now: Timestamp, next: Int, seen: Timestamp) throws -> [UInt8] {
            let facts = ExternalFacts(serving(9, now: seen))
            let command = Command.app(
                shop, [Self.start(next: new(next, .backup)), .addPin(api, .baseline, new(7, .backup))])
            let context = DecisionContext(
                now: now, reason: reason("w"), isForced: true, facts: facts, isPublicSuffix: { _ in false })
            let events = try state.decide(command, in: context).events
            #expect(
                events.contains { $0.type == "GuardRailsOverridden" }
                    && events.contains { $0.type == "RotationStarted" })
            return Decision.plan(of: events, after: 1)
        }
        let shown = try plan(at: monday, next: 3, seen: monday)
        let later = monday.adding(seconds: 60)
        #expect(try plan(at: later, next: 3, seen: later) == shown)
        #expect(try plan(at: monday, next: 4, seen: monday) != shown)
    }
}
