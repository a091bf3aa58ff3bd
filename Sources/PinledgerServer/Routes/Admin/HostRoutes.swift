import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Hosts, their policies and their rollouts: `/v1/apps/{app}/hosts`.
struct HostRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let host = "/v1/apps/{app}/hosts/{host}"
        let query = CommandExecutor.query
        let bodiless = CommandExecutor.bodilessQuery
        return [
            Route("listHosts", .get, "/v1/apps/{app}/hosts", access: .app(.readApps), self.list),
            Route("addHost", .post, "/v1/apps/{app}/hosts", access: .app(.changeApps), query: query, self.add),
            Route("getHost", .get, host, access: .app(.readApps), self.get),
            Route("updateHost", .patch, host, access: .app(.changeApps), query: query, self.update),
            Route("removeHost", .delete, host, access: .app(.changeApps), query: bodiless, self.remove),
            Route(
                "startCandidate", .post, "\(host)/candidate", access: .app(.changeApps), query: query,
                self.startCandidate),
            Route(
                "dropCandidate", .delete, "\(host)/candidate", access: .app(.changeApps), query: bodiless,
                self.dropCandidate),
            Route(
                "promoteCandidate", .post, "\(host)/candidate/promote", access: .app(.changeApps), query: query,
                self.promoteCandidate),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let hosts = app.hosts.sorted { $0.key < $1.key }.map { $0.value.json(of: $0.key, app.keys) }
        return .json(["hosts": .array(hosts)], headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let pattern = try exchange.host
        guard let host = app.hosts[pattern] else { throw Problem(Refusal.hostUnknown(pattern)) }
        return .json(host.json(of: pattern, app.keys), headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func add(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let change = try await exchange.keyChange(known: self.services.knownKeys(of: id)) {
            (members, uploads) throws(JSONDefect) in
            let pattern = try members.required("host").parse(HostPattern.init)
            let subdomains = try members.optional("include_subdomains")?.bool() ?? false
            let field = try members.required("baseline")
            let (mode, pins) = try field.object { (m) throws(JSONDefect) in
                let source = try m.required("source")
                switch try source.string() {
                case "builtin": return (PinMode?.none, [AppCommand.NewPin]())
                case "document":
                    return (
                        try m.required("mode").oneOf(PinMode.self), try Self.newPins(m.optional("pins"), &uploads)
                    )
                default: throw source.defect("must be builtin or document")
                }
            }
            return (pattern, AppCommand.addHost(pattern, includesSubdomains: subdomains, mode: mode, pins: pins))
        }
        let (pattern, command) = change.content
        return try await self.change(
            .app(id, [command]), of: change, in: exchange, status: .created,
            location: "/v1/apps/\(id)/hosts/\(pattern)"
        )
    }

    private func update(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let pattern = try exchange.host
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try Self.settings(of: pattern, &members)
        }
        // An empty change decides nothing: the host must exist all the same.
        if change.content.isEmpty, try self.services.app(id).hosts[pattern] == nil {
            throw Problem(Refusal.hostUnknown(pattern))
        }
        return try await self.change(.app(id, change.content), of: change, in: exchange)
    }

    /// Reads a host's modes, rollout and reach; missing members stay unchanged.
    static func settings(of pattern: HostPattern, _ members: inout JSONMembers) throws(JSONDefect) -> [AppCommand] {
        var commands: [AppCommand] = []
        if let subdomains = members.optional("include_subdomains") {
            commands.append(.setSubdomains(pattern, includesSubdomains: try subdomains.bool()))
        }
        for slot in PolicySlot.allCases {
            guard let policy = members.optional(slot.rawValue) else { continue }
            let mode = try policy.object { (m) throws(JSONDefect) in try m.required("mode").oneOf(PinMode.self) }
            commands.append(.setMode(pattern, slot, mode))
        }
        if members.mentions("endpoints") {
            commands.append(.setEndpoints(pattern, try members.optional("endpoints").mapped(Endpoint.list)))
        }
        if members.mentions("rollout") {
            commands.append(.setHostRollout(pattern, try members.optional("rollout").mapped(Rollout.init(requested:))))
        }
        return commands
    }

    private func remove(_ exchange: Exchange) async throws -> Response {
        let command = Command.app(try exchange.app, [.removeHost(try exchange.host)])
        return try await self.change(command, of: try exchange.bodilessChange(), in: exchange)
    }

    private func startCandidate(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let pattern = try exchange.host
        let change = try await exchange.keyChange(known: self.services.knownKeys(of: id)) {
            (members, uploads) throws(JSONDefect) in
            try Self.candidate(of: pattern, &members, &uploads)
        }
        return try await self.change(
            .app(id, change.content), of: change, in: exchange, status: .created,
            location: "/v1/apps/\(id)/hosts/\(pattern)"
        )
    }

    /// Reads a candidate to start, and its rollout.
    static func candidate(
        of pattern: HostPattern, _ members: inout JSONMembers, _ uploads: inout Uploads
    ) throws(JSONDefect) -> [AppCommand] {
        var commands: [AppCommand] = [
            .startCandidate(
                pattern, mode: try members.required("mode").oneOf(PinMode.self),
                copiesBaseline: try members.optional("copy_baseline")?.bool(),
                pins: try Self.newPins(members.optional("pins"), &uploads)
            )
        ]
        if let rollout = members.optional("rollout") {
            commands.append(.setHostRollout(pattern, try Rollout(requested: rollout)))
        }
        return commands
    }

    private func dropCandidate(_ exchange: Exchange) async throws -> Response {
        let command = Command.app(try exchange.app, [.dropCandidate(try exchange.host)])
        return try await self.change(command, of: try exchange.bodilessChange(), in: exchange)
    }

    private func promoteCandidate(_ exchange: Exchange) async throws -> Response {
        let command = Command.app(try exchange.app, [.promoteCandidate(try exchange.host)])
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        return try await self.change(command, of: change, in: exchange)
    }

    static func newPins(
        _ field: JSONField?, _ uploads: inout Uploads
    ) throws(JSONDefect) -> [AppCommand.NewPin] {
        guard let field else { return [] }
        var pins: [AppCommand.NewPin] = []
        for element in try field.elements(atMost: App.pinLimit) {
            pins.append(try element.object { (m) throws(JSONDefect) in try AppCommand.NewPin(&m, &uploads) })
        }
        return pins
    }
}

extension Endpoint {
    /// Reads the services to probe.
    static func list(_ field: JSONField) throws(JSONDefect) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for element in try field.elements(atMost: Host.endpointLimit) {
            let endpoint = try element.parse(Endpoint.requested)
            guard !endpoints.contains(endpoint) else { throw element.defect("is listed twice") }
            endpoints.append(endpoint)
        }
        return endpoints
    }
}

extension AppCommand.NewPin {
    /// Reads the key (``JSONMembers/key(_:)``), `role`, `state` (`active` or `staged`) and `note`.
    ///
    /// - Parameters:
    ///   - role: The role where none is given; nil where one must be.
    ///   - uploads: All of the request.
    init(
        _ members: inout JSONMembers, _ uploads: inout Uploads, role: PinRole? = nil
    ) throws(JSONDefect) {
        let key = try members.key(&uploads)
        let given = role == nil ? try members.required("role") : members.optional("role")
        self.init(pin: key.pin, role: try given?.oneOf(PinRole.self) ?? role ?? .backup, evidence: key.evidence)
        if let state = members.optional("state") {
            switch try state.oneOf(PinState.self) {
            case .active: self.isActive = true
            case .staged: self.isActive = false
            case .retired, .revoked: throw state.defect("must be active or staged for a new pin")
            }
        }
        self.note = try members.optional("note")?.plainText(atMost: 500)
    }
}
