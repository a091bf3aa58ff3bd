import PinWire
import Pinning
import Testing

/// A pin's life in one policy: staged, active, retired or revoked.
@Suite struct `A pin` {
    static let off = AppCommand.addHost(api, includesSubdomains: false, mode: .off, pins: [])
    static let builtin = AppCommand.addHost(api, includesSubdomains: false, mode: nil, pins: [])
    static let staged = AppCommand.addPin(api, .baseline, new(1, isActive: false))
    static let active = AppCommand.addPin(api, .baseline, new(1))
    static let retire = AppCommand.retirePin(api, .baseline, pin(1))
    static let revoke = AppCommand.revokePin(api, .baseline, pin(1))
    static let activate = AppCommand.activatePin(api, .baseline, pin(1))
    static let documented = AppCommand.NewPin(
        pin: pin(text: "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="), role: .primary)
    static let zero = AppCommand.NewPin(pin: pin(text: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), role: .primary)
    static let empty = AppCommand.NewPin(pin: pin(text: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), role: .backup)
    static let comeBack: [AppEvent] = [
        .pinStaged(api, .baseline, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(1)),
    ]

    static let life: [Case] = [
        Case(
            "is recorded", given: [off], when: staged, then: [.pinStaged(api, .baseline, pin(1), .primary, note: nil)]
        ),
        Case("is published at once", given: [off], when: active, then: comeBack),
        Case("is recorded once", given: [off, staged], when: active, refused: .pinExists(pin(1), .staged)),
        Case("is published once", given: [off, active], when: active, refused: .pinExists(pin(1), .active)),
        Case(
            "is recorded once, in one change too", given: [off], when: active, active,
            refused: .pinExists(pin(1), .active)),
        Case(
            "stands once among the pins of a new host",
            when: .addHost(api, includesSubdomains: false, mode: .off, pins: [new(1), new(1)]),
            refused: .pinExists(pin(1), .staged)
        ),
        Case("needs its host", when: active, refused: .hostUnknown(api)),
        Case(
            "needs a policy that is no built-in one", given: [builtin], when: active, refused: .baselineIsBuiltin(api)),
        Case(
            "needs a candidate to be in one", given: [off], when: .addPin(api, .candidate, new(1)),
            refused: .candidateMissing(api)
        ),
        Case(
            "is published later", given: [off, staged], when: activate, then: [.pinActivated(api, .baseline, pin(1))]),
        Case("is published already", given: [off, active], when: activate, then: []),
        Case("must be known to be published", given: [off], when: activate, refused: .pinUnknown(pin(1))),
        Case(
            "must be known in that policy", given: [off, active], when: .activatePin(api, .candidate, pin(1)),
            refused: .candidateMissing(api)
        ),
        Case(
            "is not published when retired", given: [off, active, retire], when: activate,
            refused: .pinNotStaged(pin(1), .retired)),
        Case(
            "is not published when revoked", given: [off, active, revoke], when: activate,
            refused: .pinNotStaged(pin(1), .revoked)),
        Case(
            "gets another role", given: [off, active], when: .setPinRole(api, .baseline, pin(1), .emergency),
            then: [.pinRoleSet(api, .baseline, pin(1), .emergency)]
        ),
        Case(
            "has its role already", given: [off, staged],
            when: .setPinRole(api, .baseline, pin(1), .primary), then: []),
        Case(
            "must be known to get a role", given: [off], when: .setPinRole(api, .baseline, pin(1), .backup),
            refused: .pinUnknown(pin(1))
        ),
        Case(
            "gets no role when retired", given: [off, active, retire],
            when: .setPinRole(api, .baseline, pin(1), .backup),
            refused: .pinNotInUse(pin(1), .retired)
        ),
        Case("is retired", given: [off, active], when: retire, why: "w", then: [.pinRetired(api, .baseline, pin(1))]),
        Case(
            "is retired without a reason while nobody has it", given: [off, staged], when: retire,
            then: [.pinRetired(api, .baseline, pin(1))]
        ),
        Case(
            "is retired once", given: [off, active, retire], when: retire, why: "w",
            refused: .pinNotInUse(pin(1), .retired)),
        Case(
            "is not retired when revoked", given: [off, active, revoke], when: retire, why: "w",
            refused: .pinNotInUse(pin(1), .revoked)),
        Case("must be known to be retired", given: [off], when: retire, why: "w", refused: .pinUnknown(pin(1))),
        Case("may come back when retired", given: [off, active, retire], when: active, then: comeBack),
        Case(
            "is revoked", given: [off, active], when: revoke, why: "stolen", then: [.pinRevoked(api, .baseline, pin(1))]
        ),
        Case(
            "is revoked when staged", given: [off, staged], when: revoke, why: "stolen",
            then: [.pinRevoked(api, .baseline, pin(1))]),
        Case(
            "is revoked when retired", given: [off, active, retire], when: revoke, why: "stolen",
            then: [.pinRevoked(api, .baseline, pin(1))]),
        Case("is revoked already", given: [off, active, revoke], when: revoke, then: []),
        Case("must be known to be revoked", given: [off], when: revoke, why: "stolen", refused: .pinUnknown(pin(1))),
        Case(
            "is not revoked without a reason, published or not", given: [off, staged], when: revoke, isForced: true,
            refused: .reasonRequired("it revokes a pin")
        ),
    ]

