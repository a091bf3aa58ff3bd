import PinWire
import Pinning
import SeededRandom
import Testing

/// Reverting recorded changes.
@Suite struct ReversalTests {
    /// A shop whose every change is remembered.
    struct Ledger {
        var state = LedgerState()
        var changes: [PastChange] = []
        var position: Int64 = 0

        init(_ commands: [AppCommand] = []) throws {
            for command in commands { try self.record(command) }
        }

        mutating func record(_ commands: AppCommand..., at now: Timestamp = noon) throws {
            try self.record(commands, at: now)
        }

        mutating func record(_ commands: [AppCommand], at now: Timestamp = noon) throws {
            let before = self.state.apps[shop]
            var context = context("why", isForced: true, at: now)
            context.rails = []
            let decision = try self.state.decide(.app(shop, commands), in: context)
            for event in decision.events { _ = self.state.apply(event, of: .app(shop), at: now) }
            let events = decision.events.compactMap { if case .app(let event) = $0 { event } else { nil } }
            let after = try #require(self.state.apps[shop])
            if !events.isEmpty {
                self.changes.append(PastChange(position: self.position, events: events, before: before, after: after))
            }
            self.position += Int64(events.count)
        }

        /// Puts the last change back, or an earlier one.
        mutating func revert(_ number: Int = 1, at now: Timestamp = noon) throws {
            try self.record(.revert(self.changes[self.changes.count - number]), at: now)
        }

        /// What operators set, without times, notes, what only grows, and the order of kill switches.
        var settings: JSON { self.state.apps[shop].map { Self.settings($0.json) } ?? .null }

        private static func settings(_ json: JSON) -> JSON {
            switch json {
            case .object(let members):
                let growing: Set = [
                    "version", "updated_at", "since", "rollout_revision", "rollout_plan", "engaged_at", "note",
                    "rotations",
                ]
                var settings = members.filter { !growing.contains($0.key) }.mapValues(Self.settings)
                if settings["rolled_back_at"] != nil { settings["rolled_back_at"] = true }
                return .object(settings)
            case .array(let elements):
                // A revoked pin stays in the app's list of them.
                let present = elements.filter { $0["state"] != "retired" && $0["state"] != "revoked" }
                return .array(present.map(Self.settings).sorted { $0.canonicalText < $1.canonicalText })
            default: return json
            }
        }
    }

    static let created = AppCommand.create(displayName: "Shop")
    static let added = AppCommand.addHost(
        api, includesSubdomains: true, mode: .enforce,
        pins: [new(1), new(2, .backup), new(8, .backup), new(3, .backup, isActive: false)])
    static let hour = noon.adding(seconds: 3600)
    static let half = Rollout(basisPoints: 5000)
    static let candidate = AppCommand.startCandidate(
        api, mode: .reportOnly, copiesBaseline: false, pins: [new(4), new(5, .backup)])

    static let revertible: [(String, [AppCommand], [AppCommand])] = [
        ("a name", [created], [.rename("Store")]),
        ("a version gate", [created], [.setVersionGate(VersionGate(minimum: version("2.0")))]),
        ("an app's rollout", [created, .setRollout(half)], [.setRollout(nil)]),
        ("several settings", [created], [.setFallback(Fallback(usesBuiltinPins: false)), .setPinsValidUntil(hour)]),
        ("an added host", [created], [added]),
        ("a removed host", [created, added, candidate, .setHostRollout(api, half)], [.removeHost(api)]),
        (
            "a removed host with its switch", [created, added, .engageKillSwitch(api, expiresAt: hour)],
            [.removeHost(api)]
        ),
        (
            "a removed host with built-in pins",
            [created, .addHost(api, includesSubdomains: false, mode: nil, pins: []), candidate], [.removeHost(api)]
        ),
        ("a weaker mode", [created, added], [.setMode(api, .baseline, .off)]),
        ("an added pin", [created, added], [.addPin(api, .baseline, new(6, .emergency))]),
        ("a pin that was only recorded", [created, added], [.addPin(api, .baseline, new(6, isActive: false))]),
        ("a retired pin", [created, added], [.retirePin(api, .baseline, pin(1))]),
        ("a published pin", [created, added], [.activatePin(api, .baseline, pin(3))]),
        ("a role", [created, added], [.setPinRole(api, .baseline, pin(2), .emergency)]),
        ("a started candidate", [created, added], [candidate, .setHostRollout(api, half)]),
        ("a dropped candidate", [created, added, candidate, .setHostRollout(api, half)], [.dropCandidate(api)]),
        ("a promotion", [created, added, candidate, .setHostRollout(api, half)], [.promoteCandidate(api)]),
        ("a candidate's pins", [created, added, candidate], [.addPin(api, .candidate, new(7))]),
        ("a host's rollout", [created, added, candidate, .setHostRollout(api, half)], [.setHostRollout(api, nil)]),
        ("an engaged kill switch", [created], [.engageKillSwitch(nil, expiresAt: hour)]),
        ("a released kill switch", [created, .engageKillSwitch(nil, expiresAt: hour)], [.releaseKillSwitch(nil)]),
        (
            "a longer kill switch", [created, .engageKillSwitch(nil, expiresAt: hour)],
            [.engageKillSwitch(nil, expiresAt: hour.adding(seconds: 60))]
        ),
        ("a kill switch for versions", [created], [.engageVersionKillSwitch(range("1.0", "2.0"), expiresAt: hour)]),
        (
            "its release", [created, .engageVersionKillSwitch(range("1.0", "2.0"), expiresAt: hour)],
            [.releaseVersionKillSwitch(range("1.0", "2.0"))]
        ),
        ("a lowered guard rail", [created], [.setGuardRail(.unprovenPin, isLowered: true)]),
        ("endpoints", [created, added], [.setEndpoints(api, endpoints("api.example.com:8443"))]),
        (
            "subdomains and a pin", [created, added],
            [.setSubdomains(api, includesSubdomains: false), .addPin(api, .baseline, new(6))]
        ),
    ]

