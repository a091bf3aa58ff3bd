import PinWire
import Pinning
import Testing

@Suite struct `A kill switch` {
    static let week = noon.adding(seconds: 7 * 86_400)
    static let hour = noon.adding(seconds: 3600)
    static let off = AppCommand.addHost(api, includesSubdomains: false, mode: .off, pins: [])

    static let ofApps: [Case] = [
        Case(
            "of an app is engaged", when: .engageKillSwitch(nil, expiresAt: hour), why: "w",
            then: [.killSwitchEngaged(nil, expiresAt: hour)]),
        Case(
            "of a host is engaged", given: [off], when: .engageKillSwitch(api, expiresAt: hour), why: "w",
            then: [.killSwitchEngaged(api, expiresAt: hour)]),
        Case("needs its host", when: .engageKillSwitch(api, expiresAt: hour), why: "w", refused: .hostUnknown(api)),
        Case(
            "needs a reason", when: .engageKillSwitch(nil, expiresAt: hour), isForced: true,
            refused: .reasonRequired("it turns pinning off")),
        Case(
            "may stand for a week", when: .engageKillSwitch(nil, expiresAt: week), why: "w",
            then: [.killSwitchEngaged(nil, expiresAt: week)]),
        Case(
            "may not stand for longer",
            when: .engageKillSwitch(nil, expiresAt: Timestamp(microseconds: week.microseconds + 1)),
            why: "w", isForced: true,
            refused: .expiryTooFar(Timestamp(microseconds: week.microseconds + 1), limit: week)
        ),
        Case(
            "must end later than now", when: .engageKillSwitch(nil, expiresAt: noon), why: "w",
            refused: .expiryNotAhead(noon)),
        Case(
            "may end at once after",
            when: .engageKillSwitch(nil, expiresAt: Timestamp(microseconds: noon.microseconds + 1)), why: "w",
            then: [.killSwitchEngaged(nil, expiresAt: Timestamp(microseconds: noon.microseconds + 1))]
        ),
        Case(
            "is prolonged", given: [.engageKillSwitch(nil, expiresAt: hour)],
            when: .engageKillSwitch(nil, expiresAt: week), why: "w",
            then: [.killSwitchEngaged(nil, expiresAt: week)]
        ),
        Case(
            "of an app is released", given: [.engageKillSwitch(nil, expiresAt: hour)], when: .releaseKillSwitch(nil),
            then: [.killSwitchReleased(nil)]),
        Case(
            "of a host is released", given: [off, .engageKillSwitch(api, expiresAt: hour)],
            when: .releaseKillSwitch(api), then: [.killSwitchReleased(api)]),
        Case(
            "of an app must be engaged to be released", when: .releaseKillSwitch(nil),
            refused: .killSwitchNotEngaged(.app(shop))),
        Case(
            "of a host must be engaged to be released", given: [off], when: .releaseKillSwitch(api),
            refused: .killSwitchNotEngaged(.host(shop, api))),
        Case("of a host that is not there is not released", when: .releaseKillSwitch(api), refused: .hostUnknown(api)),
        Case(
            "of an app is none of its hosts", given: [off, .engageKillSwitch(nil, expiresAt: hour)],
            when: .releaseKillSwitch(api), refused: .killSwitchNotEngaged(.host(shop, api))),
        Case(
            "of a host is not its app's", given: [off, .engageKillSwitch(api, expiresAt: hour)],
            when: .releaseKillSwitch(nil), refused: .killSwitchNotEngaged(.app(shop))),
    ]

    @Test(arguments: ofApps) func `a kill switch carries out a command or refuses it`(line: Case) throws {
        try line.check()
    }

