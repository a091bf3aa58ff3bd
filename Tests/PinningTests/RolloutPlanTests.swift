import PinWire
import Pinning
import Testing

/// A plan's response to each command, state by state.
@Suite struct `A rollout plan` {
    static let hour: Int64 = 3600
    static let terms = RolloutPlan.Terms(
        steps: [
            .init(100, .init(seconds: hour)), .init(2500, .init(needsApproval: true)),
            .init(10_000, .init(installs: 50)),
        ], bake: 2 * hour, ending: .promote, onInconclusive: .revert
    )
    static let later = RolloutPlan.Terms(
        steps: terms.steps, startsAt: noon.adding(seconds: hour), onInconclusive: .hold)
    static let started: [AppCommand] = [
        CandidateTests.enforced, CandidateTests.copy, .setHostRollout(api, Rollout(basisPoints: 0)),
    ]
    static func of(_ command: RolloutCommand, _ pattern: HostPattern? = api) -> AppCommand {
        .rollout(pattern, command)
    }
    static func taken(_ step: Int, _ pattern: HostPattern? = api) -> AppEvent {
        .rolloutStepTaken(pattern, step: step, basisPoints: terms.steps[step - 1].basisPoints)
    }
    static let running = started + [of(.setPlan(terms))]
    static let scheduled = started + [of(.setPlan(later))]
    static let paused = running + [of(.pause(.blocked, detail: "G09"))]
    static let rolledBack = running + [of(.rollBack(.requested, detail: nil))]
    /// A plan for a candidate as strong as the baseline.
    private static let equals: [AppCommand] = [
        .addHost(api, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup)]),
        .startCandidate(api, mode: .reportOnly, copiesBaseline: true, pins: []),
    ]
    static let reported =
        equals + [.setHostRollout(api, Rollout(basisPoints: 0)), of(.setPlan(terms))]
    static let reportedByAll =
        equals + [.setRollout(Rollout(basisPoints: 0)), of(.setPlan(later), nil)]
    static let weaker =
        "The baseline of api.example.com is stronger than its candidate now, which it was not when the plan was set: each further step would weaken the protection of devices. Resume the plan if that is intended, or drop the candidate."
    static let promoted = running + [.promoteCandidate(api)]
    static let dropped = running + [.dropCandidate(api)]

    static let life: [Case] = [
        Case(
            "begins at once where no time is set", given: started, when: of(.setPlan(terms)),
            then: [.rolloutPlanSet(api, terms), taken(1)]),
        Case("waits for its time", given: started, when: of(.setPlan(later)), then: [.rolloutPlanSet(api, later)]),
        Case("is set once", given: running, when: of(.setPlan(terms)), then: []),
        Case(
            "takes the place of another", given: scheduled, when: of(.setPlan(terms)),
            then: [.rolloutPlanSet(api, terms), taken(1)]),
        Case(
            "may begin anew after a roll-back", given: rolledBack, when: of(.setPlan(terms)),
            then: [.rolloutPlanSet(api, terms), taken(1)]),
        Case(
            "goes for a whole app", given: started + [.setRollout(Rollout(basisPoints: 0))],
            when: of(.setPlan(later), nil), then: [.rolloutPlanSet(nil, later)]),
        Case("needs its host", given: started, when: of(.setPlan(terms), cdn), refused: .hostUnknown(cdn)),
        Case(
            "needs a candidate", given: [CandidateTests.enforced], when: of(.setPlan(terms)),
            refused: .candidateMissing(api)),
        Case(
            "needs a rollout that leaves somebody out", given: [CandidateTests.enforced, CandidateTests.copy],
            when: of(.setPlan(terms)), refused: .rolloutUnplannable(api, .everybodyIsIn)),
        Case(
            "never begins with fewer devices than there are",
            given: started + [.setHostRollout(api, Rollout(basisPoints: 101))], when: of(.setPlan(terms)),
            refused: .rolloutUnplannable(api, .beyond(101, first: 100))),
        Case(
            "goes by shares",
            given: started + [
                .setHostRollout(
                    api, Rollout(basisPoints: 0, method: .whitelist, whitelist: [Rollout.hashedID("x", salt: "s")]))
            ], when: of(.setPlan(terms)), refused: .rolloutUnplannable(api, .listed)),
        Case(
            "keeps to whole percentages where buckets do",
            given: started + [.setHostRollout(api, Rollout(basisPoints: 0, bucketing: .unleash))],
            when: of(.setPlan(RolloutPlan.Terms(steps: [.init(150, .init(seconds: 1)), .init(200)]))),
            refused: .rolloutUnplannable(api, .wholePercentages)),
        Case(
            "of an app promotes nothing", given: started + [.setRollout(Rollout(basisPoints: 0))],
            when: of(.setPlan(terms), nil), refused: .rolloutUnplannable(nil, .nothingToPromote)),
        Case(
            "does not begin in the past", given: started,
            when: of(.setPlan(RolloutPlan.Terms(steps: terms.steps, startsAt: noon))), refused: .expiryNotAhead(noon)),
        Case(
            "does not begin in the far future", given: started,
            when: of(.setPlan(RolloutPlan.Terms(steps: terms.steps, startsAt: noon.adding(seconds: 90 * 86_400 + 1)))),
            refused: .expiryTooFar(
                noon.adding(seconds: 90 * 86_400 + 1), limit: noon.adding(seconds: 90 * 86_400))),
        Case(
            "alone says how far the rollout goes", given: running,
            when: .setHostRollout(api, Rollout(basisPoints: 300)), refused: .rolloutPlanned(api)),
        Case(
            "alone says so while it is paused too", given: paused, when: .setHostRollout(api, nil),
            refused: .rolloutPlanned(api)),
        Case(
            "leaves the lists to whoever edits them", given: running,
            when: .setHostRollout(
                api, Rollout(basisPoints: 100, exclusions: [Rollout.hashedID("x", salt: "s")])),
            then: [
                .hostRolloutSet(api, Rollout(basisPoints: 100, exclusions: [Rollout.hashedID("x", salt: "s")]))
            ]),
        Case(
            "says nothing more once it is over", given: rolledBack,
            when: .setHostRollout(api, Rollout(basisPoints: 300)),
            then: [.hostRolloutSet(api, Rollout(basisPoints: 300))]),
        Case(
            "is cleared, and the share stays", given: running, when: of(.clearPlan), then: [.rolloutPlanCleared(api)]),
        Case(
            "cannot be cleared where there is none", given: started, when: of(.clearPlan),
            refused: .rolloutPlanUnknown(api)),
    ]

    static let control: [Case] = [
        Case(
            "is paused with the reason of whoever pauses it", given: running, when: of(.pause(.requested, detail: nil)),
            why: "lunch", then: [.rolloutPaused(api, .requested, detail: "lunch")]),
        Case("is paused once", given: paused, when: of(.pause(.requested, detail: nil)), then: []),
        Case(
            "is paused before it begins", given: scheduled, when: of(.pause(.requested, detail: nil)),
            then: [.rolloutPaused(api, .requested, detail: nil)]),
        Case(
            "is not paused where there is none", given: started, when: of(.pause(.requested, detail: nil)),
            refused: .rolloutPlanUnknown(api)),
        Case(
            "is not paused when it is over", given: rolledBack, when: of(.pause(.requested, detail: nil)),
            refused: .rolloutPlanState(api, .over(.rolledBack))),
        Case("is resumed", given: paused, when: of(.resume), then: [.rolloutResumed(api)]),
        Case("is resumed once", given: running, when: of(.resume), then: []),
        Case(
            "is approved of at a step that asks for it", given: running + [of(.jump(step: 2))],
            when: of(.advance(step: 2)), then: [.rolloutStepApproved(api, step: 2)]),
        Case(
            "is approved of once", given: running + [of(.jump(step: 2)), of(.advance(step: nil))],
            when: of(.advance(step: nil)), then: []),
        Case(
            "is not approved of at a step that does not ask for it", given: running, when: of(.advance(step: nil)),
            refused: .rolloutPlanState(api, .noApproval(1))),
        Case(
            "is not approved of at another step", given: running + [of(.jump(step: 2))], when: of(.advance(step: 1)),
            refused: .rolloutPlanState(api, .otherStep(2))),
        Case(
            "is not approved of before it begins", given: scheduled, when: of(.advance(step: nil)),
            refused: .rolloutPlanState(api, .atNoStep(.scheduled))),
        Case(
            "is not approved of while it is paused", given: paused, when: of(.advance(step: nil)),
            refused: .rolloutPlanState(api, .paused)),
        Case("jumps on", given: running, when: of(.jump(step: 3)), then: [taken(3)]),
        Case("jumps back", given: running + [of(.jump(step: 3))], when: of(.jump(step: 1)), then: [taken(1)]),
        Case("jumps before its time", given: scheduled, when: of(.jump(step: 1)), then: [taken(1)]),
        Case("jumps out of a pause", given: paused, when: of(.jump(step: 2)), then: [.rolloutResumed(api), taken(2)]),
        Case(
            "jumps only to its own steps", given: running, when: of(.jump(step: 4)),
            refused: .rolloutPlanState(api, .noStep(4, of: 3))),
        Case(
            "does not jump when it is over", given: dropped, when: of(.jump(step: 1)),
            refused: .rolloutPlanState(api, .over(.ended))),
        Case(
            "is rolled back", given: running, when: of(.rollBack(.requested, detail: nil)), why: "errors",
            then: [.rolloutRolledBack(api, .requested, detail: "errors")]),
        Case("is rolled back once", given: rolledBack, when: of(.rollBack(.requested, detail: nil)), then: []),
        Case(
            "need not be there for a roll-back", given: started, when: of(.rollBack(.reports, detail: "D1")),
            then: [.rolloutRolledBack(api, .reports, detail: "D1")]),
        Case(
            "is not rolled back without a candidate", given: promoted, when: of(.rollBack(.requested, detail: nil)),
            refused: .candidateMissing(api)),
        Case(
            "that was rolled back does not promote", given: rolledBack, when: .promoteCandidate(api),
            refused: .rolloutRolledBack(api, since: noon)),
        Case(
            "does not keep anybody from promoting", given: running, when: .promoteCandidate(api),
            then: [.candidatePromoted(api)]),
        Case(
            "is paused where the baseline becomes stronger than its candidate", given: reported,
            when: .setMode(api, .baseline, .enforce),
            then: [.modeSet(api, .baseline, .enforce), .rolloutPaused(api, .blocked, detail: weaker)]),
        Case(
            "of the app is paused likewise", given: reportedByAll, when: .setMode(api, .baseline, .enforce),
            then: [.modeSet(api, .baseline, .enforce), .rolloutPaused(nil, .blocked, detail: weaker)]),
        Case(
            "goes on where a person says so in the same change", given: reported,
            when: .setMode(api, .baseline, .enforce), of(.jump(step: 2)),
            then: [.modeSet(api, .baseline, .enforce), taken(2)]),
        Case("has nothing to do too early", given: running, when: of(.drive), then: []),
        Case("has nothing to do while it is paused", given: paused, when: of(.drive), then: []),
        Case("that is not there has nothing to do", given: started, when: of(.drive), then: []),
    ]

    @Test(arguments: life) func `a rollout plan, once set, behaves as its table says`(line: Case) throws {
        try line.check()
    }
    @Test(arguments: control) func `a rollout plan carries out each command as its table says`(line: Case) throws {
        try line.check()
    }

    @Test func `a rolled back rollout plan lets no device in, and keeps the candidate`() throws {
        let list = [Rollout.hashedID("x", salt: "s")]
        var edited = Rollout(basisPoints: 0)
        edited.whitelist = list
        for planned in [[], [Self.of(.setPlan(Self.terms))]] {
            var app = try #require(try given(Self.started + [.setHostRollout(api, edited)] + planned))
            app.evolve(.rolloutRolledBack(api, .requested, detail: nil), at: noon)
            #expect(app.hosts[api]?.rollout?.basisPoints == 0)
            #expect(app.hosts[api]?.rollout?.whitelist == [])
            #expect(app.hosts[api]?.candidate != nil)
            #expect(app.rolledBackAt(of: api) == noon)
        }
        // A candidate for all devices.
        var app = try #require(try given([CandidateTests.enforced, CandidateTests.copy]))
        app.evolve(.rolloutRolledBack(api, .requested, detail: nil), at: noon)
        #expect(app.hosts[api]?.rollout == Rollout(basisPoints: 0))
    }

    @Test func `a rollout plan ends with its candidate, and is removed with its host`() throws {
        #expect(try given(Self.promoted)?.plan(of: api)?.phase == .ended)
        #expect(try given(Self.dropped)?.plan(of: api)?.phase == .ended)
        #expect(try given(Self.dropped + [CandidateTests.copy])?.plan(of: api) == nil)
        let app = try #require(try given(Self.running + [.removeHost(api)]))
        #expect(app.plannedPlaces.isEmpty)
    }

    @Test func `a rollout plan draws no other devices with its steps`() throws {
        var app = try #require(
            try given(Self.started + [.setHostRollout(api, Rollout(basisPoints: 0, isSticky: false))]))
        let revision = app.hosts[api]?.rolloutRevision
        app.evolve(.rolloutStepTaken(api, step: 1, basisPoints: 100), at: noon)
        #expect(app.hosts[api]?.rolloutRevision == revision)
        #expect(app.hosts[api]?.rollout?.basisPoints == 100)
    }

    @Test func `a rollout plan is written and read, and refused where it is malformed`() throws {
        for terms in [Self.terms, Self.later] {
            #expect(try RolloutPlan.Terms(JSONField(terms.json)) == terms)
        }
        func defect(_ json: JSON) -> String? {
            do {
                _ = try RolloutPlan.Terms(JSONField(json))
                return nil
            } catch {
                return error.description
            }
        }
        func step(_ points: Int64, _ more: [String: JSON] = ["for_seconds": 1]) -> JSON {
            .object(["basis_points": .integer(points)].merging(more) { $1 })
        }
        let cases: [(JSON, String?)] = [
            (["steps": [step(1), step(2, [:])]], nil),
            (["steps": []], "/steps: must have at least one step"),
            (["steps": [step(2), step(2)]], "/steps/1: must be above the previous step"),
            (["steps": [step(1, [:]), step(2)]], "/steps/0: must wait for something"),
            (["steps": [step(0)]], "/steps/0/basis_points: must be from 1"),
            (["steps": [step(10_001)]], "/steps/0/basis_points: must be from 1"),
            (["steps": [step(1, ["for_seconds": 0])]], "/steps/0/for_seconds: must be from 1"),
            (["steps": [step(1, ["for_seconds": 2_592_001])]], "/steps/0/for_seconds: must be from 1"),
            (["steps": [step(1, ["installs": 0])]], "/steps/0/installs: must be from 1"),
            (["steps": [step(1, ["until": 0])]], "/steps/0/until: is not a member here"),
            (["steps": .array((1...21).map { step($0) })], "/steps: may have at most 20"),
            (["steps": [step(9999)], "at_end": "promote"], "/at_end: can be promote only if"),
            (["steps": [step(10_000, [:])], "at_end": "promote"], "/steps/0: must wait for something"),
            (["steps": [step(10_000, [:])], "at_end": "promote", "bake_seconds": 1], nil),
            (["steps": [step(1)], "bake_seconds": 2_592_001], "/bake_seconds: must be from 0"),
            (["steps": [step(1)], "starts_at": "tomorrow"], "/starts_at: must be a time"),
            (["steps": [step(1)], "on_inconclusive": "promote"], "/on_inconclusive: must be one of"),
        ]
        for (json, expected) in cases {
            let found = defect(json)
            #expect(expected.map { found?.hasPrefix($0) == true } ?? (found == nil), "\(found ?? "accepted") \(json)")
        }
    }
}
