import HTTPTypes
import Handbook
import Hummingbird
import NIOCore
import PinWire
import Publishing

/// Whether the process is alive, the contract, and what the problems mean.
struct OperationsRoutes: Sendable {
    let version: String
    /// Nil for an edge, which is no trial.
    var trialSetup: TrialSetup?
    private static let contract = PreparedAnswer(
        contentType: "application/yaml", cacheControl: "public, max-age=300",
        body: PreparedBody(Handbook.contract)
    )
    private static let contractJSON = PreparedAnswer(
        contentType: "application/json", cacheControl: "public, max-age=300",
        body: PreparedBody(Handbook.contractJSON)
    )

    var routes: [Route] {
        [
            Route("getHealth", .get, "/healthz", surface: .both, access: .everybody, needsNoLedger: true) { _ in
                guard self.trialSetup?.isUnderWay != true else {
                    throw Problem(.starting, "`pinledger dev` is still making its token and the file with it.")
                }
                return .json(["status": "alive", "version": .string(self.version)])
            },
            Route(
                "getContract", .get, "/openapi.yaml", surface: .both, access: .everybody, isPrepared: true,
                needsNoLedger: true
            ) {
                try Self.contract.response(to: $0.request)
            },
            Route(
                "getContractJSON", .get, "/openapi.json", surface: .both, access: .everybody, isPrepared: true,
                needsNoLedger: true
            ) {
                try Self.contractJSON.response(to: $0.request)
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
}
