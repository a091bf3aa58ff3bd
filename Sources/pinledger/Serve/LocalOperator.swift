import EventStore
import Keys
import PinWire
import PinledgerServer
import Pinning
import Publishing
import Secrets

/// Acts for the owner of the database, before there is a token: makes the first key and the first token.
struct LocalOperator: Sendable {
    let services: Services

    private static let actor = Actor(kind: .local, id: "local", name: "Local operator")

    /// Makes the first signing key, if this node can and there is none.
    func ensureSigningKey() async throws {
        guard self.services.ledger.view.state.keys.active == nil, self.services.keys.hasKeyEncryptionKey else { return }
        let publicKey = try await self.services.keys.create()
        try await self.execute(.keys(.create(kid: publicKey.keyID, publicKey: publicKey.bytes)), because: "first start")
    }

    /// Issues a token that may do everything, and returns its text.
    ///
    /// If the process dies before the token is issued, a person without a token is left, whom the next call does not use.
    ///
    /// - Parameters:
    ///   - isPerson: Whether it belongs to a person of that name, who is added for it.
    ///   - isCode: Whether it is a code of that person's, to be exchanged for the token.
    func createToken(
        name: String, asPerson isPerson: Bool = false, isCode: Bool = false, seconds: Int64
    ) async throws -> String {
        let token = APIToken.generate(isCode ? .wrapping : .administrator)
        var terms = AccessToken.Terms(kind: .general, grants: [.everywhere(.admin)])
        if isPerson {
            let person = AccessID.principal.generate()
            let reason = "added at the command line of the server"
            try await self.execute(.access(.addPrincipal(id: person, .person, name: name)), because: reason)
            try await self.execute(
                .access(.grantRole(id: AccessID.grant.generate(), principal: person, .everywhere(.admin))),
                because: reason)
            terms = AccessToken.Terms(kind: isCode ? .code : .general, grants: nil, principal: person)
        }
        let new = NewToken(
            id: TokenID.generate().description, name: name, digest: token.digest,
            expiresAt: self.services.clock().adding(seconds: seconds),
            terms: terms)
        try await self.execute(.access(.issueToken(new)), because: "issued at the command line of the server")
        return token.revealedText
    }

    private func execute(_ command: Command, because reason: String) async throws {
        try await self.execute(command, because: try Reason(reason))
    }

    /// Records a command.
    ///
    /// - Parameter version: That the command's stream has to have; nil for any.
    func execute(
        _ command: Command, because reason: Reason, isForced: Bool = false, expecting version: Int64? = nil
    ) async throws {
        guard let writer = self.services.writer else { throw CommandFailure("this node is read-only") }
        let request = CommandRequest(
            command: command, origin: Origin(actor: Self.actor, reason: reason, isForced: isForced),
            expectedVersion: version, digest: [UInt8](repeating: 0, count: 32)
        )
        do throws(WriteFailure) { _ = try await writer.execute(request) } catch {
            throw CommandFailure("nothing was recorded: \(ErrorText.sentence(for: error))")
        }
    }
}
