import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing
import Signals

/// The clients' operations: `/client/v1`.
struct ClientRoutes: Sendable {
    let answers: PreparedAnswers
    /// Counts the clients of documents; nil to count none.
    let intake: AdoptionIntake?
    /// The answer to a client that asks for a document which does not exist.
    let missing: @Sendable (AppID) throws -> Problem
    /// The key set that goes with the documents.
    let keySet: @Sendable () throws -> PreparedAnswer

    var routes: [Route] {
        [
            Route(
                "getDocument", .get, "/client/v1/apps/{app}/document", surface: .client, access: .everybody,
                isPrepared: true, needsNoLedger: true, self.document),
            Route(
                "getKeySet", .get, "/client/v1/jwks.json", surface: .client, access: .everybody, isPrepared: true
            ) { exchange in
                try self.keySet().response(to: exchange.request)
            },
        ]
    }

    private func document(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        guard let answer = self.answers.document(of: id.text) else {
            throw try self.missing(id)
        }
        let response = try answer.response(to: exchange.request)
        Self.count(exchange.request, response, answer, self.intake)
        return response
    }

    /// Counts the client, as ``LoopTally`` does for those that are answered before the router.
    static func count(_ request: Request, _ response: Response, _ answer: PreparedAnswer, _ intake: AdoptionIntake?) {
        guard request.method == .get, let document = answer.document, let intake else { return }
        intake.count(
            intake.sighting(
                at: document.appIndex, current: document.version, isCurrent: response.status == .notModified,
                condition: PreparedAnswer.joined(request.headers, .ifNoneMatch),
                report: PreparedAnswer.joined(request.headers, .pinledgerClient)
            )
        )
    }
}

extension Services {
    /// The roots of trust that clients are to have.
    ///
    /// - Throws: ``LedgerFault`` where the ledger was not read to its end: there may be another one.
    @Sendable func roots() throws -> [RootOfTrust] {
        if let fault = self.ledger.partialHalt { throw fault }
        return self.ledger.view.state.keys.roots.map(\.root)
    }

    /// The answer to a client that asks for a document which does not exist.
    ///
    /// - Throws: ``LedgerFault`` where the ledger was not read to its end, so that it is unknown.
    func missing(_ app: AppID) throws(LedgerFault) -> Problem {
        if let fault = self.ledger.partialFault { throw fault }
        var problem =
            self.ledger.view.state.apps[app] == nil
            ? Problem(Refusal.appUnknown(app))
            : Problem(.notPublished, "The current document of \(app) is not signed yet.")
        // Long enough to spare the server, short enough for an app that is just being made.
        problem.headers[.cacheControl] = "public, max-age=5"
        return problem
    }
}
