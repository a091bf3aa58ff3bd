import PinWire
import Pinning
import SeededRandom
import Testing

/// What a plan waits for, and what it does by itself.
@Suite struct `A step of a rollout plan` {
    /// One line: the step's hold, what became of it, and what is due then.
    struct Line: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var hold: RolloutPlan.Hold
        /// Seconds since the step began.
        var after: Int64
        /// Installs that reported; nil where nothing is known.
        var installs: Int?
        var isApproved = false
        var isExtended = false
        var due: Due

        enum Due: Sendable { case nothing, next, noted, extension_, giveUp }
    }

    static let lines: [Line] = [
        Line(testDescription: "lasts its time", hold: .init(seconds: 10), after: 9, due: .nothing),
        Line(testDescription: "ends with its time", hold: .init(seconds: 10), after: 10, due: .next),
        Line(testDescription: "ends late where nobody looked", hold: .init(seconds: 10), after: 100_000, due: .next),
        Line(
            testDescription: "waits for its installs", hold: .init(installs: 50), after: 60, installs: 49, due: .nothing
        ),
        Line(testDescription: "ends with its installs", hold: .init(installs: 50), after: 60, installs: 50, due: .next),
        Line(testDescription: "takes silence for no sign", hold: .init(installs: 50), after: 86_399, due: .nothing),
        Line(
            testDescription: "waits once more after a day of silence", hold: .init(installs: 50), after: 86_400,
            installs: 0, due: .extension_),
        Line(
            testDescription: "concludes nothing while it is not known what was reported", hold: .init(installs: 50),
            after: 86_400, due: .nothing),
        Line(
            testDescription: "waits once more after a day of too few", hold: .init(installs: 50), after: 86_400,
            installs: 49,
            due: .extension_),
        Line(
            testDescription: "waits for them twice its time", hold: .init(seconds: 600, installs: 50), after: 1199,
            installs: 49, due: .nothing),
        Line(
            testDescription: "and then once more", hold: .init(seconds: 600, installs: 50), after: 1200, installs: 49,
            due: .extension_),
        Line(
            testDescription: "and then no more", hold: .init(seconds: 600, installs: 50), after: 2400, installs: 49,
            isExtended: true, due: .giveUp),
        Line(
            testDescription: "not before that", hold: .init(seconds: 600, installs: 50), after: 2399, installs: 49,
            isExtended: true, due: .nothing),
        Line(
            testDescription: "goes on where they come late", hold: .init(seconds: 600, installs: 50), after: 2399,
            installs: 50,
            isExtended: true, due: .next),
        Line(
            testDescription: "lasts its time though they are there, which is noted",
            hold: .init(seconds: 600, installs: 50), after: 599, installs: 50, due: .noted),
        Line(
            testDescription: "waits for somebody, however long", hold: .init(needsApproval: true), after: 10_000_000,
            due: .nothing),
        Line(
            testDescription: "ends when somebody approves", hold: .init(needsApproval: true), after: 0,
            isApproved: true,
            due: .next),
        Line(
            testDescription: "lasts its time though somebody approves", hold: .init(seconds: 10, needsApproval: true),
            after: 9, isApproved: true, due: .nothing),
        Line(
            testDescription: "does not give up on installs that are there for want of approval",
            hold: .init(seconds: 600, installs: 50, needsApproval: true), after: 100_000, installs: 50,
            isExtended: true,
            due: .noted),
    ]

    private static func facts(_ count: Int?, since start: Timestamp = noon) -> ExternalFacts {
        ExternalFacts(telemetry: { _ in
            count.map { count in
                TelemetryFacts(
                    measuredAt: start,
                    cells: [
                        OutcomeCell(
                            host: api, arm: .candidate, version: 9, isAuthenticated: true,
                            minutes: [.init(minute: start, installs: count, failing: 0)], installs: count)
                    ])
            }
        })
    }

    static func context(_ facts: ExternalFacts, at now: Timestamp) -> DecisionContext {
        DecisionContext(now: now, reason: nil, isForced: false, facts: facts, actor: .system) { _ in false }
    }

    private func app(_ terms: RolloutPlan.Terms) throws -> App {
        try #require(try given(RolloutPlanTests.started + [.rollout(api, .setPlan(terms))]))
    }

    @Test(arguments: lines) func `a step of a rollout plan is decided by its hold`(line: Line) throws {
        for rule in RolloutPlan.Inconclusive.allCases {
            var app = try self.app(
                RolloutPlan.Terms(steps: [.init(100, line.hold), .init(10_000)], onInconclusive: rule))
            if line.isApproved { app.evolve(.rolloutStepApproved(api, step: 1), at: noon) }
            if line.isExtended { app.evolve(.rolloutStepExtended(api, step: 1), at: noon) }
            let context = Self.context(Self.facts(line.installs), at: noon.adding(seconds: line.after))
            let events = try App.decide([.rollout(api, .drive)], app, id: shop, in: context)
            switch line.due {
            case .nothing: #expect(events == [])
            case .next: #expect(events == [.rolloutStepTaken(api, step: 2, basisPoints: 10_000)])
            case .noted: #expect(events == [.rolloutSampleReached(api, step: 1, installs: 50)])
            case .extension_: #expect(events == [.rolloutStepExtended(api, step: 1)])
            case .giveUp:
                #expect(events.count == 1)
                switch (rule, events.first) {
                case (.hold, .rolloutPaused(api, .inconclusive, detail: _)?): break
                case (.revert, .rolloutRolledBack(api, .inconclusive, detail: _)?): break
                default: Issue.record("\(events)")
                }
            }
            // Whatever is due, a pause and a kill switch keep it.
            var paused = app
            paused.evolve(.rolloutPaused(api, .requested, detail: nil), at: noon)
            #expect(paused.dueMove(of: api, in: context) == nil)
            for place in [api, nil] {
                var off = app
                off.evolve(.killSwitchEngaged(place, expiresAt: context.now.adding(seconds: 1)), at: noon)
                #expect(off.dueMove(of: api, in: context) == nil)
                off.evolve(.killSwitchReleased(place), at: noon)
                #expect(off.dueMove(of: api, in: context) == app.dueMove(of: api, in: context))
            }
        }
    }

    @Test
    func `a step of a rollout plan counts installs of its own host's candidate since it began, proven ones first`()
        throws
    {
        let app = try self.app(RolloutPlan.Terms(steps: [.init(100, .init(installs: 10)), .init(200)]))
        func cell(
            _ count: Int, host: HostPattern = api, arm: PolicySlot? = .candidate, version: Int64 = 9,
            proven: Bool = true,
            minute: Int64 = 60, anHourLater: Int = 0
        ) -> OutcomeCell {
            OutcomeCell(
                host: host, arm: arm, version: version, isAuthenticated: proven,
                minutes: [
                    .init(minute: noon.adding(seconds: minute), installs: count, failing: 0),
                    .init(minute: noon.adding(seconds: minute + 3600), installs: anHourLater, failing: 0),
                ],
                installs: count + anHourLater)
        }
        let cases: [([OutcomeCell], Bool)] = [
            ([cell(10)], true), ([cell(9)], false),
            // Where some have proof, the others do not count: anyone can make them.
            ([cell(9), cell(10, proven: false)], false), ([cell(1000, proven: false)], false),
            ([cell(10, host: cdn)], false), ([cell(10, arm: .baseline)], false), ([cell(10, arm: nil)], false),
            ([cell(10, minute: -60)], false),
            // A client goes from one version to the next.
            ([cell(9), cell(9, version: 10)], false),
            // And reports again every hour.
            ([cell(5, anHourLater: 5)], false), ([cell(5, anHourLater: 10)], true),
            ([], false),
        ]
        for (cells, isEnough) in cases {
            let facts = ExternalFacts(telemetry: { _ in TelemetryFacts(measuredAt: noon, cells: cells) })
            let move = app.dueMove(of: api, in: Self.context(facts, at: noon.adding(seconds: 90)))
            #expect((move != nil) == isEnough, "\(cells)")
        }
    }

    @Test func `a step of a rollout plan counts unsigned installs where the operator says so, by network`() throws {
        var app = try self.app(RolloutPlan.Terms(steps: [.init(100, .init(installs: 500)), .init(200)]))
        func cell(_ networks: [Int], oneIn: Int = 1) -> OutcomeCell {
            let origins = Dictionary(uniqueKeysWithValues: networks.enumerated().map { (UInt32($0), $1) })
            let installs = networks.reduce(0, +)
            return OutcomeCell(
                host: api, arm: .candidate, version: 9, isAuthenticated: false,
                minutes: [
                    .init(
                        minute: noon.adding(seconds: 60), installs: installs, failing: 0, oneIn: oneIn, origins: origins
                    )
                ],
                installs: installs)
        }
        func isDue(_ cells: [OutcomeCell]) -> Bool {
            let facts = ExternalFacts(telemetry: { _ in TelemetryFacts(measuredAt: noon, cells: cells) })
            return app.dueMove(of: api, in: Self.context(facts, at: noon.adding(seconds: 90))) != nil
        }
        let spread = Array(repeating: 100, count: 5)
        for isCounting in [false, true] {
            app.monitoring.countsUnsigned = isCounting
            #expect(isDue([cell(spread)]) == isCounting)
            #expect(!isDue([cell([1200])]))
            #expect(!isDue([cell([600, 600, 99, 99, 99])]))
            #expect(isDue([cell([600, 600, 100, 100, 100])]) == isCounting)
            #expect(isDue([cell(Array(repeating: 1, count: 500))]) == isCounting)
            // A sample counts for what it was drawn from, and no network for more than it may.
            #expect(!isDue([cell([25, 25, 25, 25, 24], oneIn: 4)]))
            // Where some sign, the others are not needed.
            #expect(
                !isDue([
                    cell(spread),
                    OutcomeCell(
                        host: api, arm: .candidate, version: 8, isAuthenticated: true,
                        minutes: [.init(minute: noon.adding(seconds: 60), installs: 1, failing: 0)], installs: 1),
                ]))
        }
        app.monitoring.countsUnsigned = false
        let alone = cell([1200])
        let facts = ExternalFacts(telemetry: { _ in TelemetryFacts(measuredAt: noon, cells: [alone]) })
        var state = LedgerState()
        state.apps.insert(app)
        let progress = try state.progress(
            ofPlan: api, app: shop, in: Self.context(facts, at: noon.adding(seconds: 90)))
        #expect(
            progress.waits.first { $0.kind == .installs }?.detail.contains("1200 did so in unsigned reports")
                == true)
    }

    @Test func `a step of a rollout plan goes through its whole life, restarted at every moment`() throws {
        var state = LedgerState()
        var now = noon
        state.apps.insert(
            try self.app(
                RolloutPlan.Terms(
                    steps: [
                        .init(100, .init(seconds: 5)), .init(2500, .init(seconds: 5, needsApproval: true)),
                        .init(10_000, .init(seconds: 5)),
                    ], bake: 7, ending: .promote)))
        var shares: [Int] = []
        var phases: [String] = []
        while let app = state.apps[shop], app.plan(of: api)?.isUnderWay == true, now < noon.adding(seconds: 100) {
            if let points = app.rollout(of: api)?.basisPoints, shares.last != points { shares.append(points) }
            if let name = app.plan(of: api)?.phase.name, phases.last != name { phases.append(name) }
            now = now.adding(seconds: 1)
            let progress = try state.progress(ofPlan: api, app: shop, in: Self.context(unseen, at: now))
            if progress.waits.contains(where: { $0.kind == .approval && $0.isMet == false }) {
                let events = try state.decide(
                    .app(shop, [.rollout(api, .advance(step: 2))]), in: PinningTests.context()
                ).events
                for event in events { _ = state.apply(event, of: .app(shop), at: now) }
            }
            var asking = Self.context(unseen, at: now)
            asking.reason = reason("the plan has come to it")
            #expect(
                try state.decide(.app(shop, [.rollout(api, .drive)]), in: asking).events.isEmpty
                    == !state.isDue(api, app: shop, in: asking))
            for event in try state.decide(.app(shop, [.rollout(api, .drive)]), in: asking).events {
                _ = state.apply(event, of: .app(shop), at: now)
            }
            // Another process that reads the snapshot.
            var restored = LedgerState()
            for part in 0..<LedgerState.snapshotPartCount {
                try restored.restore(part: part, from: state.snapshotPart(part)[...])
            }
            #expect(restored.apps == state.apps)
            state = restored
        }
        #expect(shares == [100, 2500, 10_000])
        #expect(phases == ["running", "baking"])
        let host = state.apps[shop]?.hosts[api]
        #expect(host?.plan?.phase == .done)
        #expect(host?.candidate == nil && host?.rollout == nil)
        // 5 s, 5 s with approval, 5 s, 7 s of bake time; each seen within a second.
        #expect(now >= noon.adding(seconds: 22) && now <= noon.adding(seconds: 26))
    }

    @Test func `a step of a rollout plan starts when its time has come, and not before`() throws {
        let start = noon.adding(seconds: 100)
        let app = try self.app(RolloutPlan.Terms(steps: [.init(100)], startsAt: start))
        #expect(app.rollout(of: api)?.basisPoints == 0)
        #expect(app.dueMove(of: api, in: Self.context(unseen, at: start.adding(seconds: -1))) == nil)
        #expect(app.dueMove(of: api, in: Self.context(unseen, at: start)) == .take(step: 1, basisPoints: 100))
    }

    @Test func `a step is counted again after a pause for inconclusive or failing reports, and after no other`() throws
    {
        let later = noon.adding(seconds: 1000)
        for cause in RolloutPlan.Cause.allCases {
            var app = try self.app(RolloutPlan.Terms(steps: [.init(100, .init(seconds: 10)), .init(200)]))
            app.evolve(.rolloutStepExtended(api, step: 1), at: noon)
            app.evolve(.rolloutPaused(api, cause, detail: nil), at: noon)
            app.evolve(.rolloutResumed(api), at: later)
            let isAnew = cause == .inconclusive || cause == .reports
            #expect(app.plan(of: api)?.since == (isAnew ? later : noon))
            #expect(app.plan(of: api)?.isExtended == !isAnew)
            #expect(app.plan(of: api)?.reviewedAt == (cause == .reports ? later : nil))
            #expect(app.plan(of: api)?.pause == nil)
        }
    }

    /// Everything that may happen to a plan, in any order: shares change by recorded events alone, the server goes on only
    /// where all is there that was asked for, and never promotes on silence.
    @Test(arguments: TestDepth.seeds(200))
    func `a step of a rollout plan keeps its invariants, whatever happens`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var now = noon
        var state = LedgerState()
        state.apps.insert(try #require(try given(RolloutPlanTests.started)))
        var promotions = 0
        for _ in 0..<150 {
            now = now.adding(seconds: random.pick([1, 3, 60, 4000, 100_000]))
            let count: Int? = random.pick([nil, 0, 49, 50])
            let facts = Self.facts(count, since: now)
            let isSystem = !random.once(in: 3)
            let command: AppCommand = isSystem ? .rollout(api, .drive) : Self.command(&random, now)
            var context = Self.context(facts, at: now)
            context.reason = reason("w")
            if !isSystem { context.actor = .token }
            guard let before = state.apps[shop] else { return }
            guard let decision = try? state.decide(.app(shop, [command]), in: context) else { continue }
            for event in decision.events { _ = state.apply(event, of: .app(shop), at: now) }
            guard let after = state.apps[shop] else { return }
            let types = Set(decision.events.map(\.type))
            if before.rollout(of: api) != after.rollout(of: api) {
                #expect(
                    !types.isDisjoint(with: [
                        "RolloutStepTaken", "RolloutRolledBack", "HostRolloutSet", "CandidatePromoted",
                        "CandidateDropped",
                    ]))
            }
            guard isSystem, !types.isEmpty else { continue }
            let plan = try #require(before.plan(of: api))
            #expect(plan.isUnderWay && plan.pause == nil)
            #expect(before.killSwitch?.isInForce(at: now) != true)
            guard !types.isDisjoint(with: ["RolloutStepTaken", "RolloutBakeStarted", "RolloutPlanFinished"]) else {
                #expect(
                    types.isSubset(of: [
                        "RolloutSampleReached", "RolloutStepExtended", "RolloutPaused", "RolloutRolledBack",
                    ]))
                continue
            }
            // Said once more, in other words than the plan's own.
            switch plan.phase {
            case .scheduled: #expect(plan.terms.startsAt.map { $0 <= now } == true)
            case .running(let step):
                let hold = plan.terms.steps[step - 1].hold
                #expect(hold.seconds.map { plan.since.adding(seconds: $0) <= now } ?? true)
                let isEnough = plan.sampledAt != nil || (count ?? 0) >= hold.installs ?? 0
                #expect(isEnough)
                #expect(!hold.needsApproval || plan.isApproved)
                if let next = after.plan(of: api)?.currentStep, case .running = after.plan(of: api)?.phase {
                    #expect(next == step + 1)
                    #expect(after.rollout(of: api)?.basisPoints == plan.terms.steps[step].basisPoints)
                }
            case .baking: #expect(plan.since.adding(seconds: plan.terms.bake) <= now)
            case .done, .rolledBack, .ended: Issue.record("it is over")
            }
            if types.contains("CandidatePromoted") {
                promotions += 1
                #expect(plan.terms.ending == .promote && before.rollout(of: api)?.basisPoints == 10_000)
                for command in RolloutPlanTests.started.dropFirst() {
                    for event
                        in (try? state.decide(.app(shop, [command]), in: PinningTests.context("w", isForced: true)))?
                        .events ?? []
                    {
                        _ = state.apply(event, of: .app(shop), at: now)
                    }
                }
            }
        }
    }

    private static func command(_ random: inout SeededGenerator, _ now: Timestamp) -> AppCommand {
        func hold() -> RolloutPlan.Hold {
            random.pick([
                .init(seconds: 1), .init(seconds: 100), .init(installs: 50), .init(needsApproval: true),
                .init(seconds: 60, installs: 50, needsApproval: true),
            ])
        }
        switch Int.random(in: 0..<14, using: &random) {
        case 0, 1, 2:
            return .rollout(
                api,
                .setPlan(
                    RolloutPlan.Terms(
                        steps: [.init(100, hold()), .init(5000, hold()), .init(10_000, hold())],
                        bake: random.pick([0, 50]), startsAt: random.pick([nil, now.adding(seconds: 10)]),
                        ending: random.pick([.promote, .stay]), onInconclusive: random.pick([.hold, .revert]))))
        case 3: return .rollout(api, .pause(.requested, detail: nil))
        case 4, 5: return .rollout(api, .resume)
        case 6, 7, 8: return .rollout(api, .advance(step: nil))
        case 9: return .rollout(api, .jump(step: Int.random(in: 0...4, using: &random)))
        case 10: return .rollout(api, .rollBack(.requested, detail: nil))
        case 11: return .setHostRollout(api, Rollout(basisPoints: random.pick([0, 100, 300])))
        case 12: return .engageKillSwitch(nil, expiresAt: now.adding(seconds: 100))
        default: return .rollout(api, .clearPlan)
        }
    }
}

/// The plan's tables, under a name that code can say.
typealias RolloutPlanTests = `A rollout plan`
typealias CandidateTests = `A candidate`
