import PinWire
import Testing

@testable import Pinning

/// One line of the table: what an app is like, what is known of its server, and what needs attention.
struct AttentionCase: CustomTestStringConvertible, Sendable {
    typealias Item = (AttentionItem.Severity, AttentionItem.Kind)

    var testDescription: String
    var given: [AppCommand]
    var facts: ExternalFacts
    var now: Timestamp
    var items: [Item]

    init(
        _ description: String, given: [AppCommand], seeing facts: ExternalFacts, at now: Timestamp = noon,
        then items: [Item]
    ) {
        self.testDescription = description
        self.given = given
        self.facts = facts
        self.now = now
        self.items = items
    }
}

@Suite struct `Attention` {
    private static func added(
        mode: PinMode = .enforce, to end: Int64 = 200, backup: KeyEvidence? = .certificate(expiring(2, to: 300)),
        weaknesses: [String] = []
    ) -> AppCommand {
        .addHost(
            api, includesSubdomains: false, mode: mode,
            pins: [
                .init(
                    pin: pin(1), role: .primary,
                    evidence: .certificate(expiring(1, to: end, weaknesses: weaknesses))),
                .init(pin: pin(2), role: .backup, evidence: backup),
            ])
    }

    private static let bounded = AppCommand.setPinsValidUntil(noon.adding(seconds: 30 * day))
    private static let fine = seeing([expiring(1, to: 200)])
    private static let started = AppCommand.startRotation(
        .init(id: "r", kind: .planned, hosts: [api], next: new(3, .backup), compromised: nil, goals: Rotation.Goals()))

