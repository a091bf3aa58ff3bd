import EventStore
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Kill switches for everything, an app, versions of an app or a host.
struct KillSwitchRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let app = "/v1/apps/{app}/kill-switch"
        let host = "/v1/apps/{app}/hosts/{host}/kill-switch"
        let query = CommandExecutor.query
        let bodiless = CommandExecutor.bodilessQuery
        return [
            Route("listKillSwitches", .get, "/v1/kill-switches", access: .somewhere(.readApps), self.list),
            Route(
                "engageFleetKillSwitch", .put, "/v1/kill-switch", access: .everywhere(.engageKillSwitches), query: query
            ) { exchange in
                try await self.engage(exchange) { .fleet(.engageKillSwitch(expiresAt: $0)) }
            },
            Route(
                "releaseFleetKillSwitch", .delete, "/v1/kill-switch", access: .everywhere(.releaseKillSwitches),
                query: bodiless
            ) { exchange in
                try await self.release(exchange, .fleet(.releaseKillSwitch))
            },
            Route("engageAppKillSwitch", .put, app, access: .app(.engageKillSwitches), query: query) { exchange in
                let id = try exchange.app
                let change = try await exchange.change { (members) throws(JSONDefect) in
                    let expiresAt = try self.expiry(&members)
                    guard let versions = try members.optional("versions").mapped(VersionRange.init) else {
                        return AppCommand.engageKillSwitch(nil, expiresAt: expiresAt)
                    }
                    return .engageVersionKillSwitch(versions, expiresAt: expiresAt)
                }
                return try await self.change(.app(id, [change.content]), of: change, in: exchange)
            },
            Route(
                "releaseAppKillSwitch", .delete, app, access: .app(.releaseKillSwitches),
                query: bodiless + Exchange.versionQuery
            ) { exchange in
                let command = try exchange.versionRange.map { AppCommand.releaseVersionKillSwitch($0) }
                return try await self.release(exchange, .app(try exchange.app, [command ?? .releaseKillSwitch(nil)]))
            },
            Route("engageHostKillSwitch", .put, host, access: .app(.engageKillSwitches), query: query) { exchange in
                let (id, pattern) = (try exchange.app, try exchange.host)
                return try await self.engage(exchange) { .app(id, [.engageKillSwitch(pattern, expiresAt: $0)]) }
            },
            Route("releaseHostKillSwitch", .delete, host, access: .app(.releaseKillSwitches), query: bodiless) {
                exchange in
                try await self.release(exchange, .app(try exchange.app, [.releaseKillSwitch(try exchange.host)]))
            },
        ]
    }

    private func engage(_ exchange: Exchange, _ command: (Timestamp) -> Command) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try self.expiry(&members)
        }
        return try await self.change(command(change.content), of: change, in: exchange)
    }

    /// When the switch is to end: `expires_at`, or `for_seconds` from now, in whole seconds.
    private func expiry(_ members: inout JSONMembers) throws(JSONDefect) -> Timestamp {
        guard let seconds = members.optional("for_seconds") else {
            return try members.required("expires_at").timestamp()
        }
        guard members.optional("expires_at") == nil else {
            throw seconds.defect("must not be given together with expires_at; give one of the two")
        }
        let duration = try seconds.integer(1...KillSwitch.longestSeconds)
        return Timestamp(seconds: self.services.clock().seconds).adding(seconds: duration)
    }

    private func release(_ exchange: Exchange, _ command: Command) async throws -> Response {
        try await self.change(command, of: try exchange.bodilessChange(), in: exchange)
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let state = self.services.ledger.view.state
        let now = self.services.clock()
        var engaged: [JSON] = []
        func add(
            _ scope: String, _ app: AppID?, _ host: HostPattern?, _ killSwitch: KillSwitch?,
            versions: VersionRange? = nil
        ) {
            guard let killSwitch, case .object(var members) = killSwitch.json else { return }
            members["scope"] = .string(scope)
            members["app"] = app.map { .string($0.text) }
            members["host"] = host.map { .string($0.text) }
            members["versions"] = versions?.json
            members["in_force"] = .bool(killSwitch.isInForce(at: now))
            engaged.append(.object(members))
        }
        add("everything", nil, nil, state.fleet.killSwitch)
        for app in state.apps.values.filter({ exchange.rights.sees($0.id) }).sorted(by: { $0.id < $1.id }) {
            add("app", app.id, nil, app.killSwitch)
            for engaged in app.versionKillSwitches {
                add("app_versions", app.id, nil, engaged.killSwitch, versions: engaged.versions)
            }
            for (pattern, host) in app.hosts.sorted(by: { $0.key < $1.key }) {
                add("host", app.id, pattern, host.killSwitch)
            }
        }
        return .json(["kill_switches": .array(engaged)])
    }
}

extension Exchange {
    /// The query parameters that together name a range of versions.
    fileprivate static let versionQuery = ["minimum", "maximum", "excluded", "minimum_build"]

    /// The range of versions that the query names; nil for none. An invalid combination of parameters is a defect of
    /// the range, as in a body.
    fileprivate var versionRange: VersionRange? {
        get throws {
            var members: [String: JSON] = [:]
            for name in Self.versionQuery.prefix(2) { members[name] = self.version(name).map { .string($0) } }
            if let excluded = self.version("excluded") {
                members["excluded"] = .array(excluded.split(separator: ",").map { .string(String($0)) })
            }
            if let build = try self.number("minimum_build", in: 0...JSON.largestInteger) {
                members["minimum_build"] = .integer(build)
            }
            guard !members.isEmpty else { return nil }
            do throws(JSONDefect) { return try VersionRange(JSONField(.object(members))) } catch {
                let place = error.pointer.text.isEmpty ? "the range" : String(error.pointer.text.dropFirst())
                throw Problem(.invalidValue, "In the query, \(place) \(error.message).", errors: [error])
            }
        }
    }
}
