import PinWire
import Pinning
import Testing

/// Archiving apps that are no longer used.
@Suite struct ArchiveTests {
    private typealias Ledger = ReversalTests.Ledger
    private static let hour = noon.adding(seconds: 3600)
    private static let terms = RolloutPlan.Terms(
        steps: [.init(100, .init(seconds: 3600)), .init(10_000, .init())], bake: 0, ending: .stay)

    /// A shop with everything that clients can get.
    private func ledger() throws -> Ledger {
        try Ledger([
            .create(displayName: "Shop"),
            .addHost(
                api, includesSubdomains: true, mode: .enforce,
                pins: [new(1, .primary), new(2, .backup), new(3, .backup)]),
            .addHost(host("*.cdn.example.com"), includesSubdomains: false, mode: nil, pins: []),
            .startCandidate(api, mode: .reportOnly, copiesBaseline: true, pins: [new(4, .backup)]),
            .setRollout(Rollout(basisPoints: 100)), .rollout(nil, .setPlan(Self.terms)),
            .setVersionGate(VersionGate(minimum: nil, maximum: nil)),
            .setPinsValidUntil(Self.hour),
            .engageKillSwitch(nil, expiresAt: Self.hour), .engageKillSwitch(api, expiresAt: Self.hour),
            .startRotation(
                .init(
                    id: "r", kind: .planned, hosts: [api], next: new(5, .backup), goals: Rotation.Goals(minimumWait: 0))
            ),
            .revokePin(api, .baseline, pin(3)),
        ])
    }

    @Test func `an archived app gives clients nothing but a signed statement of it`() throws {
        var ledger = try self.ledger()
        let before = try #require(ledger.state.documentVersion(of: shop))
        try ledger.record(.archive, at: Self.hour)
        let document = try #require(ledger.state.document(of: shop))
        #expect(document.archivedAt == Self.hour)
        #expect(document.hosts.isEmpty && document.killSwitches.isEmpty)
        #expect(document.rollout == nil && document.versionGate == nil && document.pinsValidUntil == nil)
        #expect(document.version > before)
        let app = try #require(ledger.state.apps[shop])
        #expect(app.rotations.isEmpty && app.plan == nil)
        #expect(app.revokedPins == [pin(3)])
        #expect(ledger.state.attention(of: shop, in: context(at: Self.hour)).items.allSatisfy { $0.app == nil })
    }

    @Test func `each host of an archived app is removed by an event of its own`() throws {
        var ledger = try self.ledger()
        try ledger.record(.archive)
        let events = try #require(ledger.changes.last?.events)
        #expect(
            events.prefix(4) == [
                .rotationAborted("r"), .rolloutPlanCleared(nil), .hostRemoved(host("*.cdn.example.com")),
                .hostRemoved(api),
            ])
        #expect(events.last == .appArchived)
    }

    @Test func `an archived app takes no change until it is unarchived`() throws {
        var ledger = try self.ledger()
        try ledger.record(.archive)
        let refused: [AppCommand] = [
            .rename("B"), .addHost(api, includesSubdomains: false, mode: .off, pins: []),
            .engageKillSwitch(nil, expiresAt: Self.hour), .setClient(.wultra, ClientSettings()),
        ]
        for command in refused {
            #expect(throws: Refusal.appArchived(shop)) { try ledger.record(command) }
        }
        #expect(throws: Refusal.appExists(shop)) { try ledger.record(.create(displayName: "Shop")) }
        let count = ledger.changes.count
        try ledger.record(.archive)
        #expect(ledger.changes.count == count, "archiving twice records nothing")
        try ledger.record(.unarchive, .rename("B"))
        let app = try #require(ledger.state.apps[shop])
        #expect(app.archivedAt == nil && app.displayName == "B" && app.hosts.isEmpty)
        #expect(ledger.state.document(of: shop)?.archivedAt == nil)
        #expect(throws: Refusal.notRevertible(.unarchives)) { try ledger.revert() }
    }

    @Test func `a pin that was revoked before stays revoked in an app that is used again`() throws {
        var ledger = try self.ledger()
        try ledger.record(.archive)
        try ledger.record(.unarchive)
        #expect(throws: Refusal.pinRevoked(pin(3))) {
            try ledger.record(
                .addHost(api, includesSubdomains: false, mode: .enforce, pins: [new(3), new(6, .backup)]))
        }
    }

    @Test func `reverting an archiving brings the hosts back as they were`() throws {
        let key = KeyFacts(
            pin: pin(1), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
            rawKeySHA256: sha256([3]))
        var ledger = try Ledger([
            .create(displayName: "Shop"),
            .addHost(api, includesSubdomains: true, mode: .enforce, pins: [new(1, .primary), new(2, .backup)]),
            .describeKeys([.request(key, subject: "CN=api", dnsNames: ["api.example.com"])]),
            .startCandidate(api, mode: .reportOnly, copiesBaseline: true, pins: [new(4, .backup)]),
            .setHostRollout(api, Rollout(basisPoints: 500)), .engageKillSwitch(nil, expiresAt: Self.hour),
        ])
        let before = ledger.settings
        try ledger.record(.archive)
        try ledger.revert()
        #expect(ledger.settings == before)
    }

    @Test func `reverting an archiving says what it does not bring back`() throws {
        var ledger = try self.ledger()
        try ledger.record(.archive)
        let change = try #require(ledger.changes.last)
        let reversal = try Reversal(of: change, in: try #require(ledger.state.apps[shop]), at: noon)
        #expect(
            reversal.kept == [
                .init(part: .plan(nil), cause: .planEnded), .init(part: .rotation("r"), cause: .rotationEnded),
            ] + [.init(part: .pin(api, .candidate, pin(3)), cause: .revoked)])
        try ledger.revert()
        let host = try #require(ledger.state.apps[shop]?.hosts[api])
        #expect(host.candidate?.pins[pin(3)] == nil, "it was revoked in the other policy")
        #expect(host.candidate?.activePins.isEmpty == false)
    }

    @Test func `an archived app uses no pins that are built into it`() throws {
        var ledger = try Ledger([
            .create(displayName: "Shop"), .addHost(api, includesSubdomains: false, mode: .off, pins: []),
            .setFallback(Fallback(usesBuiltinPins: true, hosts: [api])),
        ])
        let before = ledger.settings
        try ledger.record(.archive)
        let document = try #require(ledger.state.document(of: shop))
        #expect(document.fallback == Fallback(usesBuiltinPins: false))
        try ledger.revert()
        #expect(ledger.settings == before)
    }

    @Test func `installs that refuse servers without pins hold an archiving up`() throws {
        var state = LedgerState()
        let made: [AppCommand] = [.create(displayName: "Shop"), .setClient(.wultra, ClientSettings())]
        state.take(try state.decide(.app(shop, made), in: context()).after)
        #expect(throws: Refusal.self) { try state.decide(.app(shop, [.archive]), in: context("unused")) }
        let decision = try state.decide(.app(shop, [.archive]), in: context("unused", isForced: true))
        #expect(decision.events.contains(.app(.appArchived)))
    }

    @Test func `archiving takes a reason`() throws {
        var state = LedgerState()
        let created = try state.decide(.app(shop, [.create(displayName: "Shop")]), in: context())
        for event in created.events { _ = state.apply(event, of: .app(shop), at: noon) }
        #expect(throws: Refusal.self) { try state.decide(.app(shop, [.archive]), in: context()) }
        #expect(try state.decide(.app(shop, [.archive]), in: context("unused")).events.count == 1)
    }
}
