import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// An app's spec, which its owner keeps in a file: `/v1/apps/{app}/spec`.
struct SpecRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let spec = "/v1/apps/{app}/spec"
        return [
            Route("getAppSpec", .get, spec, access: .app(.readApps), self.get),
            Route(
                "applyAppSpec", .put, spec, access: .app(.changeApps), query: CommandExecutor.query + ["prune"],
                bodyLimit: 1024 * 1024, self.apply),
        ]
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        return .json(app.spec, headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func apply(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let change = try await exchange.keyChange(limits: Self.limits) { (members, uploads) throws(JSONDefect) in
            try AppSpec(&members, &uploads)
        }
        // What was applied is at odds with the app that it made: a repeated request is planned for the app as it was.
        if let replay = try await self.replay(of: change, to: id, in: exchange) {
            let position = replay.recorded.entries.first?.position ?? replay.recorded.position
            let before = try await self.services.reader.past(of: id, at: position).state.apps[id]
            return self.response(to: replay, try self.plan(change.content, for: id, before, in: exchange), before, id)
        }
        let wanted = try CommandExecutor.expectedVersion(of: exchange.request)?.number
        for _ in 1..<Self.attempts {
            do {
                return try await self.record(change, of: id, in: exchange, expecting: wanted)
            } catch WriteFailure.stale where wanted == nil {
                // Another request changed the app while the plan was made. The next plan starts from the app as it is by now.
                continue
            } catch WriteFailure.refused(.appExists) where wanted == nil {
                continue
            }
        }
        return try await self.record(change, of: id, in: exchange, expecting: wanted)
    }

    /// As many values as a mebibyte has room for: a thousand hosts with some pins each have more than other bodies.
    private static let limits = JSONLimits(depth: JSONLimits().depth, nodes: 100_000)

    /// How often a plan is made, at most, because other requests change the app meanwhile.
    private static let attempts = 3

    private func record(
        _ change: Change<AppSpec>, of id: AppID, in exchange: Exchange, expecting version: Int64?
    ) async throws -> Response {
        let app = self.services.ledger.view.state.apps[id]
        let plan = try self.plan(change.content, for: id, app, in: exchange)
        let result = try await self.change.perform(
            .app(id, plan.commands), of: change, in: exchange, expecting: version ?? app?.version)
        return self.response(to: result, plan, app, id)
    }

    private func plan(
        _ spec: AppSpec, for id: AppID, _ app: App?, in exchange: Exchange
    ) throws -> SpecPlan {
        spec.plan(for: id, app, prunes: try exchange.flag("prune"))
    }

    /// The result of the request that this one repeats; nil where it repeats none, and for a rehearsal.
    private func replay(
        of change: Change<AppSpec>, to id: AppID, in exchange: Exchange
    ) async throws -> CommandExecutor.Result? {
        // A repeated proposal is recognised when it is written down.
        guard try !exchange.flag("dry_run"), try Proposal(exchange) == nil else { return nil }
        return try await self.change.replay(.app(id, []), of: change, in: exchange)
    }

    private func response(
        to result: CommandExecutor.Result, _ plan: SpecPlan, _ app: App?, _ id: AppID
    ) -> Response {
        self.change.response(
            to: result, status: app == nil ? .created : .ok, location: app == nil ? "/v1/apps/\(id)" : nil,
            adding: ["remainder": .array(plan.remainder.map(\.json))])
    }
}
