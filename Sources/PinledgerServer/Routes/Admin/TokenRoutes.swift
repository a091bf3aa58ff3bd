import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing

/// API tokens: `/v1/tokens`, and `/v1/whoami`.
struct TokenRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    /// The default life of a token: 90 days.
    private static let defaultSeconds: Int64 = 90 * 86_400

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("whoAmI", .get, "/v1/whoami", self.whoAmI),
            Route("listTokens", .get, "/v1/tokens", self.list),
            Route("createToken", .post, "/v1/tokens", query: CommandExecutor.drawingQuery, self.create),
            Route("revokeToken", .delete, "/v1/tokens/{token_id}", query: CommandExecutor.bodilessQuery) { exchange in
                let id = try exchange.parameter("token_id") { (text) throws(TokenIDMalformed) in
                    guard let id = TokenID(text) else { throw TokenIDMalformed() }
                    return id.description
                }
                return try await self.change(
                    .access(.revokeToken(id: id)), of: try exchange.bodilessChange(), in: exchange
                )
            },
        ]
    }

    private struct TokenIDMalformed: Error, CustomStringConvertible {
        let description = "must be the id of a token: tok_ and 16 letters and digits"
    }

    private func whoAmI(_ exchange: Exchange) async throws -> Response {
        guard let principal = exchange.principal,
            let token = self.services.ledger.view.state.access.tokens[principal.id]
        else { throw Problem(.tokenInvalid, "The token is unknown.") }
        return .json([
            "actor": principal.json, "token": token.json, "server_time": .string(self.services.clock().rfc3339),
        ])
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let access = self.services.ledger.view.state.access
        // Feeds of calendars have a list of their own.
        let tokens = access.tokens.values.filter { !CalendarSecret.isID($0.id) }.sorted {
            ($0.createdAt, $0.id) < ($1.createdAt, $1.id)
        }
        return .json(["tokens": .array(tokens.map(\.json))], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            (
                name: try members.required("name").plainText(atMost: 200),
                expiresAt: try members.optional("expires_at")?.timestamp()
            )
        }
        let token = APIToken.generate(.administrator)
        let id = TokenID.generate().description
        let command = AccessCommand.issueToken(
            id: id, name: change.content.name, digest: token.digest,
            expiresAt: change.content.expiresAt ?? self.services.clock().adding(seconds: Self.defaultSeconds)
        )
        let result = try await self.change.perform(.access(command), of: change, in: exchange)
        // The text is shown only once. A repeated request gets the same record without it.
        let isNew = !result.recorded.isReplay && !result.isDryRun
        return self.change.response(
            to: result, status: .created, location: "/v1/tokens",
            adding: isNew ? ["token": .string(token.revealedText), "token_id": .string(id)] : [:]
        )
    }
}