    static let revoked: [Case] = [
        Case(
            "never comes back when revoked", given: [off, active, revoke], when: active, why: "w", isForced: true,
            refused: .pinRevoked(pin(1))),
        Case(
            "never comes back when revoked, by a new host of the same name",
            given: [off, active, revoke, .removeHost(api)],
            when: off, active, why: "w", isForced: true, refused: .pinRevoked(pin(1))
        ),
        Case(
            "never comes back when revoked, to another host", given: [off, active, revoke],
            when: .addHost(cdn, includesSubdomains: false, mode: .off, pins: [new(1)]), why: "w", isForced: true,
            refused: .pinRevoked(pin(1))
        ),
        Case(
            "never comes back when revoked, by way of a candidate", given: [off, active, revoke],
            when: .startCandidate(api, mode: .off, copiesBaseline: false, pins: [new(1)]), why: "w", isForced: true,
            refused: .pinRevoked(pin(1))
        ),
        Case(
            "never comes back when revoked in a candidate that was dropped",
            given: [
                off, .startCandidate(api, mode: .off, copiesBaseline: false, pins: [new(1)]),
                .revokePin(api, .candidate, pin(1)), .dropCandidate(api),
            ],
            when: active, why: "w", isForced: true, refused: .pinRevoked(pin(1))
        ),
        Case(
            "never comes back when revoked in a baseline that was replaced",
            given: [
                off, active, .startCandidate(api, mode: .off, copiesBaseline: false, pins: []), revoke,
                .promoteCandidate(api),
            ],
            when: active, why: "w", isForced: true, refused: .pinRevoked(pin(1))
        ),
        Case(
            "never comes back when revoked, by promoting a candidate that still has it",
            given: [off, active, .startCandidate(api, mode: .off, copiesBaseline: true, pins: []), revoke],
            when: .promoteCandidate(api), why: "w", isForced: true, refused: .pinRevoked(pin(1))
        ),
        Case(
            "may leave together with the revoked one in the candidate",
            given: [off, active, .startCandidate(api, mode: .off, copiesBaseline: true, pins: []), revoke],
            when: .revokePin(api, .candidate, pin(1)), .promoteCandidate(api), why: "stolen",
            then: [.pinRevoked(api, .candidate, pin(1)), .candidatePromoted(api)]
        ),
        Case(
            "is not published from another host's record once it is revoked",
            given: [
                off, active, .addHost(cdn, includesSubdomains: false, mode: .off, pins: [new(1, isActive: false)]),
                revoke,
            ],
            when: .activatePin(cdn, .baseline, pin(1)), why: "w", isForced: true, refused: .pinRevoked(pin(1))
        ),
    ]

