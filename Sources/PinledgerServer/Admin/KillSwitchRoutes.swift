import EventStore
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Kill switches for everything, an app or a host.
struct KillSwitchRoutes: Sendable {
    let services: Services
    private var change: ChangeHandler { ChangeHandler(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let app = "/v1/apps/{app}/kill-switch"
        let host = "/v1/apps/{app}/hosts/{host}/kill-switch"
        let query = ChangeHandler.query
        let bodiless = ChangeHandler.bodilessQuery
        return [
            Route("listKillSwitches", .get, "/v1/kill-switches", self.list),
            Route("engageFleetKillSwitch", .put, "/v1/kill-switch", query: query) { exchange in
                try await self.engage(exchange) { .fleet(.engageKillSwitch(expiresAt: $0)) }
            },
            Route("releaseFleetKillSwitch", .delete, "/v1/kill-switch", query: bodiless) { exchange in
                try await self.release(exchange, .fleet(.releaseKillSwitch))
            },
            Route("engageAppKillSwitch", .put, app, query: query) { exchange in
                let id = try exchange.app
                return try await self.engage(exchange) { .app(id, [.engageKillSwitch(nil, expiresAt: $0)]) }
            },
            Route("releaseAppKillSwitch", .delete, app, query: bodiless) { exchange in
                try await self.release(exchange, .app(try exchange.app, [.releaseKillSwitch(nil)]))
            },
            Route("engageHostKillSwitch", .put, host, query: query) { exchange in
                let (id, pattern) = (try exchange.app, try exchange.host)
                return try await self.engage(exchange) { .app(id, [.engageKillSwitch(pattern, expiresAt: $0)]) }
            },
            Route("releaseHostKillSwitch", .delete, host, query: bodiless) { exchange in
                try await self.release(exchange, .app(try exchange.app, [.releaseKillSwitch(try exchange.host)]))
            },
        ]
    }

    private func engage(_ exchange: Exchange, _ command: (Timestamp) -> Command) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.required("expires_at").timestamp()
        }
        return try await self.change(command(change.content), of: change, in: exchange)
    }

    private func release(_ exchange: Exchange, _ command: Command) async throws -> Response {
        try await self.change(command, of: try exchange.bodilessChange(), in: exchange)
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let state = self.services.ledger.view.state
        let now = self.services.clock()
        var engaged: [JSON] = []
        func add(_ scope: String, _ app: AppID?, _ host: HostPattern?, _ killSwitch: KillSwitch?) {
            guard let killSwitch, case .object(var members) = killSwitch.json else { return }
            members["scope"] = .string(scope)
            members["app"] = app.map { .string($0.text) }
            members["host"] = host.map { .string($0.text) }
            members["in_force"] = .bool(killSwitch.isInForce(at: now))
            engaged.append(.object(members))
        }
        add("everything", nil, nil, state.fleet.killSwitch)
        for app in state.apps.values.sorted(by: { $0.id < $1.id }) {
            add("app", app.id, nil, app.killSwitch)
            for (pattern, host) in app.hosts.sorted(by: { $0.key < $1.key }) {
                add("host", app.id, pattern, host.killSwitch)
            }
        }
        return .json(["kill_switches": .array(engaged)])
    }
}
