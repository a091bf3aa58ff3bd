import PinWire
import Pinning
import SeededRandom
import Testing

@Suite struct `Evolving` {
    private static let later = noon.adding(seconds: 60)

    /// A host with a baseline of the pins 1 and 2 (staged: 3) and a candidate of the pins 4 and 5.
    private func app() throws -> App {
        try #require(
            try given([
                .addHost(
                    api, includesSubdomains: false, mode: .enforce,
                    pins: [new(1), new(2, .backup), new(3, isActive: false)]),
                .startCandidate(api, mode: .enforce, copiesBaseline: false, pins: [new(4), new(5, .backup)]),
                .setHostRollout(api, Rollout(basisPoints: 1)), .engageKillSwitch(api, expiresAt: Self.later),
                .engageKillSwitch(nil, expiresAt: Self.later),
            ])
        )
    }

    /// A policy whose pins other devices get from ``later`` on.
    private static func published(_ policy: Policy, by version: Int64) -> Policy {
        var policy = policy
        for pin in policy.activePins.map(\.pin) {
            policy.pins[pin]?.since = Self.later
            policy.pins[pin]?.publishedBy = version
        }
        return policy
    }

    @Test func `evolving takes in every event as its fields say, and nothing else`() throws {
        let rollout = Rollout(basisPoints: 77)
        let end = Self.later.adding(seconds: 5)
        let key = KeyFacts(
            pin: pin(1), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
            rawKeySHA256: sha256([3]))
        let known = KeyKnowledge(.publicKey(key))
        let rotation = Rotation(
            id: "r", kind: .planned, hosts: [api], next: pin(9), isNextNew: true, old: [pin(1)],
            goals: Rotation.Goals(), startedAt: noon)
        let changes: [(event: AppEvent, change: (inout App) -> Void)] = [
            (.appCreated(displayName: "X"), { _ in }), (.appRenamed(displayName: "X"), { $0.displayName = "X" }),
            (.versionGateSet(VersionGate(minimumBuild: 3)), { $0.versionGate = VersionGate(minimumBuild: 3) }),
            (
                .appRolloutSet(rollout),
                {
                    $0.rollout = rollout
                    $0.rolloutRevision = $0.version
                }
            ),
            (.fallbackSet(Fallback(usesBuiltinPins: false)), { $0.fallback = Fallback(usesBuiltinPins: false) }),
            (.monitoringSet(Monitoring(isEnabled: true)), { $0.monitoring = Monitoring(isEnabled: true) }),
            (.pinsValidUntilSet(end), { $0.pinsValidUntil = end }),
            (
                .hostAdded(cdn, includesSubdomains: true, mode: .off),
                { $0.hosts[cdn] = Host(includesSubdomains: true, baseline: .policy(Policy(mode: .off))) }
            ),
            (
                .hostAdded(cdn, includesSubdomains: false, mode: nil),
                { $0.hosts[cdn] = Host(includesSubdomains: false, baseline: .builtin) }
            ),
            (.hostSubdomainsSet(api, includesSubdomains: true), { $0.hosts[api]?.includesSubdomains = true }),
            (
                .hostRemoved(api),
                {
                    $0.hosts = [:]
                    $0.riskyChanges = [Self.later]
                }
            ),
            (
                .modeSet(api, .baseline, .off),
                {
                    let pins = $0.hosts[api]?[.baseline]?.activePins.map(\.pin) ?? []
                    $0.hosts[api]?[.baseline]?.mode = .off
                    $0.hosts[api]?[.baseline]?.lastEnforced = pins
                    $0.riskyChanges = [Self.later]
                }
            ),
            (
                .modeSet(api, .candidate, .off),
                {
                    let pins = $0.hosts[api]?.candidate?.activePins.map(\.pin) ?? []
                    $0.hosts[api]?.candidate?.mode = .off
                    $0.hosts[api]?.candidate?.lastEnforced = pins
                    $0.riskyChanges = [Self.later]
                }
            ),
            (.candidateStarted(api, mode: .off), { $0.hosts[api]?.candidate = Policy(mode: .off) }),
            (
                .candidatePromoted(api),
                {
                    // Devices of the baseline get its pins only now.
                    if let candidate = $0.hosts[api]?.candidate {
                        $0.hosts[api]?.baseline = .policy(Self.published(candidate, by: $0.version))
                    }
                    $0.hosts[api]?.candidate = nil
                    $0.hosts[api]?.rollout = nil
                    $0.riskyChanges = [Self.later]
                }
            ),
            (
                .candidateDropped(api),
                {
                    // And so do devices of the candidate.
                    if let baseline = $0.hosts[api]?[.baseline] {
                        $0.hosts[api]?.baseline = .policy(Self.published(baseline, by: $0.version))
                    }
                    $0.hosts[api]?.candidate = nil
                    $0.hosts[api]?.rollout = nil
                }
            ),
            (
                .hostRolloutSet(api, rollout),
                {
                    $0.hosts[api]?.rollout = rollout
                    $0.hosts[api]?.rolloutRevision = $0.version
                }
            ),
            (
                .pinStaged(api, .baseline, pin(9), .emergency, note: "n"),
                {
                    $0.hosts[api]?[.baseline]?.pins[pin(9)] = PinRecord(
                        role: .emergency, state: .staged, note: "n", since: Self.later
                    )
                }
            ),
            (
                .pinActivated(api, .baseline, pin(3)),
                {
                    $0.hosts[api]?[.baseline]?.pins[pin(3)] = PinRecord(
                        role: .primary, state: .active, note: nil, since: Self.later, publishedBy: $0.version
                    )
                }
            ),
            (
                .pinRoleSet(api, .candidate, pin(4), .backup),
                { $0.hosts[api]?.candidate?.pins[pin(4)]?.role = .backup }
            ),
            (
                .pinRetired(api, .candidate, pin(4)),
                {
                    $0.hosts[api]?.candidate?.pins[pin(4)]?.state = .retired
                    $0.hosts[api]?.candidate?.pins[pin(4)]?.since = Self.later
                    $0.riskyChanges = [Self.later]
                }
            ),
            (
                .pinRevoked(api, .baseline, pin(2)),
                {
                    $0.hosts[api]?[.baseline]?.pins[pin(2)]?.state = .revoked
                    $0.hosts[api]?[.baseline]?.pins[pin(2)]?.since = Self.later
                    $0.riskyChanges = [Self.later]
                    $0.revokedPins = [pin(2)]
                }
            ),
            (
                .killSwitchEngaged(nil, expiresAt: end),
                { $0.killSwitch = KillSwitch(engagedAt: Self.later, expiresAt: end) }
            ),
            (
                .killSwitchEngaged(api, expiresAt: end),
                { $0.hosts[api]?.killSwitch = KillSwitch(engagedAt: Self.later, expiresAt: end) }
            ),
            (
                .killSwitchReleased(nil),
                {
                    $0.killSwitch = nil
                    $0.switchEndedAt = Self.later
                }
            ),
            (
                .killSwitchReleased(api),
                {
                    $0.hosts[api]?.killSwitch = nil
                    $0.hosts[api]?.switchEndedAt = Self.later
                }
            ),
            (
                .endpointsSet(api, endpoints("api.example.com:8443")),
                { $0.hosts[api]?.endpoints = endpoints("api.example.com:8443") }
            ),
            (.keyDescribed(.publicKey(key)), { $0.keys[key.pin] = known }),
            (.guardRailSet(.unprovenPin, isLowered: true), { $0.loweredRails = [.unprovenPin] }),
            (.guardRailsOverridden([]), { _ in }),
            (.changeReverted(7), { _ in }),
            (
                .appArchived,
                {
                    $0.archivedAt = Self.later
                    $0.rotations = []
                    $0.plan = nil
                    $0.rolledBackAt = nil
                }
            ),
            (.appUnarchived, { _ in }),
            (.rotationStarted(rotation), { $0.rotations = [rotation] }),
            (.rotationAdvanced("r", .switch), { _ in }),
            (.rotationAborted("r"), { _ in }),
            (
                .rolloutPlanSet(nil, RolloutPlanTests.terms),
                { $0.plan = RolloutPlan(RolloutPlanTests.terms, setAt: Self.later) }
            ),
            (.rolloutPlanCleared(nil), { _ in }),
            (.rolloutStepTaken(nil, step: 1, basisPoints: 5), { $0.rollout = Rollout(basisPoints: 5) }),
            (.rolloutStepApproved(nil, step: 1), { _ in }),
            (.rolloutStepExtended(nil, step: 1), { _ in }),
            (.rolloutSampleReached(nil, step: 1, installs: 5), { _ in }),
            (.rolloutBakeStarted(nil), { _ in }),
            (.rolloutPlanFinished(nil), { _ in }),
            (.rolloutPaused(nil, .requested, detail: nil), { _ in }),
            (.rolloutResumed(nil), { _ in }),
            (
                .rolloutRolledBack(nil, .requested, detail: nil),
                {
                    $0.rollout = Rollout(basisPoints: 0)
                    $0.rolledBackAt = Self.later
                }
            ),
        ]
        #expect(Set(changes.map { Event.app($0.event).type }).count == 43)
        for (event, change) in changes {
            var (evolved, expected) = (try self.app(), try self.app())
            evolved.evolve(event, at: Self.later)
            expected.version += 1
            expected.updatedAt = Self.later
            change(&expected)
            #expect(evolved == expected, "\(event)")
        }
    }

    @Test func `evolving changes nothing but the count where an event names something that is not there`() throws {
        let before = try self.app()
        let elsewhere = host("nowhere.example")
        let events: [AppEvent] = [
            .hostSubdomainsSet(elsewhere, includesSubdomains: true), .hostRemoved(elsewhere),
            .modeSet(elsewhere, .baseline, .off), .candidateStarted(elsewhere, mode: .off),
            .candidatePromoted(elsewhere), .candidateDropped(elsewhere), .hostRolloutSet(elsewhere, nil),
            .pinStaged(elsewhere, .candidate, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(99)),
            .pinActivated(elsewhere, .baseline, pin(1)), .pinRoleSet(api, .candidate, pin(99), .backup),
            .pinRetired(api, .baseline, pin(99)), .killSwitchEngaged(elsewhere, expiresAt: Self.later),
            .killSwitchReleased(elsewhere),
        ]
        for event in events {
            var after = before
            after.evolve(event, at: noon)
            #expect(after.version == before.version + 1)
            after.version = before.version
            #expect(after == before, "\(event)")
        }
    }

    @Test func `evolving begins with the creation of an app and with nothing else`() {
        let app = App(first: .appCreated(displayName: "Shop"), id: shop, at: noon)
        #expect(app?.version == 1 && app?.createdAt == noon && app?.updatedAt == noon && app?.displayName == "Shop")
        #expect(App(first: .appRenamed(displayName: "Shop"), id: shop, at: noon) == nil)
        var state = LedgerState()
        let isTaken = state.apply(.app(.appRenamed(displayName: "x")), of: .app(shop), at: noon)
        #expect(!isTaken && state.apps.isEmpty)
    }

    @Test(arguments: TestDepth.seeds(20))
    func `evolving takes in any events in any order`(seed: UInt64) throws {
        var random = RandomLedger(seed: seed)
        var state = LedgerState()
        for _ in 0..<5000 {
            let (event, stream) = (random.event(), random.stream())
            let before = state.version(of: stream)
            let isTaken = state.apply(event, of: stream, at: random.now)
            #expect(state.version(of: stream) == before + (isTaken ? 1 : 0))
        }
        #expect(state.apps.count == 2 && state.version(of: .keys) > 0 && state.version(of: .access) > 0)
    }

    @Test func `evolving refuses an event in a stream of another kind`() {
        let events: [(Event, StreamID)] = [
            (.app(.appRenamed(displayName: "x")), .app(shop)), (.fleet(.killSwitchReleased), .fleet),
            (.keys(.signingKeyRetired(kid: "k")), .keys), (.access(.tokenRevoked(id: "t")), .access),
        ]
        for (event, home) in events {
            for (_, stream) in events {
                var state = LedgerState()
                _ = state.apply(.app(.appCreated(displayName: "Shop")), of: .app(shop), at: noon)
                let isTaken = state.apply(event, of: stream, at: noon)
                #expect(isTaken == (stream == home))
            }
        }
    }

    @Test(arguments: TestDepth.seeds(20))
    func `decided events keep the rules, whatever is commanded`(seed: UInt64) throws {
        var random = RandomLedger(seed: 100 + seed)
        var state = LedgerState()
        var (accepted, refused) = (0, 0)
        for _ in 0..<1500 {
            let command = random.command()
            random.now = random.now.adding(seconds: 3600)
            let context = context(
                random.generator.once(in: 4) ? nil : "w", isForced: random.generator.once(in: 2), at: random.now)
            guard let events = try? state.decide(command, in: context).events else {
                refused += 1
                continue
            }
            accepted += 1
            let before = state.version(of: command.stream)
            for event in events {
                if case .app(.pinActivated(_, _, let pin)) = event, let app = command.stream.app {
                    #expect(state.apps[app]?.revokedPins.contains(pin) != true)
                }
                // Recorded events must be readable again.
                #expect(try Event(type: event.type, schema: event.schema, data: event.data) == event)
                let isTaken = state.apply(event, of: command.stream, at: random.now)
                #expect(isTaken)
            }
            #expect(state.version(of: command.stream) == before + Int64(events.count))
            for host in state.apps.values.flatMap(\.hosts.values) {
                for policy in PolicySlot.allCases.compactMap({ host[$0] }) {
                    #expect(policy.mode != .enforce || policy.activePins.count >= 2)
                    #expect(policy.pins.count <= App.pinLimit)
                }
                #expect(host.rollout == nil || host.candidate != nil)
            }
            #expect(state.keys.keys.values.count { $0.state == .active } == (state.keys.keys.isEmpty ? 0 : 1))
        }
        #expect(accepted > 200 && refused > 200)
    }
}
