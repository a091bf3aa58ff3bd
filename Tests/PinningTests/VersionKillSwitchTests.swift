import PinWire
import Pinning
import Testing

@Suite struct `A kill switch for versions` {
    static let hour = noon.adding(seconds: 3600)
    static let week = noon.adding(seconds: 7 * 86_400)
    static let bad = range("3.1.0", "3.1.2")
    static let engaged = AppCommand.engageVersionKillSwitch(bad, expiresAt: hour)
    static let twenty = (0..<20).map { AppCommand.engageVersionKillSwitch(range("\($0)"), expiresAt: hour) }

    static let life: [Case] = [
        Case("is engaged", when: engaged, why: "w", then: [.versionKillSwitchEngaged(bad, expiresAt: hour)]),
        Case("needs a reason", when: engaged, isForced: true, refused: .reasonRequired("it turns pinning off")),
        Case("needs its app", when: engaged, why: "w", isCreated: false, refused: .appUnknown(shop)),
        Case(
            "must end later than now", when: .engageVersionKillSwitch(bad, expiresAt: noon), why: "w",
            refused: .expiryNotAhead(noon)),
        Case(
            "may not stand for longer than a week",
            when: .engageVersionKillSwitch(bad, expiresAt: week.adding(seconds: 1)), why: "w",
            refused: .expiryTooFar(week.adding(seconds: 1), limit: week)),
        Case(
            "is prolonged where the same versions are meant, however they are written", given: [engaged],
            when: .engageVersionKillSwitch(range("3.1", "3.1.2.0"), expiresAt: week), why: "w",
            then: [.versionKillSwitchEngaged(range("3.1", "3.1.2.0"), expiresAt: week)]),
        Case(
            "may overlap another one", given: [engaged],
            when: .engageVersionKillSwitch(range("3.1.1"), expiresAt: hour), why: "w",
            then: [.versionKillSwitchEngaged(range("3.1.1"), expiresAt: hour)]),
        Case(
            "is one of twenty", given: twenty, when: engaged, why: "w", isForced: true,
            refused: .tooManyKillSwitches(limit: 20)),
        Case(
            "is prolonged where there are twenty", given: twenty,
            when: .engageVersionKillSwitch(range("7"), expiresAt: week), why: "w",
            then: [.versionKillSwitchEngaged(range("7"), expiresAt: week)]),
        Case(
            "is released", given: [engaged], when: .releaseVersionKillSwitch(bad),
            then: [.versionKillSwitchReleased(bad)]),
        Case(
            "must be engaged to be released", given: [engaged], when: .releaseVersionKillSwitch(range("3.1.0")),
            refused: .killSwitchNotEngaged(.versions(shop, range("3.1.0")))),
        Case(
            "is not the app's", given: [engaged], when: .releaseKillSwitch(nil),
            refused: .killSwitchNotEngaged(.app(shop))),
        Case(
            "is not had by engaging the app's", given: [.engageKillSwitch(nil, expiresAt: hour)],
            when: .releaseVersionKillSwitch(bad), refused: .killSwitchNotEngaged(.versions(shop, bad))),
    ]

    @Test(arguments: life) func `a kill switch for versions carries out a command or refuses it`(line: Case) throws {
        try line.check()
    }

    @Test func `a kill switch for versions replaces one that has run out, where there are twenty`() throws {
        var app = try #require(try given(Self.twenty))
        let events = try App.decide(
            [.engageVersionKillSwitch(Self.bad, expiresAt: Self.week)], app, id: shop,
            in: context("w", at: Self.hour))
        #expect(events.count == 21)
        #expect(events.last == .versionKillSwitchEngaged(Self.bad, expiresAt: Self.week))
        for event in events { app.evolve(event, at: Self.hour) }
        #expect(app.versionKillSwitches.map(\.versions) == [Self.bad])
    }

