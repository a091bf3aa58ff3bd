import PinWire
import Pinning
import Testing

@Suite struct `Lost changes` {
    private let end = noon.adding(seconds: 3600)

    /// A shop with two hosts' worth of pins, a token, and two signing keys of which the first is superseded.
    private func state(hosts: Bool = true) throws -> LedgerState {
        var state = LedgerState()
        let host = AppCommand.addHost(api, includesSubdomains: false, mode: .off, pins: [new(1), new(2, .backup)])
        let commands: [Command] = [
            .app(shop, [.create(displayName: "Shop")] + (hosts ? [host] : [])),
            .access(.issueToken(newToken("tok_1", until: noon.adding(seconds: 86_400)))),
            .access(.addPrincipal(id: "prn_1", .person, name: "Ada")),
            .access(.grantRole(id: "grt_1", principal: "prn_1", .everywhere(.editor))),
            .access(.defineRole(roleName("own"), [.readApps, .changeApps])),
            .keys(.create(kid: "a", publicKey: sha256([1]))), .keys(.create(kid: "b", publicKey: sha256([2]))),
            .keys(.activate(kid: "b")), .telemetryKey(shop, .add(id: "tlk_1", note: nil)),
        ]
        for command in commands {
            state.take(try state.decide(command, in: context("given", isForced: true)).after)
        }
        return state
    }

    private func entry(_ stream: StreamID, _ event: Event, _ position: Int64 = 50) -> Entry {
        Entry(
            position: position, stream: stream, streamVersion: 9, time: noon, event: event,
            origin: Origin(actor: .system))
    }

    /// A token that was issued in another one's place.
    private static func rotated(after overlap: Int64) -> NewToken {
        var new = newToken("tok_lost", digest: sha256([8]))
        new.replaced = TokenReplacement(token: "tok_1", overlap: overlap)
        return new
    }

    private func commands(_ lost: [(StreamID, Event)], in state: LedgerState? = nil) throws -> [Command] {
        let entries = lost.enumerated().map { self.entry($1.0, $1.1, Int64(50 + $0)) }
        return LostChanges(of: entries, in: try state ?? self.state(), at: noon).repetitions.map(\.command)
    }

    @Test func `a lost kill switch whose app or host is lost too waits for that to be made again`() throws {
        let lost = [
            self.entry(.app(shop), .app(.killSwitchEngaged(nil, expiresAt: self.end)), 50),
            self.entry(.app(shop), .app(.killSwitchEngaged(api, expiresAt: self.end)), 51),
            self.entry(.app(shop), .app(.versionKillSwitchEngaged(range("1.0", "2.0"), expiresAt: self.end)), 52),
            self.entry(.app(shop), .app(.killSwitchReleased(api)), 53),
        ]
        let switches = [lost[0], lost[2]]
        #expect(LostChanges(of: lost, in: LedgerState(), at: noon).blocked == switches)
        #expect(LostChanges(of: lost, in: LedgerState(), at: self.end).blocked.isEmpty)
        let hostless = LostChanges(of: Array(lost.prefix(2)), in: try self.state(hosts: false), at: noon)
        #expect(hostless.blocked == [lost[1]] && hostless.repetitions.count == 1)
        #expect(LostChanges(of: lost, in: try self.state(), at: noon).blocked.isEmpty)
    }

