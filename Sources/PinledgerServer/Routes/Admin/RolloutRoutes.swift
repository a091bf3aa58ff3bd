import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning

/// Rollouts and their plans, of an app and of its hosts' candidates: `/v1/apps/{app}/rollouts`.
struct RolloutRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [Route("listRollouts", .get, "/v1/apps/{app}/rollouts", access: .app(.readApps), self.list)]
            + self.routes("App", "/v1/apps/{app}/rollout") { _ in nil }
            + self.routes("Host", "/v1/apps/{app}/hosts/{host}/rollout") { try $0.host }
    }

    /// The operations of one kind of place.
    private func routes(
        _ kind: String, _ path: String, _ place: @escaping @Sendable (Exchange) throws -> HostPattern?
    ) -> [Route] {
        let query = CommandExecutor.query
        func post(
            _ name: String, _ action: String,
            _ read: @escaping @Sendable (inout JSONMembers) throws(JSONDefect) -> RolloutCommand
        ) -> Route {
            Route(
                "\(name)\(kind)Rollout", .post, "\(path)/\(action)", access: .app(.changeApps), query: query
            ) { exchange in
                try await self.perform(exchange, try place(exchange), read)
            }
        }
        return [
            Route("get\(kind)RolloutPlan", .get, "\(path)/plan", access: .app(.readApps)) { exchange in
                try await self.plan(exchange, try place(exchange))
            },
            Route("set\(kind)RolloutPlan", .put, "\(path)/plan", access: .app(.changeApps), query: query) { exchange in
                try await self.perform(exchange, try place(exchange)) { (members) throws(JSONDefect) in
                    .setPlan(try RolloutPlan.Terms(&members))
                }
            },
            Route(
                "clear\(kind)RolloutPlan", .delete, "\(path)/plan", access: .app(.changeApps),
                query: CommandExecutor.bodilessQuery
            ) { exchange in
                let change = try exchange.bodilessChange()
                return try await self.record(.clearPlan, try place(exchange), of: change, in: exchange)
            },
            post("pause", "pause") { (_) throws(JSONDefect) in .pause(.requested, detail: nil) },
            post("resume", "resume") { (_) throws(JSONDefect) in .resume },
            post("advance", "advance") { (members) throws(JSONDefect) in
                .advance(step: try members.optional("step").map { (f) throws(JSONDefect) in try Self.step(f) })
            },
            post("jump", "jump") { (members) throws(JSONDefect) in
                .jump(step: try Self.step(try members.required("step")))
            },
            post("rollBack", "roll-back") { (_) throws(JSONDefect) in .rollBack(.requested, detail: nil) },
        ]
    }

    private static func step(_ field: JSONField) throws(JSONDefect) -> Int {
        Int(try field.integer(1...Int64(RolloutPlan.stepLimit)))
    }

    private func perform(
        _ exchange: Exchange, _ host: HostPattern?,
        _ read: @escaping @Sendable (inout JSONMembers) throws(JSONDefect) -> RolloutCommand
    ) async throws -> Response {
        let change = try await exchange.change(read)
        return try await self.record(change.content, host, of: change, in: exchange)
    }

    /// Records a command, and says with what it recorded which share of devices really gets candidates then.
    private func record<Content>(
        _ command: RolloutCommand, _ host: HostPattern?, of change: Change<Content>, in exchange: Exchange
    ) async throws -> Response {
        let id = try exchange.app
        let result = try await self.change.perform(.app(id, [.rollout(host, command)]), of: change, in: exchange)
        guard !result.isProposed else { return self.change.response(to: result) }
        let app = try result.after?.apps[id] ?? self.services.app(id)
        let exposures = app.exposures(of: host).prefix(Self.exposureLimit).map(\.json)
        return self.change.response(to: result, adding: ["exposures": .array(exposures)])
    }

    /// Hosts whose exposure one answer to a change tells.
    private static let exposureLimit = 20

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let context = self.services.decisionContext
        func place(_ host: HostPattern?) -> JSON {
            .members([
                "host": host.map { .string($0.text) },
                "rollout": app.rollout(of: host)?.json,
                "rolled_back_at": app.rolledBackAt(of: host).map { .string($0.rfc3339) },
                "plan": (try? self.services.ledger.view.state.progress(ofPlan: host, app: app.id, in: context))
                    .map(self.json),
                "exposure": host.flatMap { RolloutExposure(of: $0, in: app)?.json },
            ])
        }
        let hosts = app.hosts.filter { $0.value.candidate != nil || $0.value.plan != nil }.map(\.key).sorted()
        return .json(
            .members([
                "app": place(nil), "version_gate": app.versionGate?.json, "hosts": .array(hosts.map { place($0) }),
            ]), headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func plan(_ exchange: Exchange, _ host: HostPattern?) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        do {
            let progress = try self.services.ledger.view.state.progress(
                ofPlan: host, app: app.id, in: self.services.decisionContext)
            return .json(self.json(progress), headers: [.eTag: self.services.tag(of: app.version)])
        } catch {
            throw Problem(error)
        }
    }

    /// The plan with its obstacles that no force overcomes, in the words of the next step's problem.
    private func json(_ progress: RolloutProgress) -> JSON {
        guard case .object(var members) = progress.json, let obstacle = progress.obstacle else { return progress.json }
        let problem = Problem(obstacle)
        members["obstacle"] = [
            "type": .string("/problems/\(problem.type.rawValue)"), "detail": .string(problem.detail),
        ]
        return .object(members)
    }
}

extension App {
    /// What share of devices gets the candidate of a host, or of each that has one.
    fileprivate func exposures(of host: HostPattern?) -> [RolloutExposure] {
        (host.map { [$0] } ?? self.hosts.keys.sorted()).compactMap { RolloutExposure(of: $0, in: self) }
    }
}