    @Test func `a kill switch for versions keeps the instant of its engagement, and is gone after its release`() throws
    {
        var app = try #require(try given([Self.engaged, .engageVersionKillSwitch(range("4"), expiresAt: Self.hour)]))
        app.evolve(.versionKillSwitchEngaged(range("3.1", "3.1.2"), expiresAt: Self.week), at: noon.adding(seconds: 9))
        let prolonged = KillSwitch(engagedAt: noon.adding(seconds: 9), expiresAt: Self.week)
        #expect(app.versionKillSwitches.map(\.versions) == [Self.bad, range("4")])
        #expect(app.killSwitch(for: Self.bad) == prolonged)
        app.evolve(.versionKillSwitchReleased(Self.bad), at: noon)
        app.evolve(.versionKillSwitchReleased(range("5")), at: noon)
        #expect(app.versionKillSwitches.map(\.versions) == [range("4")])
    }

    @Test func `a kill switch for versions needs a bound besides exclusions, and few of these`() {
        #expect(VersionRange(VersionGate()) == nil)
        #expect(VersionRange(VersionGate(excluded: [version("1")])) == nil)
        let many = (0...20).map { version("1.\($0)") }
        #expect(VersionRange(VersionGate(minimum: version("1"), excluded: many)) == nil)
        #expect(VersionRange(VersionGate(minimum: version("1"), excluded: many.dropLast())) != nil)
        #expect(VersionRange(VersionGate(minimumBuild: 0)) != nil)
        #expect(range("1", except: "1.2", "1.1.0", "1.1") == range("1.0", except: "1.1", "1.2"))
        #expect(range("1", except: "1.2", "1.1", "1.2").json == range("1", except: "1.1", "1.2").json)
    }

    @Test(arguments: [
        (range("3.1.0", "3.1.2"), "3.1.0 to 3.1.2"), (range("3.1.0", "3.1"), "3.1.0"), (range("3"), "3 and later"),
        (range(nil, "3"), "3 and earlier"), (range(from: 7), "all versions from build 7"),
        (range("3", "4", except: "3.5", "3.2", from: 7), "3 to 4 from build 7 except 3.2, 3.5"),
    ])
    func `a kill switch for versions says which versions it covers`(versions: VersionRange, text: String) {
        #expect(versions.description == text)
    }

    @Test func `a kill switch for versions stands in the document with the app's, the hosts' and the fleet's`() throws {
        var state = LedgerState()
        let app = try #require(
            try given([
                .addHost(api, includesSubdomains: false, mode: .off, pins: []),
                .addHost(cdn, includesSubdomains: false, mode: .off, pins: []),
                .engageKillSwitch(api, expiresAt: Self.hour), Self.engaged,
                .engageVersionKillSwitch(range(nil, "2"), expiresAt: Self.week),
                .engageKillSwitch(cdn, expiresAt: Self.hour), .engageKillSwitch(nil, expiresAt: Self.week),
            ]))
        state.apps.insert(app)
        state.fleet.evolve(.killSwitchEngaged(expiresAt: Self.hour), at: noon)
        let switches = try #require(state.document(of: shop)).killSwitches
        #expect(switches.map(\.scope) == ["everything", "app", "app_versions", "app_versions", "host", "host"])
        #expect(switches.map(\.versions) == [nil, nil, Self.bad.gate, range(nil, "2").gate, nil, nil])
        #expect(switches.map(\.host) == [nil, nil, nil, nil, cdn, api])
        #expect(switches.map(\.expiresAt) == [Self.hour, Self.week, Self.hour, Self.week, Self.hour, Self.hour])
        #expect(switches.allSatisfy { $0.engagedAt == noon })
    }
}

/// What is promised of kill switches of every scope alike.
@Suite struct `A kill switch of any scope` {
    /// A kill switch over everything, the app, versions of it, or each of its hosts, for an hour.
    private static func engagements(of app: App, at now: Timestamp) -> [(engage: Command, release: Command)] {
        let end = now.adding(seconds: 3600)
        var all: [(Command, Command)] = [
            (.fleet(.engageKillSwitch(expiresAt: end)), .fleet(.releaseKillSwitch)),
            (.app(app.id, [.engageKillSwitch(nil, expiresAt: end)]), .app(app.id, [.releaseKillSwitch(nil)])),
            (
                .app(app.id, [.engageVersionKillSwitch(range("77", "78"), expiresAt: end)]),
                .app(app.id, [.releaseVersionKillSwitch(range("77", "78"))])
            ),
        ]
        for host in app.hosts.keys {
            all.append(
                (.app(app.id, [.engageKillSwitch(host, expiresAt: end)]), .app(app.id, [.releaseKillSwitch(host)])))
        }
        return all
    }

