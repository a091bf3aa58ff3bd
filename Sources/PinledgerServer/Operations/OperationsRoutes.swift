import EventStore
import HTTPTypes
import Handbook
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Publishing

/// Health, the contract, and what the problems mean.
struct OperationsRoutes: Sendable {
    let services: Services
    private let push: DocumentPush
    private static let contract = PreparedAnswer(
        contentType: "application/yaml", cacheControl: "public, max-age=300",
        body: PreparedBody(Handbook.contract)
    )
    private static let clientIntegration = PreparedAnswer(
        contentType: "text/markdown; charset=utf-8", cacheControl: "public, max-age=300",
        body: PreparedBody(Handbook.clientIntegration)
    )

    init(services: Services, push: DocumentPush) {
        self.services = services
        self.push = push
    }

    var routes: [Route] {
        [
            Route("getHealth", .get, "/healthz", surface: .both, access: .everybody) { _ in
                .json(["status": "alive", "version": .string(self.services.version)])
            },
            Route("getReadiness", .get, "/readyz", surface: .both, access: .everybody, self.readiness),
            Route("getContract", .get, "/openapi.yaml", surface: .both, access: .everybody, isPrepared: true) {
                try Self.contract.response(to: $0.request)
            },
            Route("getClientIntegration", .get, "/client-integration.md", surface: .both, access: .everybody, isPrepared: true)
            {
                try Self.clientIntegration.response(to: $0.request)
            },
            Route("listProblems", .get, "/problems", surface: .both, access: .everybody) { _ in
                .json(["problems": .array(ProblemType.allCases.map(Self.explanation))])
            },
            Route("getProblem", .get, "/problems/{problem}", surface: .both, access: .everybody) { exchange in
                let name = exchange.parameters["problem"] ?? ""
                guard let type = ProblemType(rawValue: name) else {
                    throw Problem(.notFound, "There is no problem \(name.printable).")
                }
                return .json(Self.explanation(type))
            },
        ]
    }

    private static func explanation(_ type: ProblemType) -> JSON {
        let entry = type.entry
        return [
            "type": .string("/problems/\(type.rawValue)"), "status": .integer(Int64(entry.status.code)),
            "title": .string(entry.title), "advice": .string(entry.advice),
        ]
    }

    /// Whether this node should get traffic, and why not. Looks at memory only: a database that is down for a moment
    /// must not take nodes out that can serve every document.
    private func readiness(_ exchange: Exchange) async throws -> Response {
        let view = self.services.ledger.view
        let fault = self.services.ledger.fault
        let status = fault != nil ? "halted" : self.services.drain.hasBegun ? "draining" : "ready"
        let json: JSON = .members([
            "status": .string(status),
            "position": .integer(view.head.position),
            "apps": .integer(Int64(view.state.apps.count)),
            "documents": .integer(Int64(self.services.publisher.table.count)),
            "client_streams": .integer(Int64(self.push.slots.count)),
            "can_sign": .bool(self.services.keys.canSign),
            "can_write": .bool(self.services.writer != nil),
            "fault": fault.map { .string($0.description) },
            "suspension": self.services.ledger.suspension.map { .string($0) },
        ])
        return .json(json, status: status == "ready" ? .ok : .serviceUnavailable)
    }
}
