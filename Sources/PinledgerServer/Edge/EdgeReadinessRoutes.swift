import Edge
import HTTPTypes
import Hummingbird
import PinWire
import Publishing

/// Whether an edge should get traffic: `/readyz`. It serves what it has, however long its upstream has been away: how old that is stands
/// in the metrics.
struct EdgeReadinessRoutes: Sendable {
    let services: EdgeServices

    var routes: [Route] {
        [
            Route(
                "getReadiness", .get, "/readyz", surface: .both, access: .everybody, needsNoLedger: true,
                query: ["for"], self.readiness)
        ]
    }

    private func readiness(_ exchange: Exchange) async throws -> Response {
        let name = exchange.query["for"] ?? Readiness.Use.serves.rawValue
        guard let use = Readiness.Use(rawValue: name) else { throw Readiness.Use.unknown }
        let serves =
            !self.services.drain.hasBegun && self.services.status.isComplete && self.services.table.hasServed
        let isReady = serves && [.serves, .servesDocuments].contains(use)
        return .json(
            [
                "status": isReady ? "ready" : "not_ready", "serves": .bool(serves), "serves_documents": .bool(serves),
                "writes": false, "signs": false,
            ], status: isReady ? .ok : .serviceUnavailable)
    }
}
