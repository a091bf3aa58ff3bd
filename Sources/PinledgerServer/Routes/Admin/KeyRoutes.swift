import EventStore
import Hummingbird
import Keys
import LogLines
import Logging
import PinWire
import Pinning
import Publishing
import Secrets

/// Signing keys: `/v1/keys`.
struct KeyRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("listKeys", .get, "/v1/keys", access: .everywhere(.readKeys), self.list),
            Route(
                "createKey", .post, "/v1/keys", access: .everywhere(.manageKeys),
                query: CommandExecutor.directDrawingQuery,
                self.create),
            Route(
                "activateKey", .post, "/v1/keys/{kid}/activate", access: .everywhere(.manageKeys),
                query: CommandExecutor.query
            ) { exchange in
                let kid = try self.keyID(exchange)
                let change = try await exchange.change { (_) throws(JSONDefect) in }
                return try await self.change(.keys(.activate(kid: kid)), of: change, in: exchange)
            },
            Route(
                "retireKey", .post, "/v1/keys/{kid}/retire", access: .everywhere(.manageKeys),
                query: CommandExecutor.query, self.retire),
        ]
    }

    private func keyID(_ exchange: Exchange) throws(Problem) -> String {
        let kid = exchange.parameters["kid"] ?? ""
        guard Base64URL.decode(kid)?.count == 32 else {
            throw Problem(
                .malformedRequest, "The path parameter `kid` must be the 43 characters of a key's thumbprint.")
        }
        return kid
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let keys = self.services.ledger.view.state.keys
        let all = keys.keys.values.sorted { ($0.createdAt, $0.kid) < ($1.createdAt, $1.kid) }
        return .json(["keys": .array(all.map(\.json))], headers: [.eTag: self.services.tag(of: keys.version)])
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        if try exchange.flag("dry_run") {
            // A temporary key: nothing of it is stored.
            let publicKey = try Ed25519PrivateKey.generate().publicKey
            return try await self.change(
                .keys(.create(kid: publicKey.keyID, publicKey: publicKey.bytes)), of: change, in: exchange
            )
        }
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        let publicKey = try await self.services.keys.create()
        let result: CommandExecutor.Result
        do {
            result = try await self.change.perform(
                .keys(.create(kid: publicKey.keyID, publicKey: publicKey.bytes)), of: change, in: exchange
            )
        } catch {
            // Unless it is unknown whether the key is in the ledger, its private half has no use.
            if Problem(error).type != .outcomeUnknown { await self.erase(publicKey.keyID) }
            throw error
        }
        if result.recorded.isReplay { await self.erase(publicKey.keyID) }
        return self.change.response(to: result, status: .created, location: "/v1/keys")
    }

    /// Erases a private half that has no use. The recorded events stand either way, so a failure is no answer to the
    /// caller; the publisher's sweep then erases a retired key's.
    private func erase(_ kid: String) async {
        // A node that has halted does not know the ledger's state of the key.
        guard self.services.ledger.fault == nil else { return }
        do { try await self.services.keys.erase(kid) } catch {
            self.services.logger.log(.signingKeyNotErased, ["kid": "\(kid)", "error": "\(error)"])
        }
    }

    private func retire(_ exchange: Exchange) async throws -> Response {
        let kid = try self.keyID(exchange)
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        let result = try await self.change.perform(.keys(.retire(kid: kid)), of: change, in: exchange)
        // A change that only proposes it leaves the key as it is; the publisher's sweep erases it once it is applied.
        if result.isCarriedOut { await self.erase(kid) }
        return self.change.response(to: result)
    }
}
