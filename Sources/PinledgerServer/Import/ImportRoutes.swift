import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Imports: `/v1/import`.
struct ImportRoutes: Sendable {
    let services: Services
    let isPublicSuffix: @Sendable (String) -> Bool
    private var change: ChangeHandler { ChangeHandler(services: self.services) }

    init(services: Services, isPublicSuffix: @escaping @Sendable (String) -> Bool) {
        self.services = services
        self.isPublicSuffix = isPublicSuffix
    }

    var routes: [Route] {
        [
            Route(
                "importRemoteConfig", .post, "/v1/import/remote-config", query: ["app", "dry_run", "reason"],
                bodyLimit: 1024 * 1024, self.remoteConfig
            )
        ]
    }

    private func remoteConfig(_ exchange: Exchange) async throws -> Response {
        guard let id = try exchange.appInQuery else {
            throw Problem(.malformedRequest, "The query parameter app is required: the app to import into.")
        }
        let body = try await exchange.body()
        try exchange.requireJSON()
        let app = self.services.ledger.view.state.apps[id]
        let plan = RemoteConfigImport.plan(
            try JSON(parsing: body), for: id, app,
            isPublicSuffix: self.isPublicSuffix
        )
        let change = Change(
            content: (), reason: try exchange.reasonInQuery() ?? Reason("imported from remote configuration"),
            isForced: false, body: body
        )
        guard plan.fatal.isEmpty else {
            // The file may be at odds with the app only because this very request was recorded before.
            if let replay = try await self.change.replay(.app(id, plan.commands), of: change, in: exchange) {
                return self.change.response(to: replay, status: .created)
            }
            let count = plan.fatal.count
            var problem = Problem(
                .importRefused,
                "The file has \(count) defect\(count == 1 ? "" : "s") that keep it from being imported.",
                errors: plan.fatal.map { JSONDefect(pointer: $0.pointer, message: "\($0.message). \($0.advice)") }
            )
            problem.members["findings"] = plan.findingsJSON
            throw problem
        }
        let result = try await self.change.perform(.app(id, plan.commands), of: change, in: exchange)
        return self.change.response(
            to: result, status: app == nil ? .created : .ok, location: "/v1/apps/\(id)",
            adding: ["plan": plan.stepsJSON, "findings": plan.findingsJSON]
        )
    }
}