    @Test(arguments: revertible)
    func `a recorded change can be reverted, and its reversal too`(
        _ what: String, _ given: [AppCommand], _ change: [AppCommand]
    ) throws {
        var ledger = try Ledger(given)
        let before = ledger.settings
        try ledger.record(change)
        let after = ledger.settings
        #expect(after != before)
        let changed = try #require(ledger.changes.last)
        try ledger.revert()
        #expect(ledger.settings == before)
        // The record says which change it was.
        #expect(ledger.changes.last?.events.last == .changeReverted(changed.position))
        try ledger.revert()
        #expect(ledger.settings == after)
    }

    static let refused: [(String, [AppCommand], [AppCommand], [AppCommand], Refusal)] = [
        ("the creation of the app", [], [created], [], .notRevertible(.createsApp)),
        ("a change of the same setting", [created], [.rename("B")], [.rename("C")], .changedSince([.displayName])),
        (
            "a change of the added host", [created], [added], [.setMode(api, .baseline, .off)],
            .changedSince([.host(api)])
        ),
        (
            "a change of the same pin", [created, added], [.addPin(api, .baseline, new(6))],
            [.setPinRole(api, .baseline, pin(6), .backup)], .changedSince([.pin(api, .baseline, pin(6))])
        ),
        (
            "a host that is there again", [created, added], [.removeHost(api)],
            [.addHost(api, includesSubdomains: false, mode: .off, pins: [])], .changedSince([.host(api)])
        ),
        (
            "a candidate that is gone", [created, added, candidate], [.setMode(api, .candidate, .enforce)],
            [.dropCandidate(api)], .changedSince([.candidate(api)])
        ),
        (
            "a rollback since", [created, added, candidate, .setHostRollout(api, half)],
            [.setHostRollout(api, Rollout(basisPoints: 0))], [.rollout(api, .rollBack(.requested, detail: nil))],
            .changedSince([.rollout(api)])
        ),
        (
            "an app's rollback since", [created, .setRollout(half)], [.setRollout(Rollout(basisPoints: 0))],
            [.rollout(nil, .rollBack(.requested, detail: nil))], .changedSince([.rollout(nil)])
        ),
        (
            "a plan since", [created, added], [candidate, .setHostRollout(api, Rollout(basisPoints: 0))],
            [.rollout(api, .setPlan(RolloutPlanTests.terms))], .changedSince([.candidate(api)])
        ),
        (
            "a revocation", [created, added], [.revokePin(api, .baseline, pin(3))], [],
            .notRevertible(.nothingLeft(.init(part: .pin(api, .baseline, pin(3)), cause: .revoked)))
        ),
        (
            "a pin that was revoked since", [created, added], [.retirePin(api, .baseline, pin(3))],
            [.addPin(api, .baseline, new(3, .backup)), .revokePin(api, .baseline, pin(3))],
            .changedSince([.pin(api, .baseline, pin(3))])
        ),
        (
            "pins for a host that had built-in ones",
            [created, .addHost(api, includesSubdomains: false, mode: nil, pins: [])],
            [.setMode(api, .baseline, .off)], [], .notRevertible(.builtinBaseline(api))
        ),
        (
            "a step of a plan", [created, added, candidate, .setHostRollout(api, Rollout(basisPoints: 0))],
            [.rollout(api, .setPlan(RolloutPlanTests.terms))], [], .notRevertible(.plan(api))
        ),
        (
            "facts about a key", [created, added], [.describeKeys([evidence])], [], .notRevertible(.noSettings)
        ),
    ]

    private static let evidence = KeyEvidence.publicKey(
        KeyFacts(
            pin: pin(1), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
            rawKeySHA256: sha256([3])))

