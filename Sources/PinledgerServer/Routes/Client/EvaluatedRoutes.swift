import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Publishing
import Secrets
import Signals

/// Documents in which gate and rollouts are decided for the client: `/client/v1/apps/{app}/evaluated`.
struct EvaluatedRoutes: Sendable {
    let services: Services
    let evaluated: EvaluatedDocuments<PreparedAnswer>

    var routes: [Route] {
        [
            Route(
                "getEvaluatedDocument", .get, "/client/v1/apps/{app}/evaluated", surface: .client, access: .everybody,
                isPrepared: true, isCostly: true, query: EvaluatedQuery.names, self.document)
        ]
    }

    private func document(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let device = try EvaluatedQuery.device(exchange, country: self.services.countries.country(of: exchange))
        let answer: PreparedAnswer?
        do { answer = try await self.evaluated.answer(id.text, for: device) } catch {
            throw Self.problem(error, id, self.services.ledger.fault)
        }
        guard let answer else { throw try self.services.missing(id) }
        let response = try answer.response(to: exchange.request)
        ClientRoutes.count(exchange.request, response, answer, self.services.adoption.intake)
        return response
    }

    /// - Parameters:
    ///   - error: Why there is no answer. It contains nothing of the device.
    ///   - fault: Why the node has halted, if it has.
    private static func problem(_ error: any Error, _ id: AppID, _ fault: LedgerFault?) -> any Error {
        switch error {
        case EvaluatedUnavailable.noKey, is SigningKeys.Unavailable:
            Problem(
                .noKeyEncryptionKey,
                "This node cannot sign a document for one device. Use /client/v1/apps/\(id)/document, which works for all devices."
            )
        case EvaluatedUnavailable.halted:
            Problem(
                fault?.meansUpgrade == true ? .upgradeNeeded : .halted,
                "This node signs nothing at the moment. Use /client/v1/apps/\(id)/document, which works for all devices."
            )
        case EvaluatedUnavailable.overloaded:
            Problem(.overloaded, "Too many documents for single devices are waiting to be signed.")
        default: error
        }
    }
}
