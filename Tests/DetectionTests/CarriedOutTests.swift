import PinWire
import Pinning
import Testing

/// What the server does because of reports, decided as any other change is.
@Suite struct `What the server does by itself` {
    /// The state of the scene, and what a node knows besides.
    private func given(
        _ scene: Scene, plan: RolloutPlan.Terms? = nil, _ change: (inout App) -> Void = { _ in }
    ) -> (state: LedgerState, context: DecisionContext) {
        var app = scene.app
        if let plan {
            app.evolve(.rolloutPlanSet(api, plan), at: noon)
            app.evolve(.rolloutStepTaken(api, step: 1, basisPoints: 500), at: noon)
            app.version = 10
        }
        app.reactionsTaken = scene.reactionsTaken
        change(&app)
        var state = LedgerState()
        state.fleet = scene.fleetState
        state.apps.insert(app)
        var facts = scene.facts
        let telemetry = TelemetryFacts(measuredAt: scene.now, cells: [scene.cell] + scene.reported)
        facts.telemetry = { $0 == shop ? telemetry : nil }
        let context = DecisionContext(
            now: scene.now, reason: try? Reason("clients' reports"), isForced: false, facts: facts, actor: .system
        ) { _ in false }
        return (state, context)
    }

    /// What comes of each thing that is due in the scene, decided as the server decides it.
    private func outcomes(
        of scene: Scene, plan: RolloutPlan.Terms? = nil, _ change: (inout App) -> Void = { _ in }
    ) -> [Result<[AppEvent], Refusal>] {
        let (state, context) = self.given(scene, plan: plan, change)
        return state.dueReactions(of: shop, in: context).map { due -> Result<[AppEvent], Refusal> in
            do throws(Refusal) {
                let events = try state.decide(.app(shop, [.react(due)]), in: context).events
                #expect(!events.isEmpty)
                return .success(events.compactMap { if case .app(let event) = $0 { event } else { nil } })
            } catch {
                return .failure(error)
            }
        }
    }

    private func outcome(of scene: Scene, plan: RolloutPlan.Terms? = nil) -> Result<[AppEvent], Refusal> {
        let all = self.outcomes(of: scene, plan: plan)
        #expect(all.count <= 1)
        return all.first ?? .success([])
    }

    private func types(_ scene: Scene, plan: RolloutPlan.Terms? = nil) throws -> [String] {
        try self.outcome(of: scene, plan: plan).get().map { Event.app($0).type }
    }

    @Test func `the server rolls back a candidate whose pins are wrong, and records enough evidence to check it`()
        throws
    {
        let events = try self.outcome(of: Scene()).get()
        #expect(events.map { Event.app($0).type } == ["TelemetryReacted", "RolloutRolledBack"])
        guard case .telemetryReacted(let reacted) = try #require(events.first) else { return }
        #expect((reacted.host, reacted.arm, reacted.step) == (api, .candidate, .rollBack))
        let verdict = try ReactionVerdict(JSONField(reacted.verdict))
        #expect(verdict.step == .rollBack && verdict.json == reacted.verdict)
        guard case .rolloutRolledBack(api, .reports, let detail?) = events[1] else {
            Issue.record("not rolled back: \(events)")
            return
        }
        #expect(detail.contains("30 of 30 installs"))
    }

    @Test func `the server records a step that alone follows from its evidence`() throws {
        guard case .telemetryReacted(let reacted)? = try self.outcome(of: Scene()).get().first,
            case .object(var members) = reacted.verdict
        else { return }
        members["step"] = "page"
        #expect(throws: JSONDefect.self) { try ReactionVerdict(JSONField(.object(members))) }
    }

    @Test func `the server holds a plan, and has nothing to hold without one`() throws {
        // One install short of the floor.
        let scene = Scene().with { $0.minutes = [(0, 15, 15), (1, 14, 14)] }
        #expect(try self.types(scene, plan: Self.plan) == ["TelemetryReacted", "RolloutPaused"])
        #expect(try self.types(scene) == [])
    }