    static let placeholders: [Case] =
        [zero, empty].flatMap { pin in
            [
                Case(
                    "is refused as a placeholder", given: [off], when: .addPin(api, .baseline, pin),
                    refused: .pinPlaceholder(pin.pin, pin.pin.placeholder ?? .pattern)
                ),
                Case(
                    "is refused as a placeholder whoever insists", given: [off], when: .addPin(api, .baseline, pin),
                    why: "w",
                    isForced: true, refused: .pinPlaceholder(pin.pin, pin.pin.placeholder ?? .pattern)
                ),
            ]
        } + [
            Case(
                "is refused as a placeholder in a new host",
                when: .addHost(api, includesSubdomains: false, mode: .off, pins: [zero]),
                refused: .pinPlaceholder(zero.pin, .pattern)
            ),
            Case(
                "is refused as a placeholder in a candidate", given: [off],
                when: .startCandidate(api, mode: .off, copiesBaseline: false, pins: [zero]),
                refused: .pinPlaceholder(zero.pin, .pattern)
            ),
            Case(
                "of documentation is refused", given: [off], when: .addPin(api, .baseline, documented),
                refused: .pinPlaceholder(documented.pin, .documentation(source: "Apple's"))
            ),
            Case(
                "of documentation is refused with a reason alone", given: [off],
                when: .addPin(api, .baseline, documented), why: "ours",
                refused: .pinPlaceholder(documented.pin, .documentation(source: "Apple's"))
            ),
            Case(
                "of documentation is refused with force alone", given: [off], when: .addPin(api, .baseline, documented),
                isForced: true, refused: .pinPlaceholder(documented.pin, .documentation(source: "Apple's"))
            ),
            Case(
                "of documentation is taken where somebody insists and says why", given: [off],
                when: .addPin(api, .baseline, documented), why: "our CA", isForced: true,
                then: [
                    .pinStaged(api, .baseline, documented.pin, .primary, note: nil),
                    .pinActivated(api, .baseline, documented.pin),
                ]
            ),
        ]

    @Test(arguments: life) func `a pin lives from staging to retirement`(line: Case) throws { try line.check() }

    @Test(arguments: revoked) func `a pin never returns once it is revoked`(line: Case) throws { try line.check() }

    @Test(arguments: placeholders) func `a pin must belong to a possible key`(line: Case) throws { try line.check() }

    @Test func `a policy remembers at most 100 pins, retired ones included`() throws {
        let pins = (0..<App.pinLimit).map { new($0, isActive: false) }
        #expect(App.pinLimit == 100)
        let full = try given([
            .addHost(api, includesSubdomains: false, mode: .off, pins: pins), .retirePin(api, .baseline, pin(7)),
        ])
        let context = context("w", isForced: true)
        #expect(throws: Refusal.tooManyPins(limit: 100)) {
            try App.decide([.addPin(api, .baseline, new(100))], full, id: shop, in: context)
        }
        #expect(try App.decide([.addPin(api, .baseline, new(7))], full, id: shop, in: context).count == 2)
        #expect(throws: Refusal.tooManyPins(limit: 100)) {
            try App.decide(
                [.addHost(cdn, includesSubdomains: false, mode: .off, pins: pins + [new(100)])], full, id: shop,
                in: context
            )
        }
    }

    @Test func `a pin has the note and the role of its return, and the instant of its last step`() throws {
        var app = try #require(
            try given([Self.off, .addPin(api, .baseline, new(1, note: "old")), Self.retire])
        )
        let later = noon.adding(seconds: 60)
        let events = try App.decide(
            [.addPin(api, .baseline, new(1, .backup, isActive: false, note: "new"))], app, id: shop,
            in: context(at: later)
        )
        for event in events { app.evolve(event, at: later) }
        let record = try #require(app.hosts[api]?[.baseline]?.pins[pin(1)])
        #expect(record == PinRecord(role: .backup, state: .staged, note: "new", since: later))
    }
}
