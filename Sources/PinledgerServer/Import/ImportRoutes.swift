import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Imports: `/v1/import`.
struct ImportRoutes: Sendable {
    let services: Services
    private var change: ChangeHandler { ChangeHandler(services: self.services, isImport: true) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "importRemoteConfig", .post, "/v1/import/remote-config",
                query: ["app", "dry_run", "force", "plan_hash", "reason"],
                bodyLimit: 1024 * 1024, self.remoteConfig
            )
        ]
    }

    private func remoteConfig(_ exchange: Exchange) async throws -> Response {
        let id = try Self.app(in: exchange)
        let body = try await exchange.body()
        let (json, change) = try Self.change(of: body, in: exchange)
        let app = self.services.ledger.view.state.apps[id]
        // A file that was imported is at odds with the app it made: a repeated request must not be judged anew.
        if let replay = try await self.replay(of: change, into: id, in: exchange) {
            let before = Self.undo(replay.recorded.entries.map(\.event), in: app)
            return self.response(to: replay, of: self.plan(json, for: id, before), into: before, id)
        }
        let plan = self.plan(json, for: id, app)
        try Self.refuse(plan)
        let result = try await self.change.perform(.app(id, plan.commands), of: change, in: exchange)
        return self.response(to: result, of: plan, into: app, id)
    }

    // These stay out of line: with them in it, Swift 6.3.1 crashes when it optimises the handler's coroutine.

    @inline(never)
    private static func app(in exchange: Exchange) throws -> AppID {
        guard let id = try exchange.appInQuery else {
            throw Problem(.malformedRequest, "The query parameter app is required: the app to import into.")
        }
        return id
    }

    @inline(never)
    private static func change(of body: [UInt8], in exchange: Exchange) throws -> (JSON, Change<Void>) {
        try exchange.requireJSON()
        let json = try JSON(parsing: body)
        let reason = try exchange.reasonInQuery() ?? Reason("imported from remote configuration")
        return (json, Change(content: (), reason: reason, isForced: try exchange.flag("force"), body: body))
    }

    /// Refuses a file with defects that keep it from being imported.
    @inline(never)
    private static func refuse(_ plan: ImportPlan) throws {
        guard !plan.fatal.isEmpty else { return }
        let count = plan.fatal.count
        var problem = Problem(
            .importRefused,
            "The file has \(count) defect\(count == 1 ? "" : "s") that keep\(count == 1 ? "s" : "") it from being imported.",
            errors: plan.fatal.map { JSONDefect(pointer: $0.pointer, message: "\($0.message). \($0.advice)") }
        )
        problem.members["findings"] = plan.findingsJSON
        throw problem
    }

    /// The result of the request that this one repeats; nil where it repeats none, and for a rehearsal.
    private func replay(
        of change: Change<Void>, into id: AppID, in exchange: Exchange
    ) async throws -> ChangeHandler.Result? {
        guard try !exchange.flag("dry_run") else { return nil }
        return try await self.change.replay(.app(id, []), of: change, in: exchange)
    }

    private func plan(_ json: JSON, for id: AppID, _ app: App?) -> ImportPlan {
        RemoteConfigImport.plan(json, for: id, app, isPublicSuffix: self.services.surroundings.isPublicSuffix)
    }

    private func response(to result: ChangeHandler.Result, of plan: ImportPlan, into app: App?, _ id: AppID) -> Response
    {
        self.change.response(
            to: result, status: app == nil ? .created : .ok, location: app == nil ? "/v1/apps/\(id)" : nil,
            adding: ["plan": plan.stepsJSON, "findings": plan.findingsJSON]
        )
    }

    /// As much of the app before an import as the plan depends on: whether it was there, and with which hosts.
    private static func undo(_ events: [Event], in app: App?) -> App? {
        var before = app
        for event in events {
            switch event {
            case .app(.appCreated): return nil
            case .app(.hostAdded(let host, _, _)): before?.hosts[host] = nil
            default: break
            }
        }
        return before
    }
}