    @Test func `the server stops enforcing what no server presents, then turns the host off, where that is allowed`()
        throws
    {
        #expect(try self.types(.steady) == ["TelemetryReacted", "ModeSet"])
        let later = Scene.steady.with {
            $0.baseline = Scene.policy(.reportOnly, [1, 2])
            $0.reactionsTaken = [
                Reaction.Taken(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -2 * 3600))
            ]
        }
        #expect(try self.types(later) == ["TelemetryReacted", "KillSwitchEngaged"])
        #expect(try self.types(later.with { $0.monitoring.autoDisables = false }) == [])
    }

    @Test(arguments: [Monitoring.Reaction.off, .shadow])
    func `the server never reacts without a setting that asks for it`(reaction: Monitoring.Reaction) throws {
        #expect(try self.types(Scene().with { $0.monitoring.reaction = reaction }) == [])
        #expect(try self.types(Scene.steady.with { $0.monitoring.reaction = reaction }) == [])
    }

    @Test func `the server does nothing while the served key is pinned`() throws {
        #expect(try self.types(Scene().with { $0.sightings = [("graz", 3, 60), ("wien", 3, 60)] }) == [])
        #expect(try self.types(Scene.steady.with { $0.sightings = [("graz", 1, 60), ("wien", 1, 60)] }) == [])
    }

    private static let plan = RolloutPlan.Terms(steps: [.init(500), .init(10_000)])

    /// A host of which no key is pinned that servers present, with a plan that unsigned reports are to hold.
    private static let both = Scene.steady.with {
        $0.candidate = Scene.policy(.enforce, [3, 4])
        $0.rollout = Rollout(basisPoints: 500)
        $0.reported = [Scene().with { $0.isAuthenticated = false }.cell]
    }

    private static func weakened(_ count: Int) -> [Reaction.Taken] {
        (0..<count).map { number in
            Reaction.Taken(
                host: host("h\(number).example.com"), arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -60))
        }
    }

    @Test func `the server carries out each due reaction, also where another one is refused`() throws {
        let outcomes = self.outcomes(of: Self.both.with { $0.reactionsTaken = Self.weakened(3) }, plan: Self.plan)
        guard case .failure(.guarded(let findings))? = outcomes.first else {
            Issue.record("not refused: \(outcomes)")
            return
        }
        #expect(findings.first?.rail == .tooManyRiskyChanges)
        #expect(
            try outcomes.dropFirst().map { try $0.get().map { Event.app($0).type } } == [
                ["TelemetryReacted", "RolloutPaused"]
            ])
    }

    @Test func `people's changes do not prevent a reaction, and the app's own earlier weakening limits it`() throws {
        func types(_ reactionsTaken: Int, risky: Int) -> [String]? {
            let scene = Scene.steady.with { $0.reactionsTaken = Self.weakened(reactionsTaken) }
            let outcome = self.outcomes(of: scene) { app in
                app.riskyChanges = (0..<risky).map { noon.adding(seconds: Int64($0) - 60) }
            }.first
            return try? outcome?.get().map { Event.app($0).type }
        }
        #expect(types(0, risky: 8) == ["TelemetryReacted", "ModeSet"])
        #expect(types(2, risky: 0) == ["TelemetryReacted", "ModeSet"])
        #expect(types(3, risky: 0) == nil)
    }

    @Test func `an operator lets a plan go on that reports hold without pausing it`() throws {
        let scene = Scene().with {
            $0.monitoring.reaction = .shadow
            $0.isAuthenticated = false
            $0.sightings = []
        }
        var (state, context) = self.given(scene, plan: Self.plan)
        let held = try state.progress(ofPlan: api, app: shop, in: context)
        let wait = try #require(held.waits.first { $0.kind == .reports })
        #expect(held.plan.pause == nil && wait.isMet == false)
        #expect(wait.detail.contains("resume with `pinledger rollout resume com.example.shop api.example.com`"))
        context.actor = .token
        let events = try state.decide(.app(shop, [.rollout(api, .resume)]), in: context).events
        #expect(events == [.app(.rolloutResumed(api))])
        for event in events { _ = state.apply(event, of: .app(shop), at: noon) }
        #expect(!(try state.progress(ofPlan: api, app: shop, in: context)).waits.contains { $0.kind == .reports })
        #expect(try state.decide(.app(shop, [.rollout(api, .resume)]), in: context).events == [])
        // Anyone can go on sending such reports.
        let again = scene.with { $0.minutes += [(60, 15, 15), (61, 15, 15)] }
        context.facts.telemetry = { _ in TelemetryFacts(measuredAt: noon, cells: [again.cell]) }
        #expect(!(try state.progress(ofPlan: api, app: shop, in: context)).waits.contains { $0.kind == .reports })
    }

    @Test(arguments: [RolloutCommand.resume, .jump(step: 2)])
    func `a plan that signed reports hold goes on after a resumption or a jump, until there are new ones`(
        _ command: RolloutCommand
    ) throws {
        let scene = Scene().with {
            $0.monitoring.reaction = .shadow
            // G09 refuses a jump where probes show that the candidate's pins are wrong.
            if command != .resume { $0.sightings = [] }
        }
        var (state, context) = self.given(scene, plan: Self.plan)
        context.actor = .token
        func holds() throws -> Bool {
            try state.progress(ofPlan: api, app: shop, in: context).waits.contains { $0.kind == .reports }
        }
        #expect(try holds())
        let events = try state.decide(.app(shop, [.rollout(api, command)]), in: context).events
        #expect(events.first == .app(.rolloutResumed(api)))
        for event in events { _ = state.apply(event, of: .app(shop), at: noon) }
        #expect(try !holds())
        #expect(try state.decide(.app(shop, [.rollout(api, .resume)]), in: context).events == [])
    }

    @Test(arguments: [RolloutPlan.Cause.requested, .blocked, .inconclusive])
    func `a resumption ends a pause first, and the reports that hold the plan only when it is repeated`(
        _ cause: RolloutPlan.Cause
    ) throws {
        let scene = Scene().with {
            $0.monitoring.reaction = .shadow
            $0.isAuthenticated = false
            $0.sightings = []
        }
        var (state, context) = self.given(scene, plan: Self.plan)
        context.actor = .token
        _ = state.apply(.app(.rolloutPaused(api, cause, detail: nil)), of: .app(shop), at: noon)
        func waits() throws -> [RolloutWait] {
            try state.progress(ofPlan: api, app: shop, in: context).waits.filter {
                $0.kind == .reports || $0.kind == .resumption
            }
        }
        let paused = try waits()
        #expect(paused.map(\.kind) == [.resumption, .reports])
        #expect(!paused[1].detail.contains("resume with"))
        for remaining in [[RolloutWait.Kind.reports], []] {
            let events = try state.decide(.app(shop, [.rollout(api, .resume)]), in: context).events
            #expect(events == [.app(.rolloutResumed(api))])
            for event in events { _ = state.apply(event, of: .app(shop), at: noon) }
            #expect(try waits().map(\.kind) == remaining)
        }
    }

    @Test func `the server repeats a reaction that people undid only after new reports`() throws {
        // One install short of the floor: a hold.
        let scene = Scene().with { $0.minutes = [(0, 15, 15), (1, 14, 14)] }
        var (state, context) = self.given(scene, plan: Self.plan)
        for due in state.dueReactions(of: shop, in: context) {
            for event in try state.decide(.app(shop, [.react(due)]), in: context).events {
                _ = state.apply(event, of: .app(shop), at: noon)
            }
        }
        #expect(state.apps[shop]?.plan(of: api)?.pause?.cause == .reports)
        var person = context
        person.actor = .token
        for command in [RolloutCommand.resume, .jump(step: 1)] {
            var after = state
            for event in try state.decide(.app(shop, [.rollout(api, command)]), in: person).events {
                _ = after.apply(event, of: .app(shop), at: noon)
            }
            #expect(after.apps[shop]?.plan(of: api)?.pause == nil)
            #expect(after.dueReactions(of: shop, in: context) == [])
            let progress = try after.progress(ofPlan: api, app: shop, in: context)
            #expect(!progress.waits.contains { $0.kind == .reports })
            #expect(after.verdicts(of: shop, in: context).map(\.step) == [.page])
            let again = scene.with { $0.minutes.append((60, 5, 5)) }
            context.facts.telemetry = { _ in TelemetryFacts(measuredAt: noon, cells: [again.cell]) }
            #expect(after.dueReactions(of: shop, in: context).map(\.step) == [.hold])
            let doubted = try after.progress(ofPlan: api, app: shop, in: context)
            #expect(doubted.waits.contains { $0.kind == .reports && $0.isMet == false })
            context.facts.telemetry = { _ in TelemetryFacts(measuredAt: noon, cells: [scene.cell]) }
        }
    }

    @Test func `the server remembers a reaction, so that the same reports cause nothing twice`() throws {
        var app = Scene().app
        for event in try self.outcome(of: Scene()).get() { app.evolve(event, at: noon) }
        #expect(app.reactionsTaken == [Reaction.Taken(host: api, arm: .candidate, step: .rollBack, at: noon)])
        #expect(app.hosts[api]?.rollout?.basisPoints == 0)
        for number in 0..<100 {
            let reacted = Reacted(host: api, arm: nil, step: .hold, verdict: [:])
            app.evolve(.telemetryReacted(reacted), at: noon.adding(seconds: Int64(number)))
        }
        #expect(app.reactionsTaken.count == 32)
    }
}
