import EventStore
import Hummingbird
import PinWire
import Pinning

/// The effect of an app's state on its deployed clients: `/v1/apps/{app}/compat`.
struct CompatRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "getCompat", .get, "/v1/apps/{app}/compat", access: .app(.readApps), query: ["client", "change_id"],
                self.matrix)
        ]
    }

    private func matrix(_ exchange: Exchange) async throws -> Response {
        var app = try self.services.app(try exchange.app)
        var view = self.services.ledger.view
        if let id = exchange.query["change_id"] {
            let rehearsal = try view.state.rehearse(
                view.state.change(id, seenBy: exchange.rights), of: app.id, in: self.services.decisionContext)
            view.state = rehearsal.after
            app = view.state.apps[app.id] ?? app
        }
        let clients: [ClientKind: ClientSettings]
        if let kind = try exchange.clientKindInQuery {
            // A kind that is not declared may be about to be.
            clients = [kind: app.clients[kind]?.settings ?? ClientSettings()]
        } else {
            clients = app.clients.mapValues(\.settings)
        }
        let matrix = ClientMatrix(
            clients, view: try self.services.exportedView(of: app, in: view),
            isPublicSuffix: self.services.environment.isPublicSuffix)
        return .json(matrix.json)
    }
}

extension Exchange {
    /// The kind of client that the query names; nil for none.
    fileprivate var clientKindInQuery: ClientKind? {
        get throws(Problem) {
            guard let text = self.query["client"] else { return nil }
            guard let kind = ClientKind(rawValue: text) else {
                let known = ClientKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(.malformedRequest, "The query parameter `client` must be a kind of client: \(known).")
            }
            return kind
        }
    }
}
