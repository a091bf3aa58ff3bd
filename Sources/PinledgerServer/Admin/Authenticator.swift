import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning

/// Tells who a request comes from, by its API token.
struct Authenticator: Sendable {
    let ledger: Ledger
    let clock: @Sendable () -> Timestamp

    /// The principal of a request.
    ///
    /// The checksum in the token's text is looked at first, so that a token cut short costs no look-up. What is unknown,
    /// revoked or expired gets one and the same answer.
    func principal(of request: Request) throws(Problem) -> Actor {
        guard let header = request.headers[.authorization] else {
            throw Problem(.tokenMissing, "The request has no Authorization header.")
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Problem(.tokenMissing, "The Authorization header is not of the form Bearer <token>.")
        }
        let token: APIToken
        do { token = try APIToken(parsing: parts[1].trimmingCharacters()) } catch {
            throw Problem(.tokenMalformed, "The token's form or checksum is wrong: it is cut short or mistyped.")
        }
        guard [.administrator, .pipeline].contains(token.kind) else {
            throw Problem(.tokenInvalid, "Tokens of the kind \(token.kind.rawValue) do not open the operators' API.")
        }
        // Behind what was read, tokens may have been made or revoked.
        if let fault = self.ledger.partialFault { throw Problem(fault) }
        let access = self.ledger.view.state.access
        guard let id = access.idByDigest[token.digest], let known = access.tokens[id],
            token.matches(digest: known.digest), known.isValid(at: self.clock())
        else { throw Problem(.tokenInvalid, "The token is not known, is revoked or has expired.") }
        return Actor(kind: .token, id: known.id, name: known.name)
    }
}
