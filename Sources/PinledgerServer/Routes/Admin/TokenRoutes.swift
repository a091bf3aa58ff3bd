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
            Route("whoAmI", .get, "/v1/whoami", access: .anyToken, self.whoAmI),
            Route("listTokens", .get, "/v1/tokens", access: .anyToken, self.list),
            Route(
                "createToken", .post, "/v1/tokens", access: .anyToken, query: CommandExecutor.drawingQuery, self.create),
            Route(
                "revokeToken", .delete, "/v1/tokens/{token_id}", access: .anyToken, query: CommandExecutor.bodilessQuery
            ) { exchange in
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

    /// The caller, and what it may do now.
    private func whoAmI(_ exchange: Exchange) async throws -> Response {
        let access = self.services.ledger.view.state.access
        guard let actor = exchange.actor, let token = access.tokens[actor.id] else {
            throw Problem(.tokenInvalid, "The token is unknown.")
        }
        let rights = exchange.rights
        // A token that may do less than its principal is not told what else that one may.
        var principal = token.terms?.principal.flatMap { access.principals[$0] }
        if token.terms?.grants != nil { principal?.grants = [:] }
        let permissions = Permission.allCases.filter(rights.allowsSomewhere).map { permission -> JSON in
            ["permission": .string(permission.rawValue), "everywhere": .bool(rights.allowsEverywhere(permission))]
        }
        return .json(
            .members([
                "actor": actor.json, "token": token.json,
                "principal": principal?.json,
                "permissions": .array(permissions),
                "server_time": .string(self.services.clock().rfc3339),
            ]))
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let (access, now) = (self.services.ledger.view.state.access, self.services.clock())
        // Feeds of calendars have a list of their own.
        let tokens = access.tokens.values.filter { token in
            // A session that is over is of no more use, and there are many.
            token.kind != .calendar && (token.kind != .session || token.isValid(at: now))
                && (access.isOwn(token.id, of: exchange.actor)
                    || exchange.rights.allows(.readAccess, on: access.apps(of: token)))
        }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        return .json(["tokens": .array(tokens.map(\.json))], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let name = try members.required("name").plainText(atMost: 200)
            let terms = try AccessToken.Terms(&members)
            guard [.general, .pipeline].contains(terms.kind) else {
                throw JSONDefect(
                    pointer: JSONPointer(["kind"]),
                    message: "must be general or pipeline; calendar feeds and sessions have operations of their own")
            }
            guard terms.grants != nil || terms.principal != nil else {
                throw JSONDefect(
                    pointer: JSONPointer(["grants"]),
                    message: "must say what the token may do, such as [{\"role\": \"viewer\", \"apps\": [\"*\"]}], "
                        + "unless it belongs to a principal")
            }
            return (name: name, terms: terms, expiresAt: try members.optional("expires_at")?.timestamp())
        }
        let (name, terms, expiresAt) = change.content
        let token = APIToken.generate(terms.kind == .pipeline ? .pipeline : .administrator)
        let id = TokenID.generate().description
        let new = NewToken(
            id: id, name: name, digest: token.digest,
            expiresAt: expiresAt ?? self.services.clock().adding(seconds: Self.defaultSeconds), terms: terms)
        let result = try await self.change.perform(.access(.issueToken(new)), of: change, in: exchange)
        // The text is shown only once. A repeated request gets the same record without it.
        let isNew = !result.recorded.isReplay && !result.isDryRun
        return self.change.response(
            to: result, status: .created, location: "/v1/tokens",
            adding: isNew ? ["token": .string(token.revealedText), "token_id": .string(id)] : [:]
        )
    }
}
