import EventStore
import HTTPTypes
import Hummingbird
import IdentityTokens
import Keys
import PinWire
import Pinning
import Publishing

/// Sessions for identities that a provider vouches for: `/v1/sign-in`.
///
/// An identity token (OpenID Connect) is exchanged for a token of the ledger's, whose rights end with the session, the rules that admitted
/// it, or the principal: what every other token goes through holds for it too.
struct SignInRoutes: Sendable {
    let services: Services
    private let delays = SignInDelays()

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("getSignIn", .get, "/v1/sign-in", access: .everybody, self.get),
            Route("signIn", .post, "/v1/sign-in", access: .everybody, isCostly: true, isAudited: true, self.signIn),
            Route("signOut", .delete, "/v1/sign-in", access: .anyToken, self.signOut),
        ]
    }

    /// The providers with which people sign in: public, as a page for signing in would be.
    private func get(_ exchange: Exchange) async throws -> Response {
        let providers = self.services.ledger.view.state.access.identityProviders.values
            .filter { $0.clientID != nil }.sorted { $0.name < $1.name }
        return .json([
            "providers": .array(
                providers.map { provider in
                    .members([
                        "provider": .string(provider.name.text), "issuer": .string(provider.issuer.text),
                        "client_id": provider.clientID.map { .string($0) },
                        "scope": .string(provider.scope ?? IdentityProvider.defaultScope),
                    ])
                })
        ])
    }

    private func signIn(_ exchange: Exchange) async throws -> Response {
        let network = ClientNetwork(
            of: exchange.peer, forwardedFor: PreparedAnswer.joined(exchange.request.headers, .forwardedFor),
            trusted: self.services.telemetry.trustedProxies.networks)
        do {
            let response = try await self.exchangeToken(exchange)
            network.map(self.delays.forgive)
            return response
        } catch {
            let problem = Problem(error)
            // Right ones pass all the same: who shares a network with others is not locked out by their failures.
            guard Self.failures.contains(problem.type), let network, let wait = self.delays.failure(of: network)
            else { throw error }
            var delayed = Problem(
                .tooManyRequests, "Sign-ins from your network have failed too often. This one: \(problem.detail)")
            delayed.headers[.retryAfter] = String(wait)
            throw delayed
        }
    }

    private static let failures: Set<ProblemType> = [
        .identityTokenInvalid, .signInDenied, .identityUnlinked, .codeInvalid,
    ]

    /// The life of a token that a code gives: 90 days.
    private static let codedSeconds: Int64 = 90 * 86_400

    /// Either of what a session or a token is given for.
    private enum Credential {
        case identityToken(String, nonce: String?, isForBrowser: Bool)
        case code(String)
    }

    private func exchangeToken(_ exchange: Exchange) async throws -> Response {
        let body = try await exchange.body()
        try exchange.requireJSON()
        let credential = try JSONField(try JSON(parsing: body)).object { (members) throws(JSONDefect) -> Credential in
            let (token, code) = (members.optional("identity_token"), members.optional("code"))
            let nonce = try members.optional("nonce")?.string()
            let isForBrowser = try members.optional("cookie")?.bool() ?? false
            switch (token, code) {
            case (let token?, nil):
                return .identityToken(try token.string(), nonce: nonce, isForBrowser: isForBrowser)
            case (nil, let code?):
                if nonce != nil || isForBrowser { throw code.defect("has no nonce, and gives no cookie") }
                return .code(try code.string())
            default:
                throw JSONDefect(pointer: JSONPointer(), message: "must have either identity_token or code")
            }
        }
        switch credential {
        case .identityToken(let text, let nonce, let isForBrowser):
            // Or a page of another site could sign its visitors in as someone else.
            if isForBrowser { try SessionCookie.checkOrigin(of: exchange.request) }
            return try await self.session(for: text, nonce, isForBrowser: isForBrowser, exchange)
        case .code(let text): return try await self.redeem(text, exchange)
        }
    }

    @inline(never)
    private func redeem(_ text: String, _ exchange: Exchange) async throws -> Response {
        guard let writer = self.services.writer else { throw Problem(.readOnly, "This node is read-only.") }
        if let fault = self.services.ledger.partialFault { throw Problem(fault) }
        let (access, now) = (self.services.ledger.view.state.access, self.services.clock())
        guard let code = try? APIToken(parsing: text), code.kind == .wrapping,
            let known = access.code(code.digest, at: now), let id = known.terms?.principal,
            let principal = access.principals[id]
        else { throw Refusal.codeInvalid }
        let token = APIToken.generate(.administrator)
        let tokenID = TokenID.generate().description
        let recorded = try await writer.execute(
            CommandRequest(
                command: .access(
                    .identity(
                        .redeem(
                            codeDigest: code.digest, tokenID: tokenID, digest: token.digest,
                            expiresAt: now.adding(seconds: Self.codedSeconds)))),
                origin: Origin(
                    actor: Actor(kind: .token, id: tokenID, name: principal.name, principalID: id),
                    requestID: exchange.requestID),
                digest: [UInt8](repeating: 0, count: 32)))
        return try self.response(recorded, token)
    }

    @inline(never)
    private func session(
        for text: String, _ nonce: String?, isForBrowser: Bool, _ exchange: Exchange
    ) async throws -> Response {
        guard let writer = self.services.writer else { throw Problem(.readOnly, "This node is read-only.") }
        guard let verifier = self.services.identityTokens else {
            throw Problem(.noKeyEncryptionKey, "This node asks no identity provider.")
        }
        if let fault = self.services.ledger.partialFault { throw Problem(fault) }
        let verified: VerifiedIdentity
        do throws(IdentityTokenFailure) {
            let providers = self.services.ledger.view.state.access.identityProviders
            verified = try await verifier.verify(text, of: providers.values, nonce: nonce)
        } catch { throw Problem(error) }
        let token = APIToken.generate(isForBrowser ? .browser : .session)
        let (access, id) = (
            self.services.ledger.view.state.access, TokenID.following(from: verified.digest).description
        )
        // Looked at here first: everyone can have tokens of some providers, and only what is admitted is to occupy the writer.
        guard access.tokens[id] == nil else { throw Refusal.identityTokenUsed }
        let principal = try access.principalID(
            of: verified.identity, verified.claims, by: verified.provider.name)
        let signIn = SignIn(
            provider: verified.provider.name, identity: verified.identity, claims: verified.claims,
            displayName: verified.displayName, principal: principal, tokenID: id, digest: token.digest,
            authenticatedAt: verified.authenticatedAt, isForBrowser: isForBrowser,
            earlier: isForBrowser ? Self.earlierSession(exchange, in: access) : nil)
        return try await self.record(signIn, token, writer, exchange)
    }

    /// The session that the browser has until now: a sign-in is not to leave another cookie that is still good.
    private static func earlierSession(_ exchange: Exchange, in access: Access) -> String? {
        guard let text = try? SessionCookie.text(in: exchange.request.headers), let token = try? APIToken(parsing: text)
        else { return nil }
        return access.idByDigest[token.digest]
    }

    @inline(never)
    private func record(
        _ signIn: SignIn, _ token: APIToken, _ writer: Writer, _ exchange: Exchange
    ) async throws -> Response {
        let known = self.services.ledger.view.state.access.principals[signIn.principal]
        let isPerson = known.map { $0.kind == .person } ?? (signIn.principal == signIn.identity.principalID)
        let actor = Actor(
            kind: .token, id: signIn.tokenID,
            name: isPerson ? known?.name ?? signIn.displayName : signIn.identity.subject,
            principalID: signIn.principal)
        let recorded = try await writer.execute(
            CommandRequest(
                command: .access(.identity(.signIn(signIn))),
                origin: Origin(actor: actor, requestID: exchange.requestID),
                digest: [UInt8](repeating: 0, count: 32)))
        return try self.response(recorded, token)
    }

    /// The token that was issued. Its text is shown this once; a browser's is in the cookie alone, where no script of a page can read it.
    private func response(_ recorded: Recorded, _ token: APIToken) throws -> Response {
        let session = recorded.entries.lazy.compactMap { entry -> NewToken? in
            guard case .access(.tokenIssued(let token)) = entry.event else { return nil }
            return token
        }.first
        guard let session else { throw Problem(.internalError, "An unexpected error occurred.") }
        let (now, isForBrowser) = (self.services.clock(), token.kind == .browser)
        var headers = HTTPFields()
        if isForBrowser {
            headers[.setCookie] = SessionCookie.setting(
                token.revealedText, seconds: session.expiresAt.seconds - now.seconds)
        }
        return .json(
            .members([
                "token": isForBrowser ? nil : .string(token.revealedText), "token_id": .string(session.id),
                "expires_at": .string(session.expiresAt.rfc3339),
                "authenticated_at": session.terms?.origin?.authenticatedAt.map { .string($0.rfc3339) },
                "principal_id": session.terms?.principal.map { .string($0) },
                "rules": .array(session.terms?.origin?.rules.map { .string($0.name.text) } ?? []),
                "server_time": .string(now.rfc3339),
            ]), status: .created, headers: headers)
    }

    /// Ends the session that asks for it, and has a browser forget its cookie.
    private func signOut(_ exchange: Exchange) async throws -> Response {
        guard let actor = exchange.actor,
            self.services.ledger.view.state.access.tokens[actor.id]?.terms?.kind == .session
        else { throw Problem(.notASession, "Your token does not come from a sign-in.") }
        var response = try await CommandExecutor(services: self.services)(
            .access(.revokeToken(id: actor.id)), of: try exchange.bodilessChange(), in: exchange)
        response.headers[.setCookie] = SessionCookie.clearing
        return response
    }
}

