import PinWire
import Pinning
import Testing

/// Commands about the app as a whole and about its hosts.
@Suite struct `An app` {
    static let rollout = Rollout(basisPoints: 2500)
    static let gate = VersionGate(minimum: version("1.5"))
    static let enforced = AppCommand.addHost(
        api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup)]
    )
    static let off = AppCommand.addHost(api, includesSubdomains: false, mode: .off, pins: [])
    static let builtin = AppCommand.addHost(api, includesSubdomains: true, mode: nil, pins: [])

    static let settings: [Case] = [
        Case(
            "is created", when: .create(displayName: "Shop"), isCreated: false, then: [.appCreated(displayName: "Shop")]
        ),
        Case("is created once", when: .create(displayName: "Shop"), refused: .appExists(shop)),
        Case(
            "is created once, in one change too", when: .create(displayName: "A"), .create(displayName: "B"),
            isCreated: false, refused: .appExists(shop)
        ),
        Case("must be created first", when: .rename("Shop"), isCreated: false, refused: .appUnknown(shop)),
        Case(
            "that is not there is removed nothing of", when: .removeHost(api), isCreated: false,
            refused: .appUnknown(shop)),
        Case(
            "is created and set up in one change", when: .create(displayName: "Shop"), .setRollout(rollout),
            isCreated: false, then: [.appCreated(displayName: "Shop"), .appRolloutSet(rollout)]
        ),
        Case("of which nothing is wanted stays as it is", then: []),
        Case("is renamed", when: .rename("Store"), then: [.appRenamed(displayName: "Store")]),
        Case("keeps the name it has", when: .rename("Shop"), then: []),
        Case(
            "is renamed twice in one change", when: .rename("Store"), .rename("Shop"),
            then: [.appRenamed(displayName: "Store"), .appRenamed(displayName: "Shop")]
        ),
        Case("gets a version gate", when: .setVersionGate(gate), then: [.versionGateSet(gate)]),
        Case("keeps its version gate", given: [.setVersionGate(gate)], when: .setVersionGate(gate), then: []),
        Case("has no version gate to lose", when: .setVersionGate(nil), then: []),
        Case(
            "loses its version gate", given: [.setVersionGate(gate)], when: .setVersionGate(nil),
            then: [.versionGateSet(nil)]),
        Case("gets a rollout", when: .setRollout(rollout), then: [.appRolloutSet(rollout)]),
        Case("keeps its rollout", given: [.setRollout(rollout)], when: .setRollout(rollout), then: []),
        Case("loses its rollout", given: [.setRollout(rollout)], when: .setRollout(nil), then: [.appRolloutSet(nil)]),
        Case(
            "gets a fallback", when: .setFallback(Fallback(usesBuiltinPins: false)),
            then: [.fallbackSet(Fallback(usesBuiltinPins: false))]
        ),
        Case("begins with the default fallback", when: .setFallback(Fallback()), then: []),
        Case(
            "gets monitoring", when: .setMonitoring(Monitoring(isEnabled: true)),
            then: [.monitoringSet(Monitoring(isEnabled: true))]
        ),
        Case("begins without monitoring", when: .setMonitoring(Monitoring()), then: []),
        Case(
            "gets an end for its pins", when: .setPinsValidUntil(noon.adding(seconds: 1)),
            then: [.pinsValidUntilSet(noon.adding(seconds: 1))]
        ),
        Case(
            "keeps the end of its pins", given: [.setPinsValidUntil(noon.adding(seconds: 9))],
            when: .setPinsValidUntil(noon.adding(seconds: 9)), then: []
        ),
        Case(
            "loses the end of its pins", given: [.setPinsValidUntil(noon.adding(seconds: 9))],
            when: .setPinsValidUntil(nil), then: [.pinsValidUntilSet(nil)]
        ),
        Case("cannot end its pins now", when: .setPinsValidUntil(noon), refused: .expiryNotAhead(noon)),
        Case(
            "cannot end its pins in the past", when: .setPinsValidUntil(noon.adding(seconds: -1)), why: "w",
            isForced: true,
            refused: .expiryNotAhead(noon.adding(seconds: -1))
        ),
    ]

    static let hosts: [Case] = [
        Case(
            "gets a host with the built-in pins", when: builtin,
            then: [.hostAdded(api, includesSubdomains: true, mode: nil)]
        ),
        Case(
            "gets a host with pins", when: enforced,
            then: [
                .hostAdded(api, includesSubdomains: false, mode: .enforce),
                .pinStaged(api, .baseline, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(1)),
                .pinStaged(api, .baseline, pin(2), .backup, note: nil), .pinActivated(api, .baseline, pin(2)),
            ]
        ),
        Case(
            "gets a host with a pin that is only recorded",
            when: .addHost(
                cdn, includesSubdomains: false, mode: .reportOnly, pins: [new(1, isActive: false, note: "HSM 2")]),
            then: [
                .hostAdded(cdn, includesSubdomains: false, mode: .reportOnly),
                .pinStaged(cdn, .baseline, pin(1), .primary, note: "HSM 2"),
            ]
        ),
        Case("has a host once", given: [off], when: enforced, refused: .hostExists(api)),
        Case(
            "has a host once, in one change too", when: off, off, refused: .hostExists(api)
        ),
        Case(
            "takes the same name as a wildcard besides",
            given: [.addHost(host("*.a.example"), includesSubdomains: false, mode: .off, pins: [])],
            when: .addHost(host("a.example"), includesSubdomains: false, mode: .off, pins: []),
            then: [.hostAdded(host("a.example"), includesSubdomains: false, mode: .off)]
        ),
        Case(
            "gives built-in pins no others beside them",
            when: .addHost(api, includesSubdomains: false, mode: nil, pins: [new(1)]), refused: .baselineIsBuiltin(api)
        ),
        Case(
            "pins no public suffix", when: .addHost(host("github.io"), includesSubdomains: false, mode: nil, pins: []),
            why: "w", isForced: true, refused: .publicSuffix(host("github.io"))
        ),
        Case(
            "pins not all names below a public suffix",
            when: .addHost(host("*.co.uk"), includesSubdomains: false, mode: nil, pins: []), why: "w", isForced: true,
            refused: .publicSuffix(host("*.co.uk"))
        ),
        Case(
            "covers a host's subdomains from now on", given: [off], when: .setSubdomains(api, includesSubdomains: true),
            then: [.hostSubdomainsSet(api, includesSubdomains: true)]
        ),
        Case(
            "covers a host's subdomains already", given: [builtin], when: .setSubdomains(api, includesSubdomains: true),
            then: []
        ),
        Case(
            "knows no such host to cover", when: .setSubdomains(api, includesSubdomains: true),
            refused: .hostUnknown(api)
        ),
        Case("removes a host", given: [off], when: .removeHost(api), why: "closed", then: [.hostRemoved(api)]),
        Case("knows no such host to remove", when: .removeHost(api), why: "closed", refused: .hostUnknown(api)),
        Case(
            "removes a host once", given: [off], when: .removeHost(api), .removeHost(api), why: "closed",
            refused: .hostUnknown(api)
        ),
        Case(
            "may try a host out in one change without a reason", when: off, .removeHost(api),
            then: [.hostAdded(api, includesSubdomains: false, mode: .off), .hostRemoved(api)]
        ),
    ]

    @Test(arguments: settings + hosts) func `an app carries out a command or refuses it`(line: Case) throws {
        try line.check()
    }

    @Test func `an app has at most 1000 hosts`() throws {
        let commands = (0..<App.hostLimit).map { number in
            AppCommand.addHost(host("h\(number).example.com"), includesSubdomains: false, mode: nil, pins: [])
        }
        #expect(App.hostLimit == 1000)
        let context = context()
        let full = commands + [Self.off]
        #expect(throws: Refusal.tooManyHosts(limit: 1000)) {
            try App.decide([.create(displayName: "A")] + full, nil, id: shop, in: context)
        }
        let events = try App.decide([.create(displayName: "A")] + commands, nil, id: shop, in: context)
        #expect(events.count == 1001)
    }

    @Test func `an app is not changed by a change of which one part is refused`() throws {
        let app = try given([Self.off])
        let context = context("w")
        #expect(throws: Refusal.hostUnknown(cdn)) {
            try App.decide([.rename("B"), .removeHost(api), .removeHost(cdn)], app, id: shop, in: context)
        }
    }
}
