import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// What clients fetch: `/client/v1`.
struct ClientRoutes: Sendable {
    let services: Services
    let answers: PreparedAnswers

    var routes: [Route] {
        [
            Route(
                "getDocument", .get, "/client/v1/apps/{app}/document", surface: .client, access: .everybody,
                isPrepared: true, self.document),
            Route(
                "getKeySet", .get, "/client/v1/jwks.json", surface: .client, access: .everybody, isPrepared: true
            ) { exchange in
                try self.answers.currentKeySet().response(to: exchange.request)
            },
        ]
    }

    private func document(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        guard let answer = self.answers.document(of: id.text) else {
            if let fault = self.services.ledger.partialFault { throw fault }
            var problem =
                self.services.ledger.view.state.apps[id] == nil
                ? Problem(Refusal.appUnknown(id)) : Problem(.notPublished, "No document of \(id) has been signed yet.")
            // Long enough to spare the server, short enough for an app that is just being made.
            problem.headers[.cacheControl] = "public, max-age=5"
            throw problem
        }
        let response = try answer.response(to: exchange.request)
        self.count(exchange.request, response, answer)
        return response
    }

    /// Counts the client, as ``LoopTally`` does for those that are answered before the router.
    private func count(_ request: Request, _ response: Response, _ answer: PreparedAnswer) {
        guard request.method == .get, let document = answer.document else { return }
        let intake = self.services.adoption.intake
        intake.count(
            intake.sighting(
                at: document.place, current: document.version, isCurrent: response.status == .notModified,
                condition: PreparedAnswer.joined(request.headers, .ifNoneMatch),
                report: PreparedAnswer.joined(request.headers, .pinledgerClient)
            )
        )
    }
}
