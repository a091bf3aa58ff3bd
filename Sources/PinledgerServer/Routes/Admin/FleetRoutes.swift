import EventStore
import Hummingbird
import PinWire
import Pinning
import Publishing

/// The settings of every app: `/v1/fleet`.
struct FleetRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("getFleet", .get, "/v1/fleet", access: .somewhere(.readFleet)) { _ in
                let fleet = self.services.ledger.view.state.fleet
                return .json(fleet.json, headers: [.eTag: self.services.tag(of: fleet.version)])
            },
            Route("updateFleet", .patch, "/v1/fleet", access: .everywhere(.changeFleet), query: CommandExecutor.query) {
                exchange in
                let change = try await exchange.change { (members) throws(JSONDefect) in
                    let field = try members.required("issuer")
                    let issuer = try field.string()
                    guard (1...255).contains(issuer.utf8.count), issuer.isPrintableASCII,
                        issuer.contains(where: { $0 != " " })
                    else {
                        throw field.defect("must be 1 to 255 printable ASCII characters")
                    }
                    return issuer
                }
                return try await CommandExecutor(services: self.services)(
                    .fleet(.setIssuer(change.content)), of: change, in: exchange
                )
            },
        ]
    }
}