    @Test func `a kill switch is in force until its last microsecond`() {
        let killSwitch = KillSwitch(engagedAt: noon, expiresAt: Self.hour)
        #expect(killSwitch.isInForce(at: noon))
        // Engaged in the future, by a clock that was ahead: clients do not know it yet.
        #expect(!killSwitch.isInForce(at: noon.adding(seconds: -1)) && !killSwitch.isOver(at: noon.adding(seconds: -1)))
        #expect(killSwitch.isInForce(at: Timestamp(microseconds: Self.hour.microseconds - 1)))
        #expect(!killSwitch.isInForce(at: Self.hour) && killSwitch.isOver(at: Self.hour))
    }

    @Test func `a kill switch keeps the instant of its engagement, and is gone after its release`() throws {
        let app = try #require(
            try given([
                Self.off, .engageKillSwitch(api, expiresAt: Self.hour), .engageKillSwitch(nil, expiresAt: Self.week),
            ]))
        #expect(app.killSwitch == KillSwitch(engagedAt: noon, expiresAt: Self.week))
        #expect(app.hosts[api]?.killSwitch == KillSwitch(engagedAt: noon, expiresAt: Self.hour))
        var released = app
        released.evolve(.killSwitchReleased(nil), at: noon)
        released.evolve(.killSwitchReleased(api), at: noon)
        #expect(released.killSwitch == nil && released.hosts[api]?.killSwitch == nil)
    }

    @Test func `a kill switch says what it covers`() {
        #expect(KillSwitchScope.everything.description == "everything")
        #expect(KillSwitchScope.app(shop).description == "the app com.example.shop")
        let versions = KillSwitchScope.versions(shop, range("3.1.0", "3.1.2"))
        #expect(versions.description == "the versions 3.1.0 to 3.1.2 of com.example.shop")
        #expect(KillSwitchScope.host(shop, api).description == "the host api.example.com of com.example.shop")
    }

    @Test func `a kill switch of the fleet is engaged, prolonged and released`() throws {
        var fleet = Fleet()
        let engaged = try fleet.decide(.engageKillSwitch(expiresAt: Self.hour), in: context("w"))
        #expect(engaged == [.killSwitchEngaged(expiresAt: Self.hour)])
        for event in engaged { fleet.evolve(event, at: noon) }
        #expect(fleet.killSwitch == KillSwitch(engagedAt: noon, expiresAt: Self.hour) && fleet.version == 1)
        #expect(try fleet.decide(.engageKillSwitch(expiresAt: Self.week), in: context("w")).count == 1)
        let released = try fleet.decide(.releaseKillSwitch, in: context())
        #expect(released == [.killSwitchReleased])
        for event in released { fleet.evolve(event, at: noon) }
        #expect(fleet.killSwitch == nil && fleet.version == 2)
    }

    @Test func `a kill switch of the fleet is refused where one of an app would be`() {
        let fleet = Fleet()
        #expect(throws: Refusal.reasonRequired("it turns pinning off")) {
            try fleet.decide(.engageKillSwitch(expiresAt: Self.hour), in: context(isForced: true))
        }
        #expect(throws: Refusal.expiryNotAhead(noon)) {
            try fleet.decide(.engageKillSwitch(expiresAt: noon), in: context("w"))
        }
        let later = Self.week.adding(seconds: 1)
        #expect(throws: Refusal.expiryTooFar(later, limit: Self.week)) {
            try fleet.decide(.engageKillSwitch(expiresAt: later), in: context("w", isForced: true))
        }
        #expect(throws: Refusal.killSwitchNotEngaged(.everything)) {
            try fleet.decide(.releaseKillSwitch, in: context())
        }
    }

    @Test func `a kill switch of the fleet stands beside the issuer of all documents`() throws {
        var fleet = Fleet()
        #expect(fleet.issuer == "pinledger")
        #expect(try fleet.decide(.setIssuer("pinledger"), in: context()).isEmpty)
        let events = try fleet.decide(.setIssuer("pins.example.com"), in: context())
        #expect(events == [.issuerSet("pins.example.com")])
        for event in events { fleet.evolve(event, at: noon) }
        #expect(fleet.issuer == "pins.example.com")
    }

    @Test func `a kill switch over everything is not ended while a host presents a key that is not pinned`() throws {
        let (end, sooner) = (noon.adding(seconds: 7200), noon.adding(seconds: 60))
        func decided(
            _ command: FleetCommand, _ commands: [AppCommand], presenting key: Int?, at now: Timestamp = noon,
            isForced: Bool = false
        )
            throws -> Decision
        {
            var state = try ledger(after: commands)
            state.fleet.killSwitch = KillSwitch(engagedAt: noon, expiresAt: end)
            let facts = key.map { ExternalFacts(serving($0, now: now)) } ?? unseen
            let context = DecisionContext(now: now, reason: reason("w"), isForced: isForced, facts: facts) { _ in false
            }
            return try state.decide(.fleet(command), in: context)
        }
        func outcome(
            _ command: FleetCommand, _ commands: [AppCommand], presenting key: Int?, at now: Timestamp = noon
        ) throws -> [Finding] { try decided(command, commands, presenting: key, at: now).findings }
        let host = [enforcing(new(1), new(2, .backup))]
        for command in [FleetCommand.releaseKillSwitch, .engageKillSwitch(expiresAt: sooner)] {
            #expect { try outcome(command, host, presenting: 9) } throws: { error in
                guard case .guarded(let findings) = error as? Refusal else { return false }
                return findings.contains {
                    $0.rail == .liveChainUnmatched && $0.severity == .override && $0.host == api
                }
            }
            // Who insists is recorded, with what he insisted on.
            let forced = try decided(command, host, presenting: 9, isForced: true)
            guard case .fleet(.railsOverridden(let findings)) = try #require(forced.events.last) else {
                Issue.record("nothing says what was overridden")
                continue
            }
            #expect(findings.map(\.code) == ["G09"] && findings.map(\.host) == [api])
            #expect(try outcome(command, host, presenting: 1).isEmpty)
            #expect(try outcome(command, host, presenting: nil).map(\.verdict) == [.unknown])
            // What holds a host back by itself goes on doing so.
            let held = [AppCommand.engageKillSwitch(api, expiresAt: end), .engageKillSwitch(nil, expiresAt: end)]
            for more in held { #expect(try outcome(command, host + [more], presenting: 9).isEmpty) }
            let lapsed = host + [.setPinsValidUntil(noon.adding(seconds: 20))]
            #expect(try outcome(command, lapsed, presenting: 9, at: noon.adding(seconds: 30)).isEmpty)
        }
        #expect(try outcome(.engageKillSwitch(expiresAt: end.adding(seconds: 1)), host, presenting: 9).isEmpty)
        #expect(try outcome(.releaseKillSwitch, host, presenting: 9, at: end).isEmpty)
    }

    @Test func `a kill switch over everything names hosts in order where it is not ended`() throws {
        var state = LedgerState()
        for number in 10..<40 {
            let id = appID("com.example.a\(number)")
            var app = try #require(App(first: .appCreated(displayName: "Shop"), id: id, at: noon))
            for event in [
                .hostAdded(api, includesSubdomains: false, mode: .enforce),
                .pinStaged(api, .baseline, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(1)),
            ] as [AppEvent] {
                app.evolve(event, at: noon)
            }
            state.apps.insert(app)
        }
        state.fleet.killSwitch = KillSwitch(engagedAt: noon, expiresAt: noon.adding(seconds: 7200))
        let context = DecisionContext(
            now: noon, reason: reason("w"), isForced: true, facts: ExternalFacts(serving(9, now: noon))
        ) { _ in false }
        let findings = try state.decide(.fleet(.releaseKillSwitch), in: context).findings
        #expect(findings.count == 20)
        for (number, finding) in zip(10..., findings) {
            #expect(finding.detail.contains(" of com.example.a\(number) has no matching pin"))
        }
        #expect(findings.last?.detail.hasSuffix(" The same applies to 10 more hosts.") == true)
    }
}