    static let table = [
        AttentionCase("is not asked for where all is well", given: [added(), bounded], seeing: fine, then: []),
        AttentionCase(
            "is asked for when the served certificate expires soon", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -300, to: 20)]), then: [(.soon, .certificateExpires)]),
        AttentionCase(
            "is not asked for before the first horizon", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -300, to: 31)]), then: []),
        AttentionCase(
            "is urgent in the last week", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -300, to: 6)]), then: [(.urgent, .certificateExpires)]),
        AttentionCase(
            "is urgent when it has expired", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -300, to: -1)]), then: [(.urgent, .certificateExpires)]),
        AttentionCase(
            "waits for half of a short life", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -10, to: 20)]), then: []),
        AttentionCase(
            "follows other horizons", given: [added(), bounded],
            seeing: seeing([expiring(1, from: -300, to: 20)], horizons: (try? Horizons("10")) ?? .standard), then: []
        ),
        AttentionCase(
            "takes the end of a backup's certificate lightly",
            given: [added(backup: .certificate(expiring(2, to: 5))), bounded], seeing: fine,
            then: [(.info, .certificateExpires)]),
        AttentionCase(
            "is urgent where the served key is not pinned", given: [added(), bounded],
            seeing: seeing([expiring(7, to: 200)]), then: [(.urgent, .servedKeyUnpinned)]),
        AttentionCase(
            "sees the one address that is wrong", given: [added(), bounded],
            seeing: seeing([expiring(1, to: 200)], [expiring(7, to: 200)]), then: [(.urgent, .servedKeyUnpinned)]),
        AttentionCase(
            "is not urgent where nothing is enforced", given: [added(mode: .reportOnly), bounded],
            seeing: seeing([expiring(7, to: 200)]), then: [(.soon, .servedKeyUnpinned)]),
        AttentionCase(
            "looks at both arms of a rollout",
            given: [
                added(), bounded,
                .startCandidate(api, mode: .enforce, copiesBaseline: false, pins: [new(7), new(8, .backup)]),
            ],
            seeing: fine, then: [(.urgent, .servedKeyUnpinned), (.soon, .unprovenReserve)]),
        AttentionCase(
            "wants a reserve that is not served", given: [added(), bounded],
            seeing: seeing([expiring(1, to: 200), expiring(2, to: 300)]), then: [(.soon, .noReserve)]),
        AttentionCase(
            "wants the backup shown", given: [added(backup: nil), bounded], seeing: fine,
            then: [(.soon, .unprovenReserve)]),
        AttentionCase(
            "tells of weak keys", given: [added(weaknesses: ["is an RSA key of 1024 bits"]), bounded], seeing: fine,
            then: [(.soon, .weakKey)]),
        AttentionCase(
            "tells where nothing was ever probed", given: [added(), bounded], seeing: unseen,
            then: [(.soon, .nothingProbed), (.soon, .notProbed)]),
        AttentionCase(
            "tells of a host that does not answer", given: [added(), bounded], seeing: seeing(),
            then: [(.soon, .unreachable)]),
        AttentionCase(
            "does not take yesterday's probe for today's", given: [added(), bounded],
            seeing: seeing([expiring(1, to: 200)], seen: 2 * day),
            then: [(.soon, .notProbed), (.soon, .nothingProbed)]),
        AttentionCase(
            "wants an end of the pins", given: [added()], seeing: fine, then: [(.info, .pinsValidUntil)]),
        AttentionCase(
            "announces the end of the pins", given: [added(), .setPinsValidUntil(noon.adding(seconds: 10 * day))],
            seeing: fine, then: [(.soon, .pinsValidUntil)]),
        AttentionCase(
            "is urgent on the last day of the pins", given: [added(), .setPinsValidUntil(noon.adding(seconds: day))],
            seeing: fine, then: [(.urgent, .pinsValidUntil)]),
        AttentionCase(
            "tells of a kill switch",
            given: [added(), bounded, .engageKillSwitch(api, expiresAt: noon.adding(seconds: 3600))], seeing: fine,
            then: [(.urgent, .killSwitch)]),
        AttentionCase(
            "tells of a kill switch for versions",
            given: [
                added(), bounded,
                .engageVersionKillSwitch(range("3.1.0", "3.1.2"), expiresAt: noon.adding(seconds: 3600)),
            ], seeing: fine, then: [(.urgent, .killSwitch)]),
        AttentionCase(
            "tells of a lowered guard rail", given: [added(), bounded, .setGuardRail(.unprovenPin, isLowered: true)],
            seeing: fine, then: [(.info, .guardRailLowered)]),
        AttentionCase(
            "tells of what a declared kind of clients breaks at",
            given: [
                .addHost(
                    api, includesSubdomains: false, mode: .reportOnly,
                    pins: [.init(pin: pin(1), role: .primary, evidence: .certificate(expiring(1, to: 200)))]),
                bounded, .setClient(.dynapins, ClientSettings()), .setClient(.netkit, ClientSettings()),
            ], seeing: fine, then: [(.urgent, .clientBreaks)]),
        AttentionCase(
            "leaves alone what a kind of clients only does otherwise",
            given: [added(), bounded, .setClient(.okhttp, ClientSettings())], seeing: fine, then: []),
        AttentionCase(
            "leaves a rotation alone that waits for time", given: [added(), bounded, started], seeing: fine,
            then: []),
        AttentionCase(
            "tells of a rotation that waits for the servers",
            given: [added(), bounded, started, .advanceRotation("r", from: nil)], seeing: fine,
            then: [(.soon, .rotationStuck)]),
        AttentionCase(
            "tells of a rotation that can go on",
            given: [added(), bounded, started, .advanceRotation("r", from: nil)],
            seeing: seeing([expiring(3, to: 200)]), then: [(.soon, .rotationReady)]),
        AttentionCase(
            "tells of a rotation that was aborted",
            given: [added(), bounded, started, .abortRotation("r", keepsNext: false)], seeing: fine,
            then: [(.info, .rotationAborted)]),
    ]

    @Test(arguments: table)
    func `attention lists what the operators have to do`(line: AttentionCase) throws {
        let list = try ledger(after: line.given).attention(in: looking(line.facts, at: line.now))
        let found = list.items.map { "\($0.severity.rawValue) \($0.kind.rawValue)" }
        #expect(found.sorted() == line.items.map { "\($0.0.rawValue) \($0.1.rawValue)" }.sorted())
        #expect(list.items.map(\.severity) == list.items.map(\.severity).sorted())
        #expect(!list.isTruncated)
        for item in list.items where item.app != nil { #expect(item.app == shop) }
    }

    @Test func `attention can be filtered by severity and by app`() throws {
        let state = try ledger(after: [Self.added(backup: nil)])
        let facts = seeing([expiring(7, to: 200)])
        #expect(state.attention(severity: .urgent, in: looking(facts)).items.map(\.kind) == [.servedKeyUnpinned])
        #expect(state.attention(of: shop, in: looking(facts)).items.count == 3)
        #expect(state.attention(of: appID("com.example.other"), in: looking(facts)).items.isEmpty)
    }

    @Test(arguments: [(WebhookPause.gone, 1), (.failing, 1), (.requested, 0)])
    func `attention lists a webhook that the server has paused`(pause: WebhookPause, count: Int) throws {
        var state = LedgerState()
        let settings = WebhookSettings(url: webhookURL("https://hooks.example.com/secret"))
        state.webhooks.evolve(.created(id: "whk_1", settings, secretID: "whs_1"), at: noon)
        #expect(state.attention(in: looking()).items.isEmpty)
        state.webhooks.evolve(.paused(id: "whk_1", pause), at: noon)
        let items = state.attention(in: looking()).items
        #expect(items.map(\.kind) == Array(repeating: .webhookPaused, count: count))
        #expect(items.allSatisfy { $0.severity == .soon && $0.app == nil && $0.date == noon })
        #expect(items.allSatisfy { $0.detail.contains("whk_1") && !$0.detail.contains("hooks.example.com") })
        state.webhooks.evolve(.resumed(id: "whk_1"), at: noon)
        #expect(state.attention(in: looking()).items.isEmpty)
    }

    @Test func `attention tells of a ledger that ends in the future, those who see all of it`() {
        let end = noon.adding(seconds: 3 * day)
        let items = LedgerState().attention(endingAhead: end, in: looking()).items
        #expect(items.map(\.kind) == [.ledgerAhead] && items.first?.date == end)
        #expect(LedgerState().attention(isWhole: false, endingAhead: end, in: looking()).items.isEmpty)
    }

    @Test func `attention is a list with an end`() throws {
        var state = LedgerState()
        for number in 0..<1200 {
            var app = App(first: .appCreated(displayName: "Shop"), id: appID("com.example.a\(number)"), at: noon)
            app?.loweredRails = [.unprovenPin]
            if number < 3 { app?.killSwitch = KillSwitch(engagedAt: noon, expiresAt: noon.adding(seconds: 60)) }
            if let app { state.apps.insert(app) }
        }
        let list = state.attention(in: looking())
        #expect(list.items.count == AttentionList.limit)
        #expect(list.isTruncated)
        #expect(list.counts == [.urgent: 3, .info: 1200])
        #expect(list.items.prefix(3).allSatisfy { $0.severity == .urgent })
    }

    @Test func `attention lists stalled work last`() throws {
        let state = try ledger(after: [
            Self.added(mode: .reportOnly), .startCandidate(api, mode: .reportOnly, copiesBaseline: true, pins: []),
        ])
        let later = noon.adding(seconds: 31 * day)
        let kinds = state.attention(in: looking(at: later)).items.map(\.kind)
        #expect(kinds.count { $0 == .notEnforced } == 2)
        #expect(kinds.count { $0 == .candidateStands } == 1)
        #expect(
            !state.attention(in: looking()).items.contains { $0.kind == .notEnforced || $0.kind == .candidateStands })
    }
}
