import PinWire
import Pinning
import SeededRandom
import Testing

@Suite struct `Prepared decisions` {
    private func apply(_ event: Event, of stream: StreamID, at time: Timestamp, to state: inout LedgerState) {
        let isTaken = state.apply(event, of: stream, at: time)
        #expect(isTaken)
    }

    /// What can be compared of a decision, or why there is none.
    private static func outcome(_ decide: () throws(Refusal) -> Decision) -> Result<Decision, Refusal> {
        Result { () throws(Refusal) in try decide() }
    }

    @Test(arguments: TestDepth.seeds(10))
    func `a prepared decision that is confirmed is the one that would be made, whatever was recorded since`(
        seed: UInt64
    ) throws {
        var random = RandomLedger(seed: 700 + seed)
        var state = LedgerState()
        var (confirmed, outdated) = (0, 0)
        for _ in 0..<600 {
            let prepared = random.command()
            let between = (0..<Int.random(in: 0...2, using: &random.generator)).map { _ in random.command() }
            let context = context("w", isForced: random.generator.once(in: 2), at: random.now)
            let decision = state.prepare(prepared, in: context)
            for command in between {
                guard let events = try? state.decide(command, in: context).events else { continue }
                for event in events { apply(event, of: command.stream, at: random.now, to: &state) }
            }
            let now = Self.outcome { () throws(Refusal) in try state.decide(prepared, in: context) }
            do throws(Refusal) {
                if let found = try state.confirm(decision, at: random.now) {
                    confirmed += 1
                    #expect(now == .success(found))
                } else {
                    outdated += 1
                }
            } catch {
                confirmed += 1
                #expect(now == .failure(error))
            }
            if case .success(let made) = now {
                for event in made.events { apply(event, of: prepared.stream, at: random.now, to: &state) }
            }
            random.now = random.now.adding(seconds: 60)
        }
        #expect(confirmed > 100 && outdated > 50)
    }

    @Test func `a prepared decision about one app holds while others change`() throws {
        let other = appID("com.example.other")
        var state = LedgerState()
        for app in [shop, other] {
            let events = try state.decide(.app(app, [.create(displayName: "A")]), in: context()).events
            for event in events { apply(event, of: .app(app), at: noon, to: &state) }
        }
        let prepared = state.prepare(.app(shop, [.rename("B")]), in: context())
        apply(.app(.appRenamed(displayName: "C")), of: .app(other), at: noon, to: &state)
        #expect(try state.confirm(prepared, at: noon)?.events == [.app(.appRenamed(displayName: "B"))])
        apply(.app(.appRenamed(displayName: "D")), of: .app(shop), at: noon, to: &state)
        #expect(try state.confirm(prepared, at: noon) == nil)
    }

