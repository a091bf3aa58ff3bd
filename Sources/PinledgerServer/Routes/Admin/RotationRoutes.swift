import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Rotations of keys: `/v1/apps/{app}/rotations`.
struct RotationRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let all = "/v1/apps/{app}/rotations"
        let one = "\(all)/{rotation}"
        let query = CommandExecutor.query
        return [
            Route("listRotations", .get, all, access: .app(.readApps), self.list),
            Route("startRotation", .post, all, access: .app(.changeApps), query: query, self.start),
            Route("getRotation", .get, one, access: .app(.readApps), self.get),
            Route("advanceRotation", .post, "\(one)/advance", access: .app(.changeApps), query: query, self.advance),
            Route("abortRotation", .post, "\(one)/abort", access: .app(.changeApps), query: query, self.abort),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let progress = try app.rotations.map { try self.progress(of: $0.id, app.id) }
        return .json(
            ["rotations": .array(progress.map { Self.json($0, app.id) })],
            headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let progress = try self.progress(of: try exchange.rotation, app.id)
        return .json(Self.json(progress, app.id), headers: [.eTag: self.services.tag(of: app.version)])
    }

    /// The rotation with its obstacles that no force overcomes, in the words of the problem of advancing it.
    private static func json(_ progress: RotationProgress, _ app: AppID) -> JSON {
        let json = progress.json(of: app)
        guard case .object(var members) = json, let obstacle = progress.obstacle else { return json }
        let problem = Problem(obstacle)
        members["obstacle"] = [
            "type": .string("/problems/\(problem.type.rawValue)"), "detail": .string(problem.detail),
        ]
        return .object(members)
    }

    private func progress(of id: String, _ app: AppID) throws -> RotationProgress {
        do {
            return try self.services.ledger.view.state.progress(
                of: id, app: app, in: self.services.decisionContext)
        } catch {
            throw Problem(error)
        }
    }

    private func start(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let defaults = Rotation.Goals(for: self.services.environment.facts())
        let change = try await exchange.keyChange(known: self.services.knownKeys(of: id)) {
            (members, uploads) throws(JSONDefect) in
            let name = try members.required("rotation")
            guard Rotation.isID(try name.string()) else {
                throw name.defect("must be 1 to 64 letters, digits, dots, hyphens and underscores")
            }
            let kind = try members.optional("kind")?.oneOf(Rotation.Kind.self) ?? .planned
            let list = try members.required("hosts")
            var hosts: [HostPattern] = []
            for host in try list.elements(atMost: Rotation.hostLimit) { hosts.append(try host.parse(HostPattern.init)) }
            guard !hosts.isEmpty, Set(hosts).count == hosts.count else {
                throw list.defect("must name at least one host, and each only once")
            }
            let field = try members.required("next")
            var next = try field.object { (m) throws(JSONDefect) in
                try AppCommand.NewPin(&m, &uploads, role: .backup)
            }
            next.isActive = true
            guard next.role.isReserve else {
                throw field.defect("must be a backup or an emergency key until it is served")
            }
            let compromised = members.optional("compromised")
            guard compromised == nil || kind == .emergency else {
                throw JSONDefect(pointer: JSONPointer(["compromised"]), message: "is only for an emergency rotation")
            }
            return AppCommand.NewRotation(
                id: try name.string(), kind: kind, hosts: hosts, next: next,
                compromised: try compromised?.writtenPin(uploads.known).pin,
                goals: try Rotation.Goals(members.optional("goals"), defaults: defaults)
            )
        }
        return try await self.change(
            .app(id, [.startRotation(change.content)]), of: change, in: exchange, status: .created,
            location: "/v1/apps/\(id)/rotations/\(change.content.id)"
        )
    }

    private func advance(_ exchange: Exchange) async throws -> Response {
        let (id, rotation) = (try exchange.app, try exchange.rotation)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.optional("from")?.oneOf(Rotation.Phase.self)
        }
        return try await self.change(
            .app(id, [.advanceRotation(rotation, from: change.content)]), of: change, in: exchange)
    }

    private func abort(_ exchange: Exchange) async throws -> Response {
        let (id, rotation) = (try exchange.app, try exchange.rotation)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.optional("keep_next")?.bool() ?? false
        }
        return try await self.change(
            .app(id, [.abortRotation(rotation, keepsNext: change.content)]), of: change, in: exchange)
    }
}

extension Exchange {
    /// The name of a rotation in the path.
    fileprivate var rotation: String {
        get throws {
            let text = self.parameters["rotation"] ?? ""
            guard Rotation.isID(text) else {
                throw Problem(
                    .malformedRequest,
                    "The path parameter `rotation` must be 1 to 64 letters, digits, dots, hyphens and underscores.")
            }
            return text
        }
    }
}
