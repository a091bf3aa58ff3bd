import Edge
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Clients' reports at an edge: `/client/v1/apps/{app}/reports`, which it passes on as they came.
struct EdgeReportRoutes: Sendable {
    let services: EdgeServices
    /// The answer to a client of an app that the edge does not know.
    let missing: @Sendable (AppID) throws -> Problem

    var routes: [Route] {
        let path = "/client/v1/apps/{app}/reports"
        func route(_ id: String, _ path: String) -> Route {
            Route(
                id, .post, path, surface: .client, access: .everybody, isCostly: true,
                bodyLimit: TelemetryServices.bodyLimit
            ) { try await self.take($0) }
        }
        return [
            route("sendReports", path), route("sendTrustKitReport", "\(path)/trustkit"),
            route("sendPinReport", "\(path)/hpkp"),
        ]
    }

    /// The fields that say how a body is to be read, and who has signed it.
    private static let fields: [HTTPField.Name] = [.contentType, .contentEncoding, .pinledgerSignature]

    private func take(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.app
        guard self.services.table[app] != nil else { throw try self.missing(app) }
        try exchange.requireJSON()
        // Bodies that are not whole yet are bounded with all other requests.
        let body = try await exchange.body()
        let path = exchange.request.head.path ?? ""
        let address = ClientAddress.of(exchange, trusted: self.services.trustedProxies.networks)
        let report = WaitingReport(
            path: String(path.prefix { $0 != "?" }),
            fields: Self.fields.compactMap { name in
                PreparedAnswer.joined(exchange.request.headers, name).map {
                    WaitingReport.Field(name: name.rawName, value: $0)
                }
            },
            address: "\(address)", body: body)
        do throws(ReportQueue.Refusal) {
            try self.services.reports.add(report, from: "\(ClientNetwork(of: address))")
        } catch {
            switch error {
            // One network's reports are no failure of the edge.
            case .networkIsFull:
                var problem = Problem(.tooManyReports, "Too many reports of your network wait to be passed on.")
                problem.headers[.retryAfter] = "60"
                throw problem
            case .isFull: throw Problem(.overloaded, "Too many reports wait to be passed on.")
            }
        }
        return .json(["queued": true], status: .accepted)
    }
}