    @Test(arguments: refused)
    func `a change is not reverted where that is impossible or would undo later ones`(
        _ what: String, _ given: [AppCommand], _ change: [AppCommand], _ since: [AppCommand], _ refusal: Refusal
    ) throws {
        var ledger = try Ledger(given)
        try ledger.record(change)
        for command in since { try ledger.record(command) }
        let before = ledger.state.json
        #expect(throws: refusal) { try ledger.revert(1 + since.count) }
        #expect(ledger.state.json == before)
    }

    @Test(
        arguments: [
            (
                "a new rollout after a rollback",
                [
                    Self.created, Self.added, Self.candidate, .setHostRollout(api, Self.half),
                    .rollout(api, .rollBack(.requested, detail: nil)),
                ],
                [.setHostRollout(api, Self.half)]
            ),
            (
                "a dropped candidate that was rolled back",
                [
                    Self.created, Self.added, Self.candidate, .setHostRollout(api, Self.half),
                    .rollout(api, .rollBack(.requested, detail: nil)),
                ],
                [.dropCandidate(api)]
            ),
        ] as [(String, [AppCommand], [AppCommand])])
    func `a reversal brings a rollback back`(_ what: String, _ given: [AppCommand], _ change: [AppCommand]) throws {
        var ledger = try Ledger(given)
        let before = ledger.settings
        try ledger.record(change)
        try ledger.revert()
        #expect(ledger.settings == before)
        #expect(ledger.state.apps[shop]?.hosts[api]?.rolledBackAt != nil)
    }

    @Test func `a reversal leaves what later changes set elsewhere`() throws {
        var ledger = try Ledger([Self.created, Self.added])
        try ledger.record(.addPin(api, .baseline, new(6)), .rename("Store"))
        try ledger.record(.addPin(api, .baseline, new(7)), .setMode(api, .baseline, .off))
        try ledger.revert(2)
        let app = try #require(ledger.state.apps[shop])
        #expect(app.displayName == "Shop")
        #expect(app.hosts[api]?[.baseline]?.mode == .off)
        #expect(app.hosts[api]?[.baseline]?.pins[pin(6)]?.state == .retired)
        #expect(app.hosts[api]?[.baseline]?.pins[pin(7)]?.state == .active)
    }

    @Test func `a change is reverted by nothing where all is as before again`() throws {
        var ledger = try Ledger([Self.created])
        try ledger.record(.rename("Store"))
        try ledger.record(.rename("Shop"))
        let before = ledger.state.json
        try ledger.revert(2)
        #expect(ledger.state.json == before)
    }

    @Test func `a reversal engages no kill switch that would be over by now`() throws {
        var ledger = try Ledger([Self.created, Self.added, .engageKillSwitch(api, expiresAt: Self.hour)])
        try ledger.record(.removeHost(api))
        let change = try #require(ledger.changes.last)
        let now = Self.hour.adding(seconds: 1)
        let present = try #require(ledger.state.apps[shop])
        let reversal = try Reversal(of: change, in: present, at: now)
        #expect(reversal.kept == [.init(part: .killSwitch(api), cause: .expired)])
        try ledger.revert(at: now)
        let host = try #require(ledger.state.apps[shop]?.hosts[api])
        #expect(host.killSwitch == nil)
        #expect(host[.baseline]?.activePins.count == 3)
    }

    @Test func `a change is reverted only if the result is safe`() throws {
        var ledger = try Ledger([Self.created, Self.added])
        try ledger.record(.addPin(api, .baseline, new(6, .backup)))
        try ledger.record(.retirePin(api, .baseline, pin(2)), .retirePin(api, .baseline, pin(8)))
        #expect(throws: Refusal.tooFewPins(api, .baseline, active: 1)) { try ledger.revert(2) }
    }

    @Test(arguments: TestDepth.seeds(40))
    func `a change that is reverted at once leaves the earlier settings`(_ seed: UInt64) throws {
        var random = RandomLedger(seed: 9000 + seed)
        var ledger = try Ledger([Self.created, Self.added, Self.candidate])
        var count = 0
        for _ in 0..<120 {
            let commands = (0..<Int.random(in: 1...3, using: &random.generator)).map { _ in random.appCommand() }
            let known = ledger.changes.count
            let before = ledger.settings
            do { try ledger.record(commands, at: random.now) } catch { continue }
            guard ledger.changes.count > known, let change = ledger.changes.last else { continue }
            let after = try #require(ledger.state.apps[shop])
            var reverted = ledger
            do {
                let reversal = try Reversal(of: change, in: after, at: random.now)
                #expect(reversal.conflicts.isEmpty)
                guard reversal.kept.isEmpty else { continue }
                try reverted.revert(at: random.now)
            } catch Refusal.notRevertible { continue } catch Refusal.rolloutPlanned { continue } catch Refusal
                .pinRevoked
            {
                continue
            }
            #expect(reverted.settings == before, "\(commands)")
            count += 1
        }
        #expect(count >= 5)
    }
}
