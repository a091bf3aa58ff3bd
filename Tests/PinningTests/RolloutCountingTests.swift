import PinWire
import Pinning
import Testing

/// Since when a plan counts what it waits for, and what of it stays counted.
@Suite struct `The time of a rollout plan` {
    /// A kill switch, and how it is ended.
    struct Scope: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var engaged: Event
        var released: Event
        var stream: StreamID = .app(shop)
    }

    private static let start = noon.adding(seconds: 1)
    private static let end = noon.adding(seconds: 100)
    private static let versions = range("3.1.0", "3.1.2")

    static let scopes: [Scope] = [
        Scope(
            testDescription: "the host", engaged: .app(.killSwitchEngaged(api, expiresAt: end)),
            released: .app(.killSwitchReleased(api))),
        Scope(
            testDescription: "the app", engaged: .app(.killSwitchEngaged(nil, expiresAt: end)),
            released: .app(.killSwitchReleased(nil))),
        Scope(
            testDescription: "versions of the app", engaged: .app(.versionKillSwitchEngaged(versions, expiresAt: end)),
            released: .app(.versionKillSwitchReleased(versions))),
        Scope(
            testDescription: "everything", engaged: .fleet(.killSwitchEngaged(expiresAt: end)),
            released: .fleet(.killSwitchReleased), stream: .fleet),
    ]

    private func state(_ terms: RolloutPlan.Terms) throws -> LedgerState {
        var state = LedgerState()
        state.apps.insert(try #require(try given(RolloutPlanTests.started + [.rollout(api, .setPlan(terms))])))
        return state
    }

    private func due(_ state: LedgerState, _ seconds: Int64, _ facts: ExternalFacts = unseen) throws -> [Event] {
        let now = noon.adding(seconds: seconds)
        var context = DecisionContext(now: now, reason: nil, isForced: false, facts: facts, actor: .system) { _ in false
        }
        context.reason = reason("the plan has come to it")
        let events = try state.decide(.app(shop, [.rollout(api, .drive)]), in: context).events
        #expect(state.isDue(api, app: shop, in: context) == !events.isEmpty)
        return events
    }

    @Test(arguments: scopes)
    func `the time of a rollout plan stands still under a kill switch, and restarts when it ends`(scope: Scope) throws {
        for isBaking in [false, true] {
            let last = RolloutPlan.Step(10_000, .init(seconds: 10))
            var state = try self.state(
                isBaking
                    ? RolloutPlan.Terms(steps: [last], bake: 10)
                    : RolloutPlan.Terms(steps: [.init(1, last.hold), last]))
            if isBaking { _ = state.apply(.app(.rolloutBakeStarted(api)), of: .app(shop), at: noon) }
            #expect(try self.due(state, 10).count == 1)
            _ = state.apply(scope.engaged, of: scope.stream, at: Self.start)
            for seconds: Int64 in [2, 10, 99, 100, 109] { #expect(try self.due(state, seconds) == []) }
            // Its release may be recorded late.
            #expect(try self.due(state, 110).count == 1)
            let progress = try state.progress(
                ofPlan: api, app: shop, in: RolloutHoldTests.context(unseen, at: noon.adding(seconds: 50)))
            let wait = progress.waits.first { $0.kind == .killSwitch }
            #expect(wait?.isMet == false && wait?.until == Self.end)
            #expect(progress.waits.first?.until == Self.end.adding(seconds: 10))
            var late = state
            _ = late.apply(scope.released, of: scope.stream, at: noon.adding(seconds: 5000))
            #expect(try self.due(late, 109) == [] && self.due(late, 110).count == 1)
            _ = state.apply(scope.released, of: scope.stream, at: noon.adding(seconds: 50))
            #expect(try self.due(state, 59) == [] && self.due(state, 60).count == 1)
        }
    }

    @Test func `the time of a rollout plan runs on under the kill switch of another host`() throws {
        var state = try self.state(RolloutPlan.Terms(steps: [.init(1, .init(seconds: 10)), .init(2)]))
        for event: AppEvent in [
            .hostAdded(cdn, includesSubdomains: false, mode: .off), .killSwitchEngaged(cdn, expiresAt: Self.end),
        ] {
            _ = state.apply(.app(event), of: .app(shop), at: noon)
        }
        #expect(try self.due(state, 10).count == 1)
    }

    @Test func `the time of a rollout plan may be longer than reports are remembered`() throws {
        let days: Int64 = 3 * 86_400
        var state = try self.state(
            RolloutPlan.Terms(steps: [.init(1, .init(seconds: days, installs: 50)), .init(2)]))
        let cell = OutcomeCell(
            host: api, arm: .candidate, version: 9, isAuthenticated: true,
            minutes: [.init(minute: noon.adding(seconds: 60), installs: 60, failing: 0)], installs: 60)
        let telling = ExternalFacts(telemetry: { _ in TelemetryFacts(measuredAt: noon, cells: [cell]) })
        let silent = ExternalFacts(telemetry: { _ in TelemetryFacts(measuredAt: noon, cells: []) })
        #expect(try self.due(state, days, silent) == [])
        let noted = try self.due(state, 90, telling)
        #expect(noted == [.app(.rolloutSampleReached(api, step: 1, installs: 60))])
        for event in noted { _ = state.apply(event, of: .app(shop), at: noon.adding(seconds: 90)) }
        #expect(try self.due(state, 95, telling) == [])
        var restored = LedgerState()
        for part in 0..<LedgerState.snapshotPartCount {
            try restored.restore(part: part, from: state.snapshotPart(part)[...])
        }
        #expect(restored.apps == state.apps)
        #expect(try self.due(state, days, silent) == [.app(.rolloutStepTaken(api, step: 2, basisPoints: 2))])
        // What was reported before a kill switch says nothing of the time after it.
        for event: AppEvent in [.killSwitchEngaged(api, expiresAt: Self.end), .killSwitchReleased(api)] {
            _ = state.apply(.app(event), of: .app(shop), at: noon.adding(seconds: 99))
        }
        #expect(try self.due(state, days + 99, silent) == [])
    }
}

/// The plan's tables, under a name that code can say.
typealias RolloutHoldTests = `A step of a rollout plan`
