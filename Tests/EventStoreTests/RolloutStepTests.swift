import EventStore
import Fixtures
import PinWire
import Pinning
import Testing

/// Steps of a rollout's plan, which every node takes by itself.
@Suite(.database, .timeLimit(.minutes(60)))
struct RolloutStepTests {
    @Test func `a step of a plan is taken once, by one of three nodes`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(3, on: database) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].insist(try Sample.create(app, key: "create", hosts: 1))
            let pattern = try #require(nodes[0].ledger.view.state.apps[app]?.hosts.keys.first)
            // A plan of approvals, so that no clock decides when a step is due.
            let steps = (1...10).map { RolloutPlan.Step($0 * 1000, .init(needsApproval: true)) }
            let prepared: [AppCommand] = [
                .startCandidate(pattern, mode: .off, copiesBaseline: false, pins: []),
                .setHostRollout(pattern, Rollout(basisPoints: 0)),
                .rollout(pattern, .setPlan(RolloutPlan.Terms(steps: steps))),
            ]
            func request(_ commands: [AppCommand], _ actor: Actor, at version: Int64?) throws -> CommandRequest {
                CommandRequest(
                    command: .app(app, commands),
                    origin: Origin(actor: actor, reason: try Reason("test"), isForced: actor.kind == .local),
                    expectedVersion: version, digest: [UInt8](repeating: 0, count: 32))
            }
            let person = Actor(kind: .local, id: "tok_1", name: "Ann")
            _ = try await nodes[0].writer.execute(try request(prepared, person, at: nil))
            for step in 1...10 {
                let approval = try request([.rollout(pattern, .advance(step: step))], person, at: nil)
                let approved = try await nodes[step % 3].writer.execute(approval)
                #expect(await eventually { nodes.allSatisfy { $0.ledger.position >= approved.position } })
                let drive = try request([.rollout(pattern, .drive)], .system, at: approved.streamVersion)
                let outcomes = await withTaskGroup(of: Result<Recorded, WriteFailure>.self) { group in
                    for node in nodes { group.addTask { await node.attempt(drive) } }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                var taken = 0
                for outcome in outcomes {
                    switch outcome {
                    case .success(let recorded): taken += recorded.entries.count
                    case .failure(.stale): break
                    case .failure(let failure): Issue.record("\(failure)")
                    }
                }
                #expect(taken == 1, "step \(step): \(outcomes)")
            }
            let view = try await Ledgers.check(database)
            #expect(view.state.apps[app]?.plan(of: pattern)?.phase == .done)
            #expect(view.state.apps[app]?.rollout(of: pattern)?.basisPoints == 10_000)
        }
    }
}
