import Addresses
import EventStore
import Hummingbird
import Keys
import NIOCore
import PinWire
import Pinning

/// The caller of a request, and what it may do.
struct Caller: Sendable {
    var actor: Actor
    var rights: Rights
}

/// What identifies the caller of a request.
protocol CallerAuthenticator: Sendable {
    /// The caller of a request, or the problem that it has not said who it is.
    ///
    /// - Parameter acceptsPassword: Whether a token may come as the password of the Basic scheme (RFC 7617), with any
    ///   user name, from programs that can send nothing else.
    /// - Parameter acceptsCookie: Whether it may come as a browser's ``SessionCookie``.
    func caller(
        of request: Request, from peer: SocketAddress?, acceptsPassword: Bool, acceptsCookie: Bool
    ) throws(Problem) -> Caller
}

/// Identifies the caller of a request by its API token.
struct Authenticator: CallerAuthenticator {
    let ledger: Ledger
    let clock: @Sendable () -> Timestamp
    /// The addresses of proxies whose statement of clients' addresses is trusted.
    let trustedProxies: TrustedProxies
    /// Where tokens that are accepted are noted.
    let uses: TokenUseTally

    /// The caller of a request.
    ///
    /// The checksum in the token's text is checked first, so that a truncated token costs no look-up. Unknown, revoked
    /// and expired tokens, those of a suspended principal, and those from a network that they are not bound to get one and
    /// the same answer.
    ///
    func caller(
        of request: Request, from peer: SocketAddress?, acceptsPassword: Bool, acceptsCookie: Bool
    ) throws(Problem) -> Caller {
        do {
            let credential = try Self.credential(
                of: request, acceptsPassword: acceptsPassword, acceptsCookie: acceptsCookie)
            return try self.caller(by: credential) {
                ClientAddress.of(request, from: peer, trusted: self.trustedProxies.networks)
            }
        } catch {
            var problem = error
            if acceptsPassword { problem.headers[.wwwAuthenticate] = "Basic realm=\"pinledger\", charset=\"UTF-8\"" }
            throw problem
        }
    }

    /// The text in place of a token, and how it came.
    private struct Credential {
        var text: String
        var isCookie = false
    }

    private static func credential(
        of request: Request, acceptsPassword: Bool, acceptsCookie: Bool
    ) throws(Problem) -> Credential {
        guard let header = request.headers[.authorization] else {
            guard acceptsCookie, let text = try SessionCookie.text(in: request.headers) else {
                throw Problem(.tokenMissing, "The request has no token.")
            }
            try SessionCookie.checkOrigin(of: request)
            return Credential(text: text, isCookie: true)
        }
        return Credential(text: try Self.token(in: header, acceptsPassword: acceptsPassword))
    }

    static func token(in header: String, acceptsPassword: Bool) throws(Problem) -> String {
        let parts = header.split(separator: " ", maxSplits: 1)
        switch parts.first?.lowercased() {
        case "bearer" where parts.count == 2: return parts[1].trimmingCharacters()
        case "basic" where acceptsPassword && parts.count == 2:
            guard let bytes = Base64.decode(parts[1].trimmingCharacters()),
                let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
                let token = String(ascii: bytes[bytes.index(after: colon)...])
            else {
                throw Problem(.tokenMalformed, "The Basic credentials are not a name, a colon and a token in base64.")
            }
            return token
        default: throw Problem(.tokenMissing, "The header `Authorization` is not of the form Bearer <token>.")
        }
    }

    private func caller(by credential: Credential, from address: () -> IPAddress) throws(Problem) -> Caller {
        let token: APIToken
        do { token = try APIToken(parsing: credential.text) } catch {
            throw Problem(.tokenMalformed, "The token's form or checksum is wrong: it is truncated or mistyped.")
        }
        let kinds: [TokenKind] = credential.isCookie ? [.browser] : [.administrator, .pipeline, .session]
        guard kinds.contains(token.kind) else {
            throw Problem(
                .tokenInvalid,
                "Tokens of the kind \(token.kind.rawValue) are not accepted by the operators' API"
                    + (credential.isCookie || token.kind == .browser ? " in this way." : "."))
        }
        // After the last verified event, tokens may have been made or revoked.
        if let fault = self.ledger.partialFault { throw Problem(fault) }
        let access = self.ledger.view.state.access
        let now = self.clock()
        let address = address()
        guard let id = access.idByDigest[token.digest], let known = access.tokens[id],
            token.matches(digest: known.digest), known.isValid(at: now), access.isPrincipalActive(of: known),
            ![.calendar, .code].contains(known.kind), known.isAccepted(from: address)
        else {
            throw Problem(
                .tokenInvalid,
                "The token is unknown, revoked, expired, not accepted from this network, or of a suspended principal.")
        }
        // Sessions are many, and last for hours.
        if known.kind != .session { self.uses.note(known.id, from: ClientNetwork(of: address)) }
        // History names the person, also where each of their devices has a token of its own.
        let principal = known.terms?.principal.flatMap { access.principals[$0] }
        // The jobs of a rule share a principal; a session has the name of its job.
        let isJob = known.kind == .session && principal?.kind == .service
        let actor = Actor(
            kind: .token, id: known.id, name: isJob ? known.name : principal?.name ?? known.name,
            principalID: principal?.id)
        return Caller(actor: actor, rights: access.rights(of: known, at: now))
    }
}
