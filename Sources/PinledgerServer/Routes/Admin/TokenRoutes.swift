import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing
import Signals

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
            Route("getToken", .get, "/v1/tokens/{token_id}", access: .anyToken, self.get),
            Route(
                "createToken", .post, "/v1/tokens", access: .anyToken, query: CommandExecutor.drawingQuery, self.create),
            Route(
                "revokeToken", .delete, "/v1/tokens/{token_id}", access: .anyToken, query: CommandExecutor.bodilessQuery
            ) { exchange in
                try await self.change(
                    .access(.revokeToken(id: try Self.id(exchange))), of: try exchange.bodilessChange(), in: exchange)
            },
        ]
    }

    private static func id(_ exchange: Exchange) throws -> String {
        try exchange.parameter("token_id") { (text) throws(TokenIDMalformed) in
            guard let id = TokenID(text) else { throw TokenIDMalformed() }
            return id.description
        }
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
                && access.isVisible(token, to: exchange.actor, with: exchange.rights)
        }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        // Which tokens there are is said also while the database cannot be asked.
        let used = (try? await self.services.tokenUseStore.lastUses(of: tokens.map(\.id))) ?? [:]
        return .json(
            ["tokens": .array(tokens.map { $0.json(lastUsedAt: used[$0.id]) })],
            headers: [.eTag: self.services.tag(of: access.version)])
    }

    /// A token, with the networks from which it was used.
    private func get(_ exchange: Exchange) async throws -> Response {
        let (access, id) = (self.services.ledger.view.state.access, try Self.id(exchange))
        guard let token = access.tokens[id], access.isVisible(token, to: exchange.actor, with: exchange.rights) else {
            throw Problem(Refusal.tokenUnknown(id))
        }
        let uses = try await self.services.tokenUseStore.uses(of: id)
        guard case .object(var members) = token.json(lastUsedAt: uses.map(\.lastAt).max()) else { return .json(.null) }
        members["used_from"] = .array(uses.map(\.json))
        return .json(.object(members), headers: [.eTag: self.services.tag(of: access.version)])
    }

    /// What a request says of a token.
    private struct StatedToken: Sendable {
        let name: String?
        let terms: AccessToken.Terms
        let expiresAt: Timestamp?
        let replaced: TokenReplacement?
    }

    /// The name and terms of a token: where a request says nothing of them, those of the token that it replaces.
    private func completed(
        _ stated: StatedToken, _ exchange: Exchange
    ) throws -> (name: String, terms: AccessToken.Terms) {
        var (name, terms) = (stated.name, stated.terms)
        if let replaced = stated.replaced {
            let access = self.services.ledger.view.state.access
            guard let earlier = access.tokens[replaced.token],
                access.isVisible(earlier, to: exchange.actor, with: exchange.rights)
            else { throw Problem(Refusal.tokenUnknown(replaced.token)) }
            name = name ?? earlier.name
            if terms == AccessToken.Terms(kind: .general, grants: nil), let known = earlier.terms {
                terms = AccessToken.Terms(
                    kind: known.kind, grants: known.grants, principal: known.principal, networks: known.networks)
            }
        }
        guard let name else { throw JSONDefect(pointer: JSONPointer(["name"]), message: "is required") }
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
        return (name, terms)
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            StatedToken(
                name: try members.optional("name")?.plainText(atMost: 200), terms: try AccessToken.Terms(&members),
                expiresAt: try members.optional("expires_at")?.timestamp(),
                replaced: try members.optional("replaces").mapped(TokenReplacement.init(_:)))
        }
        let (name, terms) = try self.completed(change.content, exchange)
        let token = APIToken.generate(terms.kind == .pipeline ? .pipeline : .administrator)
        let id = TokenID.generate().description
        let new = NewToken(
            id: id, name: name, digest: token.digest,
            expiresAt: change.content.expiresAt ?? self.services.clock().adding(seconds: Self.defaultSeconds),
            terms: terms, replaced: change.content.replaced)
        let result = try await self.change.perform(.access(.issueToken(new)), of: change, in: exchange)
        // The text is shown only once. A repeated request gets the same record without it.
        let isNew = !result.recorded.isReplay && !result.isDryRun
        return self.change.response(
            to: result, status: .created, location: "/v1/tokens",
            adding: isNew ? ["token": .string(token.revealedText), "token_id": .string(id)] : [:]
        )
    }
}
