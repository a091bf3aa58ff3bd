import Addresses
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Probing

// What the ledger is told of requests: those of operators that were refused or failed, and reads of what is confidential.

extension Responder {
    /// Counts a request that was not answered as asked.
    ///
    /// - Parameters:
    ///   - route: Nil for a path, or a method, that no operation has.
    ///   - caller: Nil for one that is not known.
    func audit(
        _ problem: Problem, of request: Request, _ context: ExchangeContext, _ route: Route?,
        _ parameters: [String: String], by caller: Caller?
    ) {
        let status = problem.type.entry.status
        // Strangers' requests to public operations are no one's business here, and many.
        let isOfOperators =
            route.map { $0.access.needsToken || $0.isAudited || request.headers[.authorization] != nil }
            ?? self.content.takesTokens
        guard caller != nil || isOfOperators else { return }
        let outcome: AuditRecord.Outcome =
            switch status.code {
            case 401: .unauthenticated
            case 403, 404: .denied
            case 500...: .failed
            default: .refused
            }
        self.count(outcome, status.code, problem.type.rawValue, request, context, route, parameters, by: caller)
    }

    /// Counts a read of what is confidential.
    func audit(
        readOf route: Route, _ response: Response, of request: Request, _ context: ExchangeContext,
        _ parameters: [String: String], by caller: Caller?
    ) {
        guard route.isConfidential, let caller, response.status.code < 400 else { return }
        self.count(.read, response.status.code, nil, request, context, route, parameters, by: caller)
    }

    private func count(
        _ outcome: AuditRecord.Outcome, _ status: Int, _ problem: String?, _ request: Request,
        _ context: ExchangeContext, _ route: Route?, _ parameters: [String: String], by caller: Caller?
    ) {
        let address = ClientAddress.of(request, from: context.peer, trusted: self.trustedProxies.networks)
        let peer = context.peer.flatMap { IPAddress($0) }?.plain
        self.auditCounter.note(
            AuditRecord(
                actor: caller?.actor, address: address, proxy: peer == address ? nil : peer,
                operation: route?.operationID, app: parameters["app"].flatMap { try? AppID($0) }, outcome: outcome,
                status: status, problem: problem, time: self.clock(), requestID: context.id))
    }
}
