import Detection
import PinWire
import Pinning
import Testing

/// What the server does because of reports, decided as any other change is.
@Suite struct `What the server does by itself` {
    /// The events of the scene, decided as the server decides them.
    private func outcome(
        of scene: Scene, plan: RolloutPlan.Terms? = nil
    ) -> Result<[AppEvent], Refusal> {
        var app = scene.app
        if let plan {
            app.evolve(.rolloutPlanSet(api, plan), at: noon)
            app.evolve(.rolloutStepTaken(api, step: 1, basisPoints: 500), at: noon)
            app.version = 10
        }
        app.deeds = scene.deeds
        var state = LedgerState()
        state.apps.insert(app)
        var facts = scene.facts
        let telemetry = TelemetryFacts(measuredAt: scene.now, cells: [scene.cell] + scene.reported)
        facts.telemetry = { $0 == shop ? telemetry : nil }
        let context = DecisionContext(
            now: scene.now, reason: try? Reason("clients' reports"), isForced: false, facts: facts, actor: .system
        ) { _ in false }
        do throws(Refusal) {
            let events = try state.decide(.app(shop, [.react]), in: context).events
            // What a node looks for before it asks is the same.
            #expect(state.isReactionDue(of: shop, in: context) == !events.isEmpty)
            return .success(events.compactMap { if case .app(let event) = $0 { event } else { nil } })
        } catch {
            return .failure(error)
        }
    }

    private func types(_ scene: Scene, plan: RolloutPlan.Terms? = nil) throws -> [String] {
        try self.outcome(of: scene, plan: plan).get().map { Event.app($0).type }
    }

    @Test func `rolls a candidate back whose pins are wrong, with the evidence to come to the same`() throws {
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

    @Test func `records a step that alone follows from its evidence`() throws {
        guard case .telemetryReacted(let reacted)? = try self.outcome(of: Scene()).get().first,
            case .object(var members) = reacted.verdict
        else { return }
        members["step"] = "page"
        #expect(throws: JSONDefect.self) { try ReactionVerdict(JSONField(.object(members))) }
    }

    @Test func `holds a plan, and has nothing to hold without one`() throws {
        // One install short of the floor.
        let scene = Scene().with { $0.minutes = [(0, 15, 15), (1, 14, 14)] }
        let plan = RolloutPlan.Terms(steps: [.init(500), .init(10_000)])
        #expect(try self.types(scene, plan: plan) == ["TelemetryReacted", "RolloutPaused"])
        #expect(try self.types(scene) == [])
    }

    @Test func `stops enforcing what no server presents, and then turns the host off, where that was allowed`() throws {
        #expect(try self.types(.steady) == ["TelemetryReacted", "ModeSet"])
        let later = Scene.steady.with {
            $0.baseline = Scene.policy(.reportOnly, [1, 2])
            $0.deeds = [
                Reaction.Deed(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -2 * 3600))
            ]
        }
        #expect(try self.types(later) == ["TelemetryReacted", "KillSwitchEngaged"])
        #expect(try self.types(later.with { $0.monitoring.autoDisables = false }) == [])
    }

    @Test(arguments: [Monitoring.Reaction.off, .shadow])
    func `does nothing that nobody asked for`(reaction: Monitoring.Reaction) throws {
        #expect(try self.types(Scene().with { $0.monitoring.reaction = reaction }) == [])
        #expect(try self.types(Scene.steady.with { $0.monitoring.reaction = reaction }) == [])
    }

    @Test func `does nothing while the served key is pinned`() throws {
        #expect(try self.types(Scene().with { $0.sightings = [("graz", 3, 60), ("wien", 3, 60)] }) == [])
        #expect(try self.types(Scene.steady.with { $0.sightings = [("graz", 1, 60), ("wien", 1, 60)] }) == [])
    }

    @Test func `is remembered, so that the same reports lead to nothing twice`() throws {
        var app = Scene().app
        for event in try self.outcome(of: Scene()).get() { app.evolve(event, at: noon) }
        #expect(app.deeds == [Reaction.Deed(host: api, arm: .candidate, step: .rollBack, at: noon)])
        #expect(app.hosts[api]?.rollout?.basisPoints == 0)
        for number in 0..<100 {
            let reacted = Reacted(host: api, arm: nil, step: .hold, verdict: [:])
            app.evolve(.telemetryReacted(reacted), at: noon.adding(seconds: Int64(number)))
        }
        #expect(app.deeds.count == 32)
    }
}
