import HTTPTypes
import Hummingbird
import PinWire
import Pinning

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
        let change = try await exchange.keyChange(known: self.services.knownKeys(of: id), limits: Self.limits) {
            (members, uploads) throws(JSONDefect) in
            try AppSpec(&members, &uploads)
        }
        let prunes = try exchange.flag("prune")
        let planned = PlannedChange(executor: self.change, change: change, id: id) { app in
            change.content.plan(for: id, app, prunes: prunes)
        }
        return try await planned.response(in: exchange)
    }

    /// As many values as a mebibyte has room for: a thousand hosts with some pins each have more than other bodies.
    private static let limits = JSONLimits(depth: JSONLimits().depth, nodes: 100_000)
}

extension SpecPlan: AppPlan {
    var members: [String: JSON] { ["remainder": .array(self.remainder.map(\.json))] }
}