    @Test(arguments: `A guard rail`.cases)
    func `a kill switch of any scope is engaged with a reason and an expiry, whatever a rail says of other changes`(
        line: RailCase
    ) throws {
        let state = try line.state()
        guard let app = state.apps[shop] else { return }
        let context = DecisionContext(
            now: line.now, reason: reason("incident"), isForced: false, facts: line.facts
        ) { ["com", "co.uk", "github.io"].contains($0) }
        for (engage, _) in Self.engagements(of: app, at: line.now) {
            // Only a time that is moved nearer is no engaging but an ending.
            if engage.isShortening(in: state, at: line.now) { continue }
            let decision = try state.decide(engage, in: context)
            #expect(decision.events.count == 1)
            #expect(decision.findings.allSatisfy { $0.severity == .warn })
        }
    }

    @Test func `a kill switch of any scope deletes nothing: its release restores all but versions and times`() throws {
        var tried = 0
        for seed in UInt64(1)...20 {
            var random = RandomLedger(seed: seed)
            var state = LedgerState()
            for _ in 0..<400 {
                let command = random.command()
                random.now = random.now.adding(seconds: 3600)
                let events = try? state.decide(command, in: context("w", isForced: true, at: random.now)).events
                for event in events ?? [] { _ = state.apply(event, of: command.stream, at: random.now) }
            }
            for app in state.apps.values {
                for (engage, release) in Self.engagements(of: app, at: random.now) {
                    guard !engage.isEngaged(in: state) else { continue }
                    tried += 1
                    var after = state
                    for command in [engage, release] {
                        let decision = try after.decide(command, in: context("w", isForced: true, at: random.now))
                        #expect(decision.events.count == 1)
                        for event in decision.events { _ = after.apply(event, of: command.stream, at: random.now) }
                    }
                    #expect(after.documentVersion(of: app.id) == state.documentVersion(of: app.id).map { $0 + 2 })
                    after.fleet.version = state.fleet.version
                    var was = try #require(after.apps[app.id])
                    was.version = app.version
                    was.updatedAt = app.updatedAt
                    after.fleet.switchEndedAt = state.fleet.switchEndedAt
                    was.switchEndedAt = app.switchEndedAt
                    for (pattern, host) in app.hosts { was.hosts[pattern]?.switchEndedAt = host.switchEndedAt }
                    after.apps.insert(was)
                    #expect(after.json == state.json)
                    #expect(after.document(of: app.id) == state.document(of: app.id))
                    #expect(
                        (0..<LedgerState.snapshotPartCount).allSatisfy {
                            after.snapshotPart($0) == state.snapshotPart($0)
                        })
                }
            }
        }
        #expect(tried > 40)
    }
}

extension Command {
    /// The kill switch that stands where this one would be engaged.
    private func standing(in state: LedgerState) -> (was: KillSwitch, expiresAt: Timestamp)? {
        switch self {
        case .fleet(.engageKillSwitch(let end)): state.fleet.killSwitch.map { ($0, end) }
        case .app(let id, let commands):
            switch commands.first {
            case .engageKillSwitch(nil, let end)?: state.apps[id]?.killSwitch.map { ($0, end) }
            case .engageKillSwitch(let host?, let end)?: state.apps[id]?.hosts[host]?.killSwitch.map { ($0, end) }
            case .engageVersionKillSwitch(let versions, let end)?:
                state.apps[id]?.killSwitch(for: versions).map { ($0, end) }
            default: nil
            }
        default: nil
        }
    }

    fileprivate func isEngaged(in state: LedgerState) -> Bool { self.standing(in: state) != nil }

    fileprivate func isShortening(in state: LedgerState, at now: Timestamp) -> Bool {
        guard let (was, expiresAt) = self.standing(in: state) else { return false }
        return was.isInForce(at: now) && expiresAt < was.expiresAt
    }
}
