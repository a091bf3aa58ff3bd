import PinWire
import Pinning
import Testing

/// What a change may leave behind, and what it must say why it does.
@Suite struct `The rules of policies` {
    static let enforced = AppCommand.addHost(
        api, includesSubdomains: true, mode: .enforce, pins: [new(1), new(2, .backup)]
    )
    static let roomy = AppCommand.addHost(
        api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup), new(3), new(4, .emergency)]
    )
    static let off = AppCommand.addHost(api, includesSubdomains: false, mode: .off, pins: [])
    static let builtin = AppCommand.addHost(api, includesSubdomains: false, mode: nil, pins: [])
    /// Enforced without a reserve: forced at some time.
    static let bare: [AppCommand] = [roomy, .retirePin(api, .baseline, pin(2)), .retirePin(api, .baseline, pin(4))]

    private static func enforcing(_ pins: AppCommand.NewPin...) -> AppCommand {
        .addHost(api, includesSubdomains: false, mode: .enforce, pins: pins)
    }

    private static func retired(_ number: Int) -> [AppEvent] { [.pinRetired(api, .baseline, pin(number))] }

    static let enforceable: [Case] = [
        Case(
            "two pins, one of them a reserve, are enough", when: enforced,
            then: [
                .hostAdded(api, includesSubdomains: true, mode: .enforce),
                .pinStaged(api, .baseline, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(1)),
                .pinStaged(api, .baseline, pin(2), .backup, note: nil), .pinActivated(api, .baseline, pin(2)),
            ]),
        Case("no pins are too few", when: enforcing(), refused: .tooFewPins(api, .baseline, active: 0)),
        Case("one pin is too few", when: enforcing(new(1, .backup)), refused: .tooFewPins(api, .baseline, active: 1)),
        Case(
            "a staged pin does not count", when: enforcing(new(1), new(2, .backup, isActive: false)),
            refused: .tooFewPins(api, .baseline, active: 1)
        ),
        Case(
            "too few are too few whoever insists", when: enforcing(new(1)), why: "w", isForced: true,
            refused: .tooFewPins(api, .baseline, active: 1)
        ),
        Case(
            "two without a reserve are refused", when: enforcing(new(1), new(2)),
            refused: .noBackupPin(api, .baseline)),
        Case(
            "two without a reserve are refused whoever insists", when: enforcing(new(1), new(2)), why: "w",
            isForced: true,
            refused: .noBackupPin(api, .baseline)
        ),
        Case(
            "a staged reserve does not count", when: enforcing(new(1), new(2), new(3, .backup, isActive: false)),
            refused: .noBackupPin(api, .baseline)
        ),
        Case(
            "turning enforcement on needs pins", given: [off], when: .setMode(api, .baseline, .enforce),
            refused: .tooFewPins(api, .baseline, active: 0)),
        Case(
            "turning enforcement on for built-in pins needs pins", given: [builtin],
            when: .setMode(api, .baseline, .enforce), refused: .tooFewPins(api, .baseline, active: 0)),
        Case(
            "pins and mode may come in one change, in any order", given: [off],
            when: .setMode(api, .baseline, .enforce), .addPin(api, .baseline, new(1)),
            .addPin(api, .baseline, new(2, .emergency)),
            then: [
                .modeSet(api, .baseline, .enforce),
                .pinStaged(api, .baseline, pin(1), .primary, note: nil), .pinActivated(api, .baseline, pin(1)),
                .pinStaged(api, .baseline, pin(2), .emergency, note: nil), .pinActivated(api, .baseline, pin(2)),
            ]
        ),
        Case(
            "the second last pin stays", given: [enforced], when: .retirePin(api, .baseline, pin(1)), why: "w",
            isForced: true, refused: .tooFewPins(api, .baseline, active: 1)),
        Case(
            "the second last pin stays, revoked or not", given: [enforced], when: .revokePin(api, .baseline, pin(2)),
            why: "w", isForced: true, refused: .tooFewPins(api, .baseline, active: 1)),
        Case(
            "a pin is replaced in one change, whatever stands between", given: [enforced],
            when: .revokePin(api, .baseline, pin(2)), .addPin(api, .baseline, new(3, .backup)), why: "stolen",
            then: [
                .pinRevoked(api, .baseline, pin(2)), .pinStaged(api, .baseline, pin(3), .backup, note: nil),
                .pinActivated(api, .baseline, pin(3)),
            ]
        ),
        Case(
            "a mode that enforces nothing needs no pins", given: [off], when: .setMode(api, .baseline, .reportOnly),
            then: [.modeSet(api, .baseline, .reportOnly)]),
    ]

    static let lastBackup: [Case] = [
        Case(
            "one of two reserves may go", given: [roomy], when: .retirePin(api, .baseline, pin(4)), why: "w",
            then: retired(4)),
        Case(
            "the last reserve stays", given: [roomy, .retirePin(api, .baseline, pin(4))],
            when: .retirePin(api, .baseline, pin(2)), why: "w",
            refused: .lastBackupPin(api, .baseline)
        ),
        Case(
            "the last reserve stays where somebody insists without a reason",
            given: [roomy, .retirePin(api, .baseline, pin(4))],
            when: .retirePin(api, .baseline, pin(2)), isForced: true, refused: .lastBackupPin(api, .baseline)
        ),
        Case(
            "the last reserve goes where somebody insists and says why",
            given: [roomy, .retirePin(api, .baseline, pin(4))],
            when: .retirePin(api, .baseline, pin(2)), why: "w", isForced: true, then: retired(2)
        ),
        Case(
            "the last reserve stays one", given: [enforced], when: .setPinRole(api, .baseline, pin(2), .primary),
            why: "w", refused: .lastBackupPin(api, .baseline)),
        Case(
            "the last reserve comes into service where somebody insists and says why", given: [enforced],
            when: .setPinRole(api, .baseline, pin(2), .primary), why: "w", isForced: true,
            then: [.pinRoleSet(api, .baseline, pin(2), .primary)]
        ),
        Case(
            "the reserve comes into service as another becomes one", given: [enforced],
            when: .setPinRole(api, .baseline, pin(2), .primary), .setPinRole(api, .baseline, pin(1), .backup),
            then: [.pinRoleSet(api, .baseline, pin(2), .primary), .pinRoleSet(api, .baseline, pin(1), .backup)]
        ),
        Case(
            "a policy without a reserve may have one staged", given: bare,
            when: .addPin(api, .baseline, new(5, .backup, isActive: false)),
            then: [.pinStaged(api, .baseline, pin(5), .backup, note: nil)]
        ),
        Case(
            "a policy without a reserve is not published otherwise", given: bare, when: .addPin(api, .baseline, new(5)),
            why: "w", refused: .lastBackupPin(api, .baseline)),
        Case(
            "a policy without a reserve does not hinder the rest of the app", given: bare, when: .rename("B"),
            then: [.appRenamed(displayName: "B")]),
        Case(
            "promotion keeps a reserve",
            given: [roomy] + [
                .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: []),
                .retirePin(api, .candidate, pin(2)), .retirePin(api, .candidate, pin(4)),
            ],
            when: .promoteCandidate(api), why: "w", refused: .lastBackupPin(api, .baseline)
        ),
    ]

    static let candidate: [AppCommand] = [
        enforced, .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [new(3)]),
    ]

    /// Every way to weaken protection: commands, what was before, and what is asked why.
    static let weakenings: [(given: [AppCommand], commands: [AppCommand], ask: String)] = [
        ([enforced], [.setMode(api, .baseline, .reportOnly)], "it lowers the mode of api.example.com to report_only"),
        ([enforced], [.setMode(api, .baseline, .off)], "it lowers the mode of api.example.com to off"),
        (
            [enforced, .setMode(api, .baseline, .reportOnly)], [.setMode(api, .baseline, .off)],
            "it lowers the mode of api.example.com to off"
        ),
        ([builtin], [.setMode(api, .baseline, .off)], "it lowers the mode of api.example.com to off"),
        ([builtin], [.setMode(api, .baseline, .reportOnly)], "it lowers the mode of api.example.com to report_only"),
        (candidate, [.setMode(api, .candidate, .off)], "it lowers the mode of api.example.com to off"),
        (
            [enforced], [.startCandidate(api, mode: .off, copiesBaseline: true, pins: [])],
            "it lowers the mode of api.example.com to off"
        ),
        (
            [builtin], [.startCandidate(api, mode: .reportOnly, copiesBaseline: false, pins: [])],
            "it lowers the mode of api.example.com to report_only"
        ),
        (
            [builtin, .startCandidate(api, mode: .off, copiesBaseline: false, pins: [])], [.promoteCandidate(api)],
            "it lowers the mode of api.example.com to off"
        ),
        ([roomy], [.retirePin(api, .baseline, pin(3))], "it removes a published pin of api.example.com"),
        ([roomy], [.revokePin(api, .baseline, pin(3))], "it revokes a pin"),
        ([roomy], [.revokePin(api, .baseline, pin(3)), .rename("B")], "it revokes a pin"),
        (candidate, [.retirePin(api, .candidate, pin(3))], "it removes a published pin of api.example.com"),
        (candidate, [.dropCandidate(api)], "it removes a published pin of api.example.com"),
        (
            candidate + [.addPin(api, .baseline, new(9))], [.promoteCandidate(api)],
            "it removes a published pin of api.example.com"
        ),
        (
            [builtin, .startCandidate(api, mode: .off, copiesBaseline: false, pins: [])], [.dropCandidate(api)],
            "it withdraws a policy of api.example.com"
        ),
        ([enforced], [.removeHost(api)], "it removes the host api.example.com"),
        ([enforced], [.removeHost(api), builtin], "it excludes the subdomains of api.example.com"),
        ([roomy], [.removeHost(api), builtin], "it withdraws a policy of api.example.com"),
        ([roomy], [.removeHost(api), off], "it lowers the mode of api.example.com to off"),
        (
            [roomy],
            [
                .removeHost(api),
                .addHost(api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup)]),
            ], "it removes a published pin of api.example.com"
        ),
        (
            [enforced], [.setSubdomains(api, includesSubdomains: false)],
            "it excludes the subdomains of api.example.com"
        ),
        ([enforced], [.engageKillSwitch(nil, expiresAt: noon.adding(seconds: 60))], "it turns pinning off"),
        ([enforced], [.engageKillSwitch(api, expiresAt: noon.adding(seconds: 60))], "it turns pinning off"),
    ]

    @Test(arguments: enforceable) func `the rules of policies require two pins and a reserve of an enforced policy`(
        line: Case
    ) throws {
        try line.check()
    }

    @Test(arguments: lastBackup) func `the rules of policies keep a reserve, unless forced`(line: Case) throws {
        try line.check()
    }

    @Test(arguments: weakenings)
    func `the rules of policies forbid weakening without a reason, with force or not`(
        given commands: [AppCommand], change: [AppCommand], ask: String
    ) throws {
        let app = try given(commands)
        for isForced in [false, true] {
            #expect(throws: Refusal.reasonRequired(ask)) {
                try App.decide(change, app, id: shop, in: context(isForced: isForced))
            }
        }
        #expect(try !App.decide(change, app, id: shop, in: context("because")).isEmpty)
    }

    @Test(
        arguments: [
            ([off], [.setMode(api, .baseline, .reportOnly)]), ([enforced], [.addPin(api, .baseline, new(3))]),
            ([off], [.setSubdomains(api, includesSubdomains: true)]),
            (
                [builtin],
                [.startCandidate(api, mode: .enforce, copiesBaseline: false, pins: [new(1), new(2, .backup)])]
            ),
            ([enforced], [.startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [])]),
            ([roomy], [.setPinRole(api, .baseline, pin(2), .primary)]),
            ([off], [.startCandidate(api, mode: .off, copiesBaseline: false, pins: [])]),
            ([enforced], [.removeHost(api), enforced]),
            ([enforced, .engageKillSwitch(api, expiresAt: noon.adding(seconds: 60))], [.releaseKillSwitch(api)]),
            (candidate, [.promoteCandidate(api)]),
        ] as [([AppCommand], [AppCommand])])
    func `the rules of policies allow keeping or strengthening without a reason`(
        given commands: [AppCommand], change: [AppCommand]
    ) throws {
        let app = try given(commands)
        #expect(try !App.decide(change, app, id: shop, in: context()).isEmpty)
    }

    @Test func `the rules of policies are judged on the result, not on the steps`() throws {
        let app = try given([Self.roomy])
        let there: [AppCommand] = [.setMode(api, .baseline, .off), .setMode(api, .baseline, .enforce)]
        #expect(try App.decide(there, app, id: shop, in: context()).count == 2)
        let back: [AppCommand] = [.retirePin(api, .baseline, pin(3)), .addPin(api, .baseline, new(3))]
        #expect(try App.decide(back, app, id: shop, in: context()).count == 3)
    }
}
