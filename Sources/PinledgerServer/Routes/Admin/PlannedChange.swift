import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// What a request makes of an app as it is: its commands.
protocol AppPlan: Sendable {
    var commands: [AppCommand] { get }
    /// What the answer tells of the plan besides its events.
    var members: [String: JSON] { get }
}

/// A change whose commands follow from the app as it is: an import, or a spec that is applied.
struct PlannedChange<Content: Sendable, Plan: AppPlan>: Sendable {
    let executor: CommandExecutor
    let change: Change<Content>
    let id: AppID
    /// The plan for the app; given nil for one that does not exist.
    let plan: @Sendable (App?) throws -> Plan
    /// Judges a plan, and stores what it needs before the ledger names it; returns the change with that.
    var prepare: @Sendable (Plan, Change<Content>) async throws -> Change<Content> = { $1 }

    /// How often a plan is made, at most, because other requests change the app meanwhile.
    private static var attempts: Int { 3 }

    func response(in exchange: Exchange) async throws -> Response {
        // What was carried out is at odds with the app that it made: a repeated request is planned for the app as it was.
        if let replay = try await self.replay(in: exchange) {
            let position = replay.recorded.entries.first?.position ?? replay.recorded.position
            let before = try await self.executor.services.reader.past(of: self.id, at: position).state.apps[self.id]
            return self.response(to: replay, try self.plan(before), before)
        }
        let wanted = try CommandExecutor.expectedVersion(of: exchange.request)?.number
        for _ in 1..<Self.attempts {
            do {
                return try await self.record(in: exchange, expecting: wanted)
            } catch WriteFailure.stale where wanted == nil {
                // Another request changed the app while the plan was made. The next plan starts from the app as it is by
                // now: what the request does not say is taken over as it is, and must not undo that.
                continue
            } catch WriteFailure.refused(.appExists) where wanted == nil {
                continue
            }
        }
        return try await self.record(in: exchange, expecting: wanted)
    }

    /// - Parameter version: That the caller expects the app to have; nil for the one that it has now.
    private func record(in exchange: Exchange, expecting version: Int64?) async throws -> Response {
        let app = self.executor.services.ledger.view.state.apps[self.id]
        let plan = try self.plan(app)
        let change = try await self.prepare(plan, self.change)
        let result = try await self.executor.perform(
            .app(self.id, plan.commands), of: change, in: exchange, expecting: version ?? app?.version)
        return self.response(to: result, plan, app)
    }

    /// The result of the request that this one repeats; nil where it repeats none, and for a rehearsal.
    private func replay(in exchange: Exchange) async throws -> CommandExecutor.Result? {
        guard try !exchange.flag("dry_run") else { return nil }
        return try await self.executor.replay(.app(self.id, []), of: self.change, in: exchange)
    }

    private func response(to result: CommandExecutor.Result, _ plan: Plan, _ before: App?) -> Response {
        self.executor.response(
            to: result, status: before == nil ? .created : .ok,
            location: before == nil ? "/v1/apps/\(self.id)" : nil, adding: plan.members)
    }
}