    @Test func `a prepared decision is refused where another app has taken its Firebase parameter meanwhile`() throws {
        let till = appID("com.example.till")
        let settings = ClientSettings(parameter: "pins", firebaseProject: "shop-prod")
        var state = LedgerState()
        for app in [shop, till] {
            let events = try state.decide(.app(app, [.create(displayName: "A")]), in: context()).events
            for event in events { apply(event, of: .app(app), at: noon, to: &state) }
        }
        let prepared = state.prepare(.app(shop, [.setClient(.remoteConfig, settings)]), in: context())
        #expect(try state.confirm(prepared, at: noon) != nil)
        for event in try state.decide(.app(till, [.setClient(.remoteConfig, settings)]), in: context()).events {
            apply(event, of: .app(till), at: noon, to: &state)
        }
        #expect(throws: Refusal.firebaseParameterTaken(till, parameter: "pins", project: "shop-prod")) {
            try state.confirm(prepared, at: noon)
        }
    }

    @Test func `a prepared decision about the whole fleet holds only while no app changes`() throws {
        var state = LedgerState()
        let other = appID("com.example.other")
        for event in try state.decide(.app(shop, [.create(displayName: "A")]), in: context()).events {
            apply(event, of: .app(shop), at: noon, to: &state)
        }
        let engage = Command.fleet(.engageKillSwitch(expiresAt: noon.adding(seconds: 60)))
        let prepared = state.prepare(engage, in: context("w"))
        #expect(try state.confirm(prepared, at: noon) != nil)
        var renamed = state
        apply(.app(.appRenamed(displayName: "B")), of: .app(shop), at: noon, to: &renamed)
        #expect(try renamed.confirm(prepared, at: noon) == nil)
        for event in try state.decide(.app(other, [.create(displayName: "A")]), in: context()).events {
            apply(event, of: .app(other), at: noon, to: &state)
        }
        #expect(try state.confirm(prepared, at: noon) == nil)
    }

    @Test func `a refusal because of another app's Firebase parameter is not prepared for later`() throws {
        let till = appID("com.example.till")
        let settings = ClientSettings(parameter: "pins", firebaseProject: "shop-prod")
        var state = LedgerState()
        for app in [shop, till] {
            let events = try state.decide(.app(app, [.create(displayName: "A")]), in: context()).events
            for event in events { apply(event, of: .app(app), at: noon, to: &state) }
        }
        for event in try state.decide(.app(till, [.setClient(.remoteConfig, settings)]), in: context()).events {
            apply(event, of: .app(till), at: noon, to: &state)
        }
        let prepared = state.prepare(.app(shop, [.setClient(.remoteConfig, settings)]), in: context())
        #expect(try state.confirm(prepared, at: noon) == nil)
    }

    @Test func `a prepared decision leads to the state that its events lead to when they are recorded`() throws {
        let later = noon.adding(seconds: 5)
        var state = LedgerState()
        let create = state.prepare(.app(shop, [.create(displayName: "A")]), in: context())
        for event in try #require(try state.confirm(create, at: later)?.events) {
            apply(event, of: .app(shop), at: later, to: &state)
        }
        #expect(try state.confirm(create, at: later) == nil)
        let prepared = state.prepare(.app(shop, [.rename("B")]), in: context())
        let decision = try #require(try state.confirm(prepared, at: later))
        var led = state
        led.take(decision.after)
        for event in decision.events { apply(event, of: .app(shop), at: later, to: &state) }
        #expect(led.apps[shop] == state.apps[shop])
        #expect(led.apps[shop]?.updatedAt == later)
    }

    @Test(
        arguments: [
            (.app(shop, [.engageKillSwitch(nil, expiresAt: noon)]), true),
            (.app(shop, [.releaseKillSwitch(api)]), true),
            (.app(shop, [.revokePin(api, .baseline, pin(1))]), true),
            (.app(shop, [.rollout(api, .rollBack(.requested, detail: nil))]), true),
            (.fleet(.engageKillSwitch(expiresAt: noon)), true), (.fleet(.releaseKillSwitch), true),
            (.access(.revokeToken(id: "t")), true), (.access(.suspendPrincipal(id: "p")), true),
            (
                .change(
                    .bypass(
                        id: "chg_1",
                        ChangeDraft(commands: [.app(shop, [.engageKillSwitch(nil, expiresAt: noon)])], notBefore: nil))),
                true
            ),
            (.app(shop, Array(repeating: .releaseKillSwitch(nil), count: 8)), true),
            // So many hold up others.
            (.app(shop, Array(repeating: .releaseKillSwitch(nil), count: 9)), false),
            // Others' work could ride along with these.
            (.app(shop, [.engageKillSwitch(nil, expiresAt: noon), .rename("x")]), false), (.app(shop, []), false),
            (.app(shop, [.rename("x")]), false), (.fleet(.setIssuer("x")), false),
            (.change(.apply(id: "x", bypassesApprovals: false)), false),
            (.keys(.activate(kid: "k")), false),
        ] as [(Command, Bool)])
    func `switches, releases, rollbacks and revocations are urgent, and nothing else`(command: Command, isUrgent: Bool)
    {
        #expect(LedgerState().isUrgent(command) == isUrgent)
    }

    @Test func `applying a change is as urgent and as heavy as what it does`() throws {
        var world = try ChangeWorld()
        let kill = Command.app(shop, [.engageKillSwitch(nil, expiresAt: noon.adding(seconds: 3600))])
        try world.act(.create(id: "chg_kill", ChangeWorld.draft(kill), isDraft: false), as: .root)
        try world.act(.create(id: "chg_pin", ChangeWorld.draft(ChangeWorld.addition), isDraft: false), as: .ada)
        func apply(_ id: String) -> Command { .change(.apply(id: id, bypassesApprovals: false)) }
        #expect(world.state.isUrgent(apply("chg_kill")) && !world.state.isUrgent(apply("chg_pin")))
        #expect(world.state.weight(of: apply("chg_pin")) == world.state.weight(of: ChangeWorld.addition))
        #expect(world.state.weight(of: ChangeWorld.addition) == 2)
    }
}
