import PinWire
import Pinning
import Testing

/// The ladder, rung by rung, and what keeps from going up.
@Suite struct `A reaction` {
    /// One line of a table: a scene, and the verdict on it.
    struct Line: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var scene: Scene
        var step: ReactionStep
        var reasons: [ReactionReason]

        init(
            _ description: String, _ scene: Scene = Scene(), then step: ReactionStep, _ reasons: ReactionReason...,
            change: (inout Scene) -> Void = { _ in }
        ) {
            self.testDescription = description
            self.scene = scene.with(change)
            self.step = step
            self.reasons = reasons
        }

        func check() {
            let verdict = self.scene.verdict
            #expect(verdict?.step == self.step, "\(verdict?.reasons.map(\.rawValue) ?? [])")
            #expect(verdict?.reasons == self.reasons)
        }
    }

    static let reportedOnly = Scene.steady.with {
        $0.baseline = Scene.policy(.reportOnly, [1, 2])
        $0.reactionsTaken = [.init(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -3600))]
    }

    static let rungs: [Line] = [
        Line(
            "rolls a candidate back that lacks the served key", then: .rollBack, .changePoint, .stageTest, .liveUnpinned
        ),
        Line(
            "rolls back to as strong a baseline where nobody looked", then: .rollBack, .changePoint, .stageTest,
            .liveUnknown
        ) {
            $0.sightings = []
        },
        Line("calls somebody where the served key is pinned", then: .page, .changePoint, .stageTest, .livePinned) {
            $0.sightings = [("graz", 3, 60), ("wien", 4, 60)]
        },
        Line("finds nothing in few failures", then: .none) { $0.minutes = [(0, 500, 5), (1, 500, 5)] },
        Line("sets a baseline to report only", Scene.steady, then: .reportOnly, .changePoint, .liveUnpinned),
        Line("turns pinning off once that was in vain", reportedOnly, then: .killSwitch, .changePoint, .liveUnpinned),
        Line(
            "calls somebody instead where it may not", reportedOnly, then: .page, .changePoint, .liveUnpinned,
            .noAutoDisable
        ) { $0.monitoring.autoDisables = false },
        Line(
            "calls somebody instead where few of all installs report", reportedOnly, then: .page, .changePoint,
            .liveUnpinned, .fewReport
        ) { $0.fleet = 3001 },
        Line(
            "calls somebody instead where nobody knows how many installs there are", reportedOnly, then: .page,
            .changePoint, .liveUnpinned, .fewReport
        ) { $0.fleet = nil },
        Line(
            "calls somebody instead where only one place has looked", Scene.steady, then: .page, .changePoint,
            .liveUnpinned, .onePlace, .nothingToHold
        ) { $0.sightings = [("graz", 7, 60)] },
        Line(
            "turns pinning off where just enough report", reportedOnly, then: .killSwitch, .changePoint, .liveUnpinned
        ) { $0.fleet = 3000 },
        Line(
            "takes a sample for all of whom it is one", reportedOnly, then: .killSwitch, .changePoint, .liveUnpinned
        ) {
            $0.fleet = 3000 * 4096
            $0.oneIn = 4096
        },
        Line(
            "takes a sample for no more than that", reportedOnly, then: .page, .changePoint, .liveUnpinned, .fewReport
        ) {
            $0.fleet = 3000 * 4096 + 1
            $0.oneIn = 4096
        },
        Line(
            "leaves alone what somebody else set to report only", reportedOnly, then: .page, .changePoint,
            .liveUnpinned, .notEnforced
        ) { $0.reactionsTaken = [] },
        Line("waits an hour between two steps", reportedOnly, then: .page, .changePoint, .liveUnpinned, .cooldown) {
            $0.reactionsTaken = [.init(host: api, arm: .candidate, step: .rollBack, at: noon.adding(seconds: -3599))]
        },
        Line(
            "waits for no step from the future, by a clock that was ahead", reportedOnly, then: .killSwitch,
            .changePoint, .liveUnpinned
        ) {
            $0.reactionsTaken = [
                .init(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -3700)),
                .init(host: api, arm: .candidate, step: .rollBack, at: noon.adding(seconds: 259_200)),
            ]
        },
        Line(
            "draws no second conclusion from the same reports", reportedOnly, then: .none, .changePoint, .liveUnpinned,
            .spent
        ) {
            $0.reactionsTaken = [
                .init(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -3599 + 1))
            ]
            $0.now = noon.adding(seconds: 3600)
        },
        Line("is not stopped by an earlier hold", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.reactionsTaken = [.init(host: api, arm: .candidate, step: .hold, at: noon)]
        },
        Line("does nothing where pinning is off", then: .none, .changePoint, .stageTest, .liveUnpinned, .notEnforced) {
            $0.candidate = Scene.policy(.off, [3, 4])
        },
        Line("does nothing under a kill switch", then: .none, .changePoint, .stageTest, .liveUnpinned, .notEnforced) {
            $0.hostKillSwitch = KillSwitch(engagedAt: noon, expiresAt: noon.adding(seconds: 1))
        },
        Line(
            "does nothing under the one over everything", then: .none, .changePoint, .stageTest, .liveUnpinned,
            .notEnforced
        ) {
            $0.fleetKillSwitch = KillSwitch(engagedAt: noon, expiresAt: noon.adding(seconds: 1))
        },
        Line("acts again when the kill switch has run out", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.hostKillSwitch = KillSwitch(engagedAt: noon.adding(seconds: -60), expiresAt: noon)
        },
        Line(
            "weakens the candidate alone where the baseline would fail as well", then: .reportOnly, .changePoint,
            .stageTest,
            .liveUnpinned, .baselineFailsToo
        ) { $0.sightings = [("graz", 7, 60), ("wien", 7, 60)] },
        Line(
            "rolls back to a baseline that enforces nothing, if the pins are wrong", then: .rollBack, .changePoint,
            .stageTest,
            .liveUnpinned
        ) {
            $0.baseline = Scene.policy(.reportOnly, [1, 2])
        },
        Line("rolls back to built-in pins", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.baseline = nil
        },
        Line(
            "holds rather than roll back to less, if the pins may be right", then: .hold, .changePoint, .stageTest,
            .liveUnknown,
            .baselineWeaker
        ) {
            $0.baseline = Scene.policy(.reportOnly, [1, 2])
            $0.sightings = []
        },
        Line(
            "calls somebody once nobody has the candidate any more", then: .page, .changePoint, .stageTest,
            .liveUnpinned, .notExposed
        ) {
            $0.rollout = Rollout(basisPoints: 0)
        },
        Line("takes a whitelist for exposure", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.rollout = Rollout(basisPoints: 0, whitelist: [Rollout.hashedID("a", salt: "s")])
        },
        Line("rolls back a candidate that everybody has", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.rollout = nil
        },
        Line(
            "cannot hold what is rolled out", then: .page, .changePoint, .stageTest, .liveUnpinned, .advisory,
            .nothingToHold
        ) {
            $0.rollout = nil
            $0.isAuthenticated = false
        },
        Line(
            "never weakens a baseline of which nothing is known", Scene.steady, then: .page, .changePoint, .liveUnknown,
            .nothingToHold
        ) {
            $0.sightings = []
        },
        Line("knows nothing of built-in pins", Scene.steady, then: .page, .changePoint, .liveUnknown, .nothingToHold) {
            $0.baseline = nil
        },
        Line(
            "does not give devices that nobody refuses a baseline that refuses some servers", then: .hold,
            .changePoint, .stageTest, .liveUnpinned, .baselineStricter
        ) {
            $0.candidate = Scene.policy(.reportOnly, [3, 4])
            $0.sightings = [("graz", 1, 60), ("wien", 7, 60)]
        },
        Line(
            "nor one of which nothing is known", then: .hold, .changePoint, .stageTest, .liveUnknown, .baselineStricter
        ) {
            $0.candidate = Scene.policy(.reportOnly, [3, 4])
            $0.sightings = [("graz", 7, 4000), ("wien", 7, 4000)]
        },
        Line(
            "gives them one that accepts every server", then: .rollBack, .changePoint, .stageTest, .liveUnpinned
        ) { $0.candidate = Scene.policy(.reportOnly, [3, 4]) },
        Line(
            "holds nothing for what was known to whoever went on", then: .page, .changePoint, .stageTest,
            .liveUnpinned, .tooFewInstalls, .reviewed
        ) {
            $0.minutes = [(0, 15, 15), (1, 14, 14)]
            $0.reviewedAt = noon.adding(seconds: -3600 + 61)
        },
        Line(
            "holds once more for what failed since", then: .hold, .changePoint, .stageTest, .liveUnpinned,
            .tooFewInstalls
        ) {
            $0.minutes = [(0, 15, 15), (1, 14, 14)]
            $0.reviewedAt = noon.adding(seconds: -3600 + 60)
        },
        Line("holds a rollout while the baseline fails", then: .hold, .changePoint, .liveUnknown) {
            $0.arm = .baseline
            $0.sightings = []
        },
    ]

    @Test(arguments: rungs) func `a reaction goes as far as its evidence allows`(line: Line) { line.check() }

    /// Each floor met as the scene has it, and missed by one.
    static let floors: [Line] = [
        Line("needs thirty installs", then: .hold, .changePoint, .stageTest, .liveUnpinned, .tooFewInstalls) {
            $0.minutes = [(0, 15, 15), (1, 14, 14)]
        },
        Line("needs thirty within one hour", then: .hold, .changePoint, .stageTest, .liveUnpinned, .tooFewInstalls) {
            $0.minutes = [(0, 29, 29), (60, 29, 29), (120, 29, 29)]
        },
        Line("needs five failing", then: .hold, .stageTest, .liveUnpinned, .tooFewFailures) {
            $0.monitoring.failureThreshold = 10
            $0.minutes = [(0, 15, 2), (1, 15, 2)]
        },
        Line("is content with five failing", then: .rollBack, .stageTest, .liveUnpinned) {
            $0.monitoring.failureThreshold = 10
            $0.minutes = [(0, 15, 2), (1, 15, 3)]
        },
        Line("needs three networks", then: .hold, .changePoint, .stageTest, .liveUnpinned, .tooFewNetworks) {
            $0.networks = [15, 15]
        },
        Line("needs no network to have three fifths", then: .hold, .changePoint, .stageTest, .liveUnpinned, .oneNetwork)
        {
            $0.networks = [60, 20, 20]
        },
        Line("bears a network of just below", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.networks = [59, 21, 20]
        },
        Line("needs a minute", then: .hold, .changePoint, .stageTest, .liveUnpinned, .tooShort) {
            $0.minutes = [(0, 30, 30)]
        },
        Line(
            "counts from one failing minute to the next", then: .hold, .changePoint, .stageTest, .liveUnpinned,
            .tooShort
        ) {
            $0.minutes = [(0, 30, 30), (1, 5, 0)]
        },
        Line("needs a signature", then: .hold, .changePoint, .stageTest, .liveUnpinned, .advisory) {
            $0.isAuthenticated = false
        },
        Line(
            "is not held by a few unsigned reports", then: .page, .stageTest, .liveUnpinned, .advisory, .tooFewInstalls,
            .tooFewNetworks, .tooShort, .oneNetwork
        ) {
            $0.isAuthenticated = false
            $0.minutes = [(0, 5, 5)]
            $0.networks = [5]
        },
        Line(
            "is not held by unsigned reports of two networks", then: .page, .changePoint, .stageTest, .liveUnpinned,
            .advisory, .tooFewNetworks
        ) {
            $0.isAuthenticated = false
            $0.networks = [15, 15]
        },
        Line(
            "is not held by unsigned reports that are only odd", then: .page, .sampleRatio, .liveUnpinned,
            .tooFewFailures, .tooFewNetworks, .tooShort
        ) {
            $0.isAuthenticated = false
            $0.minutes = [(0, 600, 0), (1, 600, 0)]
            $0.networks = []
            $0.reported = [
                Scene().with {
                    $0.isAuthenticated = false
                    $0.arm = .baseline
                    $0.minutes = [(0, 10, 0)]
                }.cell
            ]
        },
        Line(
            "is not held by unsigned reports again", then: .page, .changePoint, .stageTest, .liveUnpinned, .advisory,
            .reviewed
        ) {
            $0.isAuthenticated = false
            $0.reviewedAt = noon.adding(seconds: -3600)
        },
        Line(
            "is not held by unsigned reports of an app that signs", then: .page, .changePoint, .stageTest,
            .liveUnpinned, .advisory, .signedExpected
        ) {
            $0.isAuthenticated = false
            $0.signs = true
        },
        Line("needs reports of these pins", then: .page, .changePoint, .stageTest, .liveUnpinned, .olderPins) {
            $0.version = 4
        },
        Line("is content with the version that brought them", then: .rollBack, .changePoint, .stageTest, .liveUnpinned)
        {
            $0.version = 5
        },
        Line("needs to know the version", then: .page, .changePoint, .stageTest, .liveUnpinned, .olderPins) {
            $0.version = 0
        },
        Line("needs a version that was made", then: .page, .changePoint, .stageTest, .liveUnpinned, .versionUnknown) {
            $0.version = 11
        },
        Line("needs the arm where there are two", then: .hold, .changePoint, .liveUnpinned, .armUnsaid) {
            $0.arm = nil
            $0.sightings = [("graz", 7, 60), ("wien", 7, 60)]
        },
        Line("does without where there is one", Scene.steady, then: .reportOnly, .changePoint, .liveUnpinned) {
            $0.arm = nil
        },
        Line("holds what one release fails at", then: .hold, .changePoint, .stageTest, .liveUnpinned, .oneRelease) {
            $0.releases = [("3.1.2", 15, 14), ("3.1.1", 100, 1)]
        },
        Line("bears a release that most have", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.releases = [("3.1.2", 100, 28), ("3.1.1", 10, 2)]
        },
        Line("bears the only release", then: .rollBack, .changePoint, .stageTest, .liveUnpinned) {
            $0.releases = [("3.1.2", 30, 30)]
        },
    ]

    @Test(arguments: floors) func `a reaction stops at every floor`(line: Line) { line.check() }

    static let truths: [(sightings: [(vantage: String, key: Int, ago: Int64)], GroundTruth)] = [
        ([], .unknown),
        ([("graz", 1, 60)], .unpinned),
        ([("graz", 1, 60), ("wien", 1, 60)], .unpinned),
        ([("graz", 1, 3599), ("wien", 1, 3599)], .unpinned),
        ([("graz", 1, 60), ("wien", 1, 3600)], .unknown),
        ([("graz", 1, 60), ("wien", 1, 90_000)], .unknown),
        ([("graz", 1, 60), ("wien", 1, 700_000)], .unpinned),
        ([("graz", 1, 60), ("wien", 1, 60), ("linz", 1, 4000)], .unpinned),
        ([("graz", 3, 60), ("wien", 1, 60)], .split),
        ([("graz", 3, 80_000), ("wien", 1, 60)], .split),
        ([("graz", 3, 60)], .pinned),
        ([("graz", 3, 80_000), ("wien", 4, 60)], .pinned),
        ([("graz", 3, 90_000)], .unknown),
        // A pinned authority is a pinned key.
        ([("graz", 99, 60)], .unpinned),
    ]

    @Test func `a reaction takes a key for missing only from recent probes at two places, or at all`() {
        for (sightings, truth) in Self.truths {
            let scene = Scene().with { $0.sightings = sightings }
            #expect(scene.verdict?.truth == truth, "\(sightings)")
        }
        let authority = Scene().with { $0.candidate = Scene.policy(.enforce, [99, 4]) }
        #expect(authority.verdict?.truth == .pinned)
    }

    @Test func `a reaction to partial evidence rolls back only to a baseline that accepts every served key`() {
        let split = Scene().with { $0.sightings = [("graz", 3, 60), ("wien", 1, 60)] }
        #expect(split.verdict?.step == .hold && split.verdict?.reasons.last == .baselineWeaker)
        let covered = split.with { $0.baseline = Scene.policy(.enforce, [1, 3]) }
        #expect(covered.verdict?.step == .rollBack)
    }

    // Late failures

    @Test func `a reaction sees a candidate fail after a long good time`() throws {
        // Half a day of nothing at 5 % of the devices, and then the servers present another key.
        let calm = Scene().with { $0.minutes = (0..<40).map { (after: Int64($0), installs: 500, failing: 0) } }
        #expect(calm.verdict?.step == ReactionStep.none)
        let late = calm.with { $0.minutes += (41..<43).map { (after: Int64($0), installs: 40, failing: 12) } }
        let verdict = try #require(late.verdict)
        #expect(verdict.step == .rollBack && verdict.reasons == [.changePoint, .liveUnpinned])
        #expect((verdict.lnStage ?? 0) < 0 && verdict.evidence.excursion == .init(installs: 80, failing: 24))
    }

    // Both arms

    @Test func `a reaction sees that the candidate is worse, and holds while it is not bad`() {
        let worse = Scene().with {
            $0.minutes = [(0, 500, 15), (1, 500, 15)]
            $0.sightings = []
        }
        #expect(worse.verdict?.step == ReactionStep.none)
        let both = worse.withBaselineReports(installs: 19_000, failing: 19)
        #expect(both.verdict?.step == .hold && both.verdict?.reasons == [.twoArmTest, .liveUnknown])
        // Above the threshold it is enough, long before the stage test is sure.
        let bad = Scene().with { $0.minutes = [(0, 20, 3), (1, 20, 3)] }
        #expect(bad.verdict?.step == ReactionStep.none)
        let compared = bad.withBaselineReports(installs: 760, failing: 0)
        #expect(compared.verdict?.step == .rollBack && compared.verdict?.reasons == [.twoArmTest, .liveUnpinned])
    }

    @Test func `a reaction takes a missing arm for broken counting, and holds`() {
        let fine = Scene().with {
            $0.minutes = [(0, 250, 0), (1, 250, 0)]
            $0.sightings = []
        }
        #expect(fine.withBaselineReports(installs: 9500, failing: 0).verdict?.step == ReactionStep.none)
        let lost = fine.withBaselineReports(installs: 6000, failing: 0).verdict
        #expect(lost?.step == .hold && lost?.reasons == [.sampleRatio, .liveUnknown])
        let halved = fine.with { $0.appRollout = Rollout(basisPoints: 5000) }
        #expect(halved.withBaselineReports(installs: 9500, failing: 0).verdict?.reasons.first == .sampleRatio)
        #expect(halved.withBaselineReports(installs: 19_500, failing: 0).verdict?.reasons == [])
        // Who may have it by its id or version is in no calculation.
        let listed = fine.with { $0.rollout?.whitelist = [Rollout.hashedID("a", salt: "s")] }
        #expect(listed.withBaselineReports(installs: 6000, failing: 0).verdict?.reasons == [])
    }

    @Test func `a reaction decides the same in the shadow, and nothing when off`() {
        let act = Scene()
        let shadow = act.with { $0.monitoring.reaction = .shadow }
        #expect(act.verdicts == shadow.verdicts && act.verdict?.step == .rollBack)
        #expect(act.with { $0.monitoring.reaction = .off }.verdicts.isEmpty)
        #expect(act.with { $0.monitoring.isEnabled = false }.verdicts.isEmpty)
    }
}