extension Problem {
    /// A token of an identity provider that is not accepted.
    init(_ failure: IdentityTokenFailure) {
        switch failure {
        case .providerUnavailable(let name, _):
            // Which addresses do not answer is no business of a stranger.
            self.init(.identityProviderUnavailable, "The keys of the identity provider \(name) cannot be had.")
            self.headers[.retryAfter] = "60"
        case .malformed, .issuerUnknown, .algorithmNotAllowed, .keyUnknown, .signatureInvalid, .claim:
            self.init(.identityTokenInvalid, "The identity token is not accepted: \(failure).")
        }
    }

    /// A refusal that is about identity providers, their identities and sign-ins.
    init(signIn refusal: Refusal) {
        switch refusal {
        case .identityProviderUnknown(let name):
            self.init(.identityProviderUnknown, "There is no identity provider \(name).")
        case .identityProviderFixed(let name):
            self.init(
                .identityProviderFixed,
                "The issuer of the identity provider \(name) cannot be changed: its rules are about that one's identities."
            )
        case .issuerTaken(let name):
            self.init(.issuerTaken, "The identity provider \(name) has this issuer.")
        case .identityUnlinked(let id):
            self.init(
                .identityUnlinked,
                "The identity is verified, and the rules admit it only as a principal's: it (\(id)) is linked to none.")
        case .identityProviderInUse(let name):
            self.init(.identityProviderInUse, "Sign-in rules admit identities of \(name).")
        case .tooManyIdentityProviders(let limit):
            self.init(.limitReached, "At most \(limit) identity providers are allowed.")
        case .signInRuleUnknown(let name): self.init(.signInRuleUnknown, "There is no sign-in rule \(name).")
        case .signInRuleTooOpen(let name):
            self.init(
                .signInRuleTooOpen,
                "The rule \(name) names nobody's identities, and everyone can have one at its provider.")
        case .tooManySignInRules(let limit): self.init(.limitReached, "At most \(limit) sign-in rules are allowed.")
        case .identityUnknown(let id): self.init(.identityUnknown, "There is no identity \(id.printable).")
        case .identityTaken(let id):
            self.init(.identityTaken, "The identity \(id) is linked to another principal.")
        case .tooManyIdentities(let limit):
            self.init(.limitReached, "A principal may have at most \(limit) identities.")
        case .signInDenied:
            self.init(
                .signInDenied,
                "The identity is verified, and no sign-in rule admits it, or its principal is suspended.")
        case .codeInvalid:
            self.init(.codeInvalid, "The code is unknown, used or over, or its principal is suspended.")
        case .proofNotRecent(let seconds):
            self.init(
                .proofNotRecent,
                "A session in a browser needs a proof of who you are from the last \(seconds / 60) minutes for this.")
            self.members["max_age"] = .integer(seconds)
            self.challenge = "error=\"insufficient_user_authentication\", max_age=\"\(seconds)\""
        case .identityTokenUsed:
            self.init(.identityTokenUsed, "This identity token was exchanged for a session already.")
        // Not back to where it came from: a refusal without a line here must not end the server.
        default: self.init(.internalError, "An unexpected error occurred.")
        }
    }
}
