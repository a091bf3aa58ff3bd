import PinWire
import Pinning
import Testing

/// A candidate's life: started, rolled out, promoted or dropped.
@Suite struct `A candidate` {
    static let enforced = AppCommand.addHost(
        api, includesSubdomains: false, mode: .enforce,
        pins: [new(1, note: "live"), new(2, .backup), new(3, isActive: false)]
    )
    static let builtin = AppCommand.addHost(api, includesSubdomains: false, mode: nil, pins: [])
    static let copy = AppCommand.startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [])
    static let fresh = AppCommand.startCandidate(
        api, mode: .enforce, copiesBaseline: false, pins: [new(4), new(5, .emergency)]
    )
    static let half = Rollout(basisPoints: 5000)

    /// Staged and published into the candidate.
    private static func added(_ number: Int, _ role: PinRole = .primary, note: String? = nil) -> [AppEvent] {
        [.pinStaged(api, .candidate, pin(number), role, note: note), .pinActivated(api, .candidate, pin(number))]
    }

    static let life: [Case] = [
        Case(
            "begins with pins of its own", given: [enforced], when: fresh,
            then: [.candidateStarted(api, mode: .enforce)] + added(4) + added(5, .emergency)
        ),
        Case(
            "begins with the baseline's published pins", given: [enforced], when: copy,
            then: [.candidateStarted(api, mode: .enforce)]
                + (pin(1) < pin(2)
                    ? added(1, note: "live") + added(2, .backup) : added(2, .backup) + added(1, note: "live"))
        ),
        Case(
            "begins with a pin of its own in the place of the baseline's", given: [enforced],
            when: .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [new(1, .emergency), new(3)]),
            then: [.candidateStarted(api, mode: .enforce)] + added(2, .backup) + added(1, .emergency) + added(3)
        ),
        Case("copies no built-in pins", given: [builtin], when: copy, refused: .baselineIsBuiltin(api)),
        Case(
            "may stand beside built-in pins", given: [builtin], when: fresh,
            then: [.candidateStarted(api, mode: .enforce)] + added(4) + added(5, .emergency)
        ),
        Case("is one of a host", given: [enforced, fresh], when: copy, refused: .candidateExists(api)),
        Case("needs its host", when: fresh, refused: .hostUnknown(api)),
        Case(
            "is judged like a baseline", given: [enforced],
            when: .startCandidate(api, mode: .enforce, copiesBaseline: false, pins: [new(4)]),
            refused: .tooFewPins(api, .candidate, active: 1)
        ),
        Case(
            "is promoted with its own pins for everybody, for a reason", given: [enforced, fresh],
            when: .promoteCandidate(api), why: "w", then: [.candidatePromoted(api)]),
        Case(
            "is promoted without a reason where no pin is lost", given: [enforced, copy], when: .promoteCandidate(api),
            then: [.candidatePromoted(api)]),
        Case(
            "is promoted over built-in pins", given: [builtin, fresh], when: .promoteCandidate(api),
            then: [.candidatePromoted(api)]),
        Case(
            "must be there to be promoted", given: [enforced], when: .promoteCandidate(api),
            refused: .candidateMissing(api)),
        Case("needs its host to be promoted", when: .promoteCandidate(api), refused: .hostUnknown(api)),
        Case(
            "is promoted once", given: [enforced, fresh, .promoteCandidate(api)], when: .promoteCandidate(api),
            refused: .candidateMissing(api)),
        Case(
            "is dropped, for a reason where its devices lose a pin", given: [enforced, fresh],
            when: .dropCandidate(api), why: "w", then: [.candidateDropped(api)]),
        Case(
            "is dropped without a reason where no pin is lost", given: [enforced, copy], when: .dropCandidate(api),
            then: [.candidateDropped(api)]),
        Case(
            "must be there to be dropped", given: [enforced], when: .dropCandidate(api), refused: .candidateMissing(api)
        ),
        Case("needs its host to be dropped", when: .dropCandidate(api), refused: .hostUnknown(api)),
        Case(
            "is dropped and started anew in one change", given: [enforced, copy], when: .dropCandidate(api), copy,
            then: [.candidateDropped(api), .candidateStarted(api, mode: .enforce)]
                + (pin(1) < pin(2)
                    ? added(1, note: "live") + added(2, .backup) : added(2, .backup) + added(1, note: "live"))
        ),
        Case(
            "gets a rollout", given: [enforced, copy], when: .setHostRollout(api, half),
            then: [.hostRolloutSet(api, half)]),
        Case(
            "has that rollout already", given: [enforced, copy, .setHostRollout(api, half)],
            when: .setHostRollout(api, half), then: []),
        Case(
            "loses its rollout", given: [enforced, copy, .setHostRollout(api, half)], when: .setHostRollout(api, nil),
            then: [.hostRolloutSet(api, nil)]),
        Case(
            "is what a rollout is of", given: [enforced], when: .setHostRollout(api, half),
            refused: .candidateMissing(api)),
        Case("that is not there has no rollout to lose", given: [enforced], when: .setHostRollout(api, nil), then: []),
        Case("needs its host for a rollout", when: .setHostRollout(api, half), refused: .hostUnknown(api)),
        Case("gets a pin", given: [enforced, copy], when: .addPin(api, .candidate, new(6)), then: added(6)),
        Case(
            "gets another mode", given: [enforced, copy], when: .setMode(api, .candidate, .reportOnly), why: "trial",
            then: [.modeSet(api, .candidate, .reportOnly)]
        ),
        Case("has that mode already", given: [enforced, copy], when: .setMode(api, .candidate, .enforce), then: []),
        Case(
            "must be there to get a mode", given: [enforced], when: .setMode(api, .candidate, .off), why: "w",
            refused: .candidateMissing(api)),
        Case(
            "needs its host to get a mode", when: .setMode(api, .candidate, .off), why: "w",
            refused: .hostUnknown(api)),
    ]

    private static let hashes = [Rollout.hashedID("x", salt: "s")]

    /// Whom its rollout lists by name, and under which salt.
    static let lists: [Case] = [
        Case(
            "hashes the ids it lists under the salt of its place", given: [enforced, copy],
            when: .setHostRollout(api, Rollout(basisPoints: 0, whitelist: hashes)),
            then: [.hostRolloutSet(api, Rollout(basisPoints: 0, whitelist: hashes))]),
        Case(
            "hashes them under a salt that is given, where each edit would make another", given: [enforced, copy],
            when: .setHostRollout(api, Rollout(basisPoints: 0, isSticky: false, salt: "s", whitelist: hashes)),
            then: [.hostRolloutSet(api, Rollout(basisPoints: 0, isSticky: false, salt: "s", whitelist: hashes))]),
        Case(
            "lists nobody under a salt that each edit makes", given: [enforced, copy],
            when: .setHostRollout(api, Rollout(basisPoints: 0, isSticky: false, whitelist: hashes)),
            refused: .rolloutWithoutSalt(api)),
        Case(
            "excludes nobody under such a salt, nor does the app's",
            when: .setRollout(Rollout(basisPoints: 0, isSticky: false, exclusions: hashes)),
            refused: .rolloutWithoutSalt(nil)),
        Case(
            "needs no salt of its own where it lists nobody",
            when: .setRollout(Rollout(basisPoints: 0, isSticky: false)),
            then: [.appRolloutSet(Rollout(basisPoints: 0, isSticky: false))]),
    ]

    @Test(arguments: life + lists) func `a candidate carries out a command or refuses it`(line: Case) throws {
        try line.check()
    }

    @Test func `a candidate becomes the baseline with all its pins, and leaves neither rollout nor candidate behind`()
        throws
    {
        let before = try #require(try given([Self.enforced, Self.fresh, .setHostRollout(api, Self.half)]))
        let after = try #require(
            try given([Self.enforced, Self.fresh, .setHostRollout(api, Self.half), .promoteCandidate(api)]))
        let (promoted, candidate) = (after.hosts[api]?[.baseline], before.hosts[api]?.candidate)
        #expect(promoted?.mode == candidate?.mode && promoted?.pins.keys == candidate?.pins.keys)
        // To the devices of the old baseline, every pin of it is new.
        #expect(promoted?.activePins.map(\.pin).allSatisfy { promoted?.pins[$0]?.publishedBy == after.version } == true)
        #expect(after.hosts[api]?.candidate == nil && after.hosts[api]?.rollout == nil)
        #expect(after.version == before.version + 1)
    }

    @Test func `a dropped candidate leaves the baseline as it was`() throws {
        let before = try #require(try given([Self.enforced]))
        let after = try #require(
            try given([Self.enforced, Self.fresh, .setHostRollout(api, Self.half), .dropCandidate(api)]))
        let (left, baseline) = (after.hosts[api]?[.baseline], before.hosts[api]?[.baseline])
        #expect(left?.mode == baseline?.mode && left?.pins.keys == baseline?.pins.keys)
        // To the devices of the candidate, which had none of its pins, they are new.
        #expect(left?.activePins.map(\.pin).allSatisfy { left?.pins[$0]?.publishedBy == after.version } == true)
        #expect(after.hosts[api]?.candidate == nil && after.hosts[api]?.rollout == nil)
    }

    @Test func `a candidate draws a fresh cohort with each edit of its rollout`() throws {
        let edits: [AppCommand] = [
            Self.enforced, Self.copy, .setHostRollout(api, Self.half), .setHostRollout(api, nil),
        ]
        var revisions: [Int64] = []
        for count in 2...4 {
            revisions.append(try #require(try given(Array(edits.prefix(count)))?.hosts[api]?.rolloutRevision))
        }
        #expect(revisions[0] < revisions[1] && revisions[1] < revisions[2])
        let app = try #require(try given([.setRollout(Self.half), .setRollout(nil)]))
        #expect(app.rolloutRevision == 3 && app.version == 3)
    }
}
