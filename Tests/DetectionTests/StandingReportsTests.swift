import PinWire
import Pinning
import Testing

/// What people are told of reports, and for how long.
@Suite struct `A warning of failing reports` {
    /// An app that is looked at again and again.
    private struct Story {
        var state = LedgerState()
        /// What was said.
        var said: [String] = []

        mutating func look(_ scene: Scene) throws {
            var app = scene.app
            app.reactionsTaken = scene.reactionsTaken
            if let watch = self.state.apps[shop]?.watch { app.watch = watch }
            self.state = LedgerState()
            self.state.apps.insert(app)
            for event in try self.state.warnings(of: shop, in: Self.context(scene)) {
                switch event {
                case .warningRaised(let warning) where warning.subject.kind == .failingReports:
                    self.said.append(warning.severity.rawValue)
                case .warningCleared(let subject) where subject.kind == .failingReports: self.said.append("cleared")
                default: break
                }
                _ = self.state.apply(.watch(event), of: .watch(shop), at: scene.now)
            }
        }

        static func context(_ scene: Scene) -> DecisionContext {
            var facts = scene.facts
            facts.telemetry = { _ in TelemetryFacts(measuredAt: scene.now, cells: [scene.cell]) }
            return DecisionContext(now: scene.now, reason: nil, isForced: false, facts: facts, actor: .system) { _ in
                false
            }
        }
    }

    private static let pinned = Scene().with { $0.sightings = [("graz", 3, 60), ("wien", 4, 60)] }

    @Test func `a warning of failing reports stands until it is clearly over, and is not repeated near its limit`()
        throws
    {
        var story = Story()
        let fewer = Self.pinned.with { $0.minutes.append((2, 270, 0)) }
        // So much alone is nothing to begin with.
        #expect(fewer.verdict?.step == ReactionStep.none)
        try story.look(fewer)
        #expect(story.said == [])
        try story.look(Self.pinned)
        for scene in [fewer, Self.pinned, fewer, Self.pinned] { try story.look(scene) }
        #expect(story.said == ["urgent"])
        try story.look(fewer)
        let items = story.state.attention(of: shop, in: Story.context(fewer)).items
        #expect(items.first { $0.kind == .failingReports }?.detail.contains("not over") == true)
        try story.look(Self.pinned.with { $0.minutes.append((2, 3000, 0)) })
        #expect(story.said == ["urgent", "cleared"])
    }

    @Test func `a warning of failing reports stands while reports go on, even if every possible reaction was taken`()
        throws
    {
        let done = Scene.steady.with {
            $0.baseline = Scene.policy(.reportOnly, [1, 2])
            $0.reactionsTaken = [.init(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -60))]
        }
        #expect(done.verdict?.reasons.contains(.spent) == true)
        var story = Story()
        try story.look(Scene.steady)
        try story.look(done)
        #expect(story.said == ["urgent"])
        let items = story.state.attention(of: shop, in: Story.context(done)).items
        #expect(items.first { $0.kind == .failingReports }?.detail.contains("last automatic step (report_only") == true)
        // An hour after the last failure.
        try story.look(done.with { $0.now = noon.adding(seconds: 61) })
        #expect(story.said == ["urgent", "cleared"])
    }
}
