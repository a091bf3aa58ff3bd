import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing
import Synchronization

/// What clients fetch: `/client/v1`.
struct ClientRoutes: Sendable {
    let services: Services
    private let keySet = KeySetCache()

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "getDocument", .get, "/client/v1/apps/{app}/document", surface: .client, access: .everybody,
                self.document),
            Route("getKeySet", .get, "/client/v1/jwks.json", surface: .client, access: .everybody, self.keySet),
        ]
    }

    private func document(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        guard let document = self.services.publisher.table[id] else {
            var problem =
                self.services.ledger.view.state.apps[id] == nil
                ? Problem(Refusal.appUnknown(id)) : Problem(.notPublished, "No document of \(id) has been signed yet.")
            // Long enough to spare the server, short enough for an app that is just being made.
            problem.headers[.cacheControl] = "public, max-age=5"
            throw problem
        }
        let answer = PreparedAnswer(
            contentType: "application/jose",
            cacheControl: "public, max-age=\(self.services.documentMaxAge), stale-if-error=86400",
            body: document.body
        )
        return try answer.response(to: exchange.request)
    }

    private func keySet(_ exchange: Exchange) async throws -> Response {
        let answer = PreparedAnswer(
            contentType: "application/jwk-set+json", cacheControl: "public, max-age=300, stale-if-error=86400",
            body: self.keySet.body(of: self.services.ledger.view.state.keys)
        )
        return try answer.response(to: exchange.request)
    }
}

/// The JWKS (RFC 7517 section 5), prepared once for each version of the key ring.
private final class KeySetCache: Sendable {
    private let prepared = Mutex<(version: Int64, body: PreparedBody)?>(nil)

    func body(of keys: KeyRing) -> PreparedBody {
        self.prepared.withLock { prepared in
            if let prepared, prepared.version == keys.version { return prepared.body }
            let trusted = keys.keys.values.filter(\.isInKeySet).sorted {
                ($0.createdAt, $0.kid) < ($1.createdAt, $1.kid)
            }
            let json = JWK.set(trusted.compactMap { Ed25519PublicKey($0.publicKey).map { JWK($0) } })
            let body = PreparedBody(json.canonicalBytes)
            prepared = (keys.version, body)
            return body
        }
    }
}