    @Test func `lost kill switches and revocations can be repeated`() throws {
        let app = StreamID.app(shop)
        let versions = range("1.0", "2.0")
        let root = try signedRoot(1)
        let lost: [(StreamID, Event, Command)] = [
            (.fleet, .fleet(.killSwitchEngaged(expiresAt: self.end)), .fleet(.engageKillSwitch(expiresAt: self.end))),
            (
                app, .app(.killSwitchEngaged(nil, expiresAt: self.end)),
                .app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])
            ),
            (
                app, .app(.killSwitchEngaged(api, expiresAt: self.end)),
                .app(shop, [.engageKillSwitch(api, expiresAt: self.end)])
            ),
            (
                app, .app(.versionKillSwitchEngaged(versions, expiresAt: self.end)),
                .app(shop, [.engageVersionKillSwitch(versions, expiresAt: self.end)])
            ),
            (app, .app(.pinRevoked(api, .baseline, pin(1))), .app(shop, [.revokePin(api, .baseline, pin(1))])),
            (.access, .access(.tokenRevoked(id: "tok_1")), .access(.revokeToken(id: "tok_1"))),
            (.access, .access(.principalSuspended(id: "prn_1")), .access(.suspendPrincipal(id: "prn_1"))),
            (
                .access, .access(.grantRevoked(id: "grt_1", principal: "prn_1")), .access(.revokeGrant(id: "grt_1"))
            ),
            (
                .access, .access(.roleDefined(roleName("own"), [.readApps])),
                .access(.defineRole(roleName("own"), [.readApps]))
            ),
            (.keys, .keys(.signingKeyRetired(kid: "a")), .keys(.retire(kid: "a"))),
            (.keys, .keys(.rootPublished(root)), .keys(.publishRoot(root, restarts: false))),
            (.watch(shop), .watch(.telemetryKeyRetired(id: "tlk_1")), .telemetryKey(shop, .retire(id: "tlk_1"))),
        ]
        #expect(try self.commands(lost.map { ($0.0, $0.1) }) == lost.map(\.2))
        // Once they are repeated, nothing is left to repeat.
        var state = try self.state()
        for (_, _, command) in lost {
            state.take(try state.decide(command, in: context("again", isForced: true)).after)
        }
        #expect(try self.commands(lost.map { ($0.0, $0.1) }, in: state).isEmpty)
    }

    @Test func `the last of several lost changes of one thing counts`() throws {
        let app = StreamID.app(shop)
        let later = self.end.adding(seconds: 60)
        #expect(
            try self.commands([
                (app, .app(.killSwitchEngaged(nil, expiresAt: self.end))), (app, .app(.killSwitchReleased(nil))),
            ]).isEmpty)
        #expect(
            try self.commands([
                (app, .app(.killSwitchEngaged(nil, expiresAt: self.end))),
                (app, .app(.killSwitchEngaged(nil, expiresAt: later))),
            ]) == [.app(shop, [.engageKillSwitch(nil, expiresAt: later)])])
    }

    @Test func `a token whose replacement was lost is revoked where its overlap is over, and named before`() throws {
        for (overlap, commands, isNamed) in [
            (Int64(0), [Command.access(.revokeToken(id: "tok_1"))], false), (60, [], true), (90_000, [], false),
        ] {
            let lost = LostChanges(
                of: [self.entry(.access, .access(.tokenIssued(Self.rotated(after: overlap))))], in: try self.state(),
                at: noon)
            #expect(lost.repetitions.map(\.command) == commands && lost.revivals.isEmpty != isNamed)
        }
        let twice: [(StreamID, Event)] = [0, 90_000].map { (.access, .access(.tokenIssued(Self.rotated(after: $0)))) }
        #expect(try self.commands(twice) == [.access(.revokeToken(id: "tok_1"))])
    }

    @Test func `nothing is repeated that is over, unknown, or done`() throws {
        let lost: [(StreamID, Event)] = [
            (.fleet, .fleet(.killSwitchEngaged(expiresAt: noon))),
            (.app(appID("lost")), .app(.killSwitchEngaged(nil, expiresAt: self.end))),
            (.app(shop), .app(.killSwitchEngaged(host("lost.example.com"), expiresAt: self.end))),
            (.app(shop), .app(.pinRevoked(api, .candidate, pin(1)))),
            (.app(shop), .app(.pinRevoked(api, .baseline, pin(7)))),
            (.access, .access(.tokenRevoked(id: "tok_lost"))),
            (.access, .access(.grantRevoked(id: "grt_lost", principal: "prn_1"))),
            (.access, .access(.principalSuspended(id: "prn_lost"))), (.access, .access(.roleRemoved(roleName("lost")))),
            (.access, .access(.roleDefined(roleName("own"), Set(Permission.allCases)))),
            (.keys, .keys(.signingKeyRetired(kid: "lost"))),
            (.watch(shop), .watch(.telemetryKeyRetired(id: "tlk_lost"))), (.log, .log(.logKeyRetired(kid: "lost"))),
            (.app(shop), .app(.appRenamed(displayName: "Store"))),
        ]
        #expect(try self.commands(lost).isEmpty)
    }

    @Test func `a lost change is not repeated where the ledger has decided about the same thing since`() throws {
        let engaged = self.entry(.fleet, .fleet(.killSwitchEngaged(expiresAt: self.end)))
        let released = self.entry(.fleet, .fleet(.killSwitchReleased), 51)
        let suspended = self.entry(.access, .access(.principalSuspended(id: "prn_1")), 52)
        let reinstated = self.entry(.access, .access(.principalReinstated(id: "prn_1")), 53)
        func repeated(_ history: [(Entry, isLost: Bool)]) throws -> [Command] {
            LostChanges(
                in: history.map { LostChanges.HistoryEvent($0.0, isLost: $0.isLost) }, documents: [],
                leaving: try self.state(), at: noon
            ).repetitions.map(\.command)
        }
        #expect(
            try repeated([(engaged, true), (suspended, true), (reinstated, false)]) == [
                .fleet(.engageKillSwitch(expiresAt: self.end))
            ])
        #expect(try repeated([(engaged, true), (suspended, true), (released, false), (reinstated, false)]).isEmpty)
        // What was lost after that is repeated.
        #expect(
            try repeated([(suspended, true), (released, false), (engaged, true)]) == [
                .access(.suspendPrincipal(id: "prn_1")), .fleet(.engageKillSwitch(expiresAt: self.end)),
            ])
    }

    @Test func `a switch whose shortening was lost is named, and not shortened`() throws {
        var state = try self.state()
        let engage = Command.fleet(.engageKillSwitch(expiresAt: self.end.adding(seconds: 1)))
        state.take(try state.decide(engage, in: context("why")).after)
        // Also where it would be over by now.
        for end in [self.end, noon.adding(seconds: -60)] {
            let lost = [self.entry(.fleet, .fleet(.killSwitchEngaged(expiresAt: end)))]
            let changes = LostChanges(of: lost, in: state, at: noon)
            #expect(changes.repetitions.isEmpty && changes.revivals == lost.map { .event($0) })
        }
    }

    @Test func `a switch that is in force again because its end was lost is named, and not ended`() throws {
        var state = try self.state()
        for command in [
            Command.fleet(.engageKillSwitch(expiresAt: self.end)),
            .app(shop, [.engageKillSwitch(api, expiresAt: self.end)]),
        ] { state.take(try state.decide(command, in: context("why")).after) }
        let lost = [
            self.entry(.fleet, .fleet(.killSwitchReleased)), self.entry(.app(shop), .app(.killSwitchReleased(api))),
            // The key that took over from it is lost too.
            self.entry(.keys, .keys(.signingKeyRetired(kid: "b"))),
        ]
        let changes = LostChanges(of: lost, in: state, at: noon)
        #expect(changes.revivals == lost.map { .event($0) } && changes.repetitions.isEmpty)
        #expect(LostChanges(of: lost, in: try self.state(), at: noon).revivals == [.event(lost[2])])
    }
}
