import EventStore
import HTTPTypes
import Handbook
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Publishing
import Secrets

/// Health, the contract, and what the problems mean.
struct OperationsRoutes: Sendable {
    let services: Services
    private let push: DocumentPush
    private static let contract = PreparedAnswer(
        contentType: "application/yaml", cacheControl: "public, max-age=300",
        body: PreparedBody(Handbook.contract)
    )

    init(services: Services, push: DocumentPush) {
        self.services = services
        self.push = push
    }

    var routes: [Route] {
        [
            Route("getHealth", .get, "/healthz", surface: .both, access: .everybody, needsNoLedger: true) { _ in
                .json(["status": "alive", "version": .string(self.services.version)])
            },
            Route(
                "getReadiness", .get, "/readyz", surface: .both, access: .optionalToken, needsNoLedger: true,
                query: ["for"], self.readiness),
            Route(
                "getContract", .get, "/openapi.yaml", surface: .both, access: .everybody, isPrepared: true,
                needsNoLedger: true
            ) {
                try Self.contract.response(to: $0.request)
            },
            Route("listProblems", .get, "/problems", surface: .both, access: .everybody, needsNoLedger: true) { _ in
                .json(["problems": .array(ProblemType.allCases.map(Self.explanation))])
            },
            Route("getProblem", .get, "/problems/{problem}", surface: .both, access: .everybody, needsNoLedger: true) {
                exchange in
                let name = exchange.parameters["problem"] ?? ""
                guard let type = ProblemType(rawValue: name) else {
                    throw Problem(.notFound, "There is no problem type \(name.printable).")
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

    /// Whether this node should get traffic of one kind; operators are told more.
    private func readiness(_ exchange: Exchange) async throws -> Response {
        let name = exchange.query["for"] ?? Readiness.Use.serves.rawValue
        guard let use = Readiness.Use(rawValue: name) else {
            let known = Readiness.Use.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.malformedRequest, "The query parameter for must be one of \(known).")
        }
        let readiness = Readiness(self.services)
        var members = readiness.members(for: use)
        if exchange.isOperators {
            members["status"] = .string(readiness.status(for: use))
            members.merge(self.details(readiness)) { _, detail in detail }
            // How many apps there are is the business of those who see all of them. A node that still reads the ledger cannot
            // tell who does, and what it has read is all that there is to see of its progress.
            if self.services.ledger.unread == nil, !exchange.rights.allowsEverywhere(.readApps) {
                for name in ["apps", "documents"] { members[name] = nil }
            }
        }
        return .json(.object(members), status: readiness.allows(use) ? .ok : .serviceUnavailable)
    }

    /// What is nobody's business but operators'.
    private func details(_ readiness: Readiness) -> [String: JSON] {
        let ledger = self.services.ledger
        let view = ledger.view
        var details: [String: JSON] = [
            "position": .integer(view.head.position),
            "apps": .integer(Int64(view.state.apps.count)),
            "documents": .integer(Int64(self.services.publisher.table.count)),
            "documents_behind": .integer(Int64(self.services.lag.count)),
            "client_streams": .integer(Int64(self.push.count)),
            "can_sign": .bool(self.services.keys.canSign),
            "can_write": .bool(readiness.writes),
        ]
        details["write_failure"] = self.services.writeFailure.map { .string($0) }
        details["fault"] = (ledger.fault ?? ledger.unread ?? ledger.unsigned).map { .string($0.description) }
        details["suspension"] = ledger.suspension.map { .string($0) }
        return details
    }
}
