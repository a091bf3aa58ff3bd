import ClientFormats
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning

/// Dynapins' server: `/compat/dynapins/{app}`. The app's settings decide its protocol.
struct DynapinsRoutes: Sendable {
    let tools: CompatServices

    var routes: [Route] {
        let base = Self.subtree.path
        func route(
            _ id: String, _ path: String, isPrepared: Bool = false, query: [String] = [],
            _ handler: @escaping @Sendable (Exchange) async throws -> Response
        ) -> Route {
            Route(
                id, .get, base + path, surface: .client, access: .everybody, isPrepared: isPrepared,
                isCostly: isPrepared, query: query,
                isForeign: true, subtree: Self.subtree, handler)
        }
        return [
            route(
                "getDynapinsPins", "/v1/pins", isPrepared: true, query: ["domain", "include-backup-pins"], self.pins),
            route(
                "getDynapinsFingerprint", "/cert-fingerprint", isPrepared: true, query: ["domain"], self.fingerprint),
            route("getDynapinsHealth", "/health") { exchange in
                _ = try self.tools.declared(.dynapins, of: try exchange.app)
                return exchange.reply(DynapinsHealth.healthy.reply)
            },
            route("getDynapinsReadiness", "/readiness", self.readiness),
        ]
    }

    /// The answer to an unknown method in the server's own form, the same in both protocols.
    private static let subtree = Route.Subtree(path: "/compat/dynapins/{app}") { problem in
        guard problem.type == .methodNotAllowed else { return nil }
        let reply = DynapinsError.methodNotAllowed.reply(for: .es256)
        return .foreign(status: reply.status, reply.body, headers: problem.headers)
    }

    private func pins(_ exchange: Exchange) async throws -> Response {
        try await self.answer(exchange, "/v1/pins") { pins, settings, secret, now in
            // It is cached for a while, and so it expires later by as much.
            let expiresAt = now.adding(seconds: settings.ttlSeconds + 2 * CompatAnswers.seconds)
            let keyID = settings.dynapins.keyID(of: secret.subjectPublicKeyInfo)
            switch secret {
            case .ed25519(let secret):
                let envelope = DynapinsEnvelope(
                    pins, issuedAt: now, expiresAt: expiresAt, ttlSeconds: settings.ttlSeconds,
                    keyID: keyID)
                return envelope.body(signature: try secret.sign(envelope.signingBytes))
            case .es256(let secret):
                let token = DynapinsToken(
                    pins, issuedAt: now, expiresAt: expiresAt, ttlSeconds: settings.ttlSeconds,
                    keyID: keyID)
                return token.body(signature: try secret.sign(token.signingBytes).raw)
            case .rsaSHA512: return nil
            }
        }
    }

    private func fingerprint(_ exchange: Exchange) async throws -> Response {
        let declared = try self.tools.declared(.dynapins, of: try exchange.app)
        guard declared.client.settings.servesFingerprint else {
            throw Problem(
                .notFound,
                "/cert-fingerprint is not enabled for \(declared.app.id), because its signature covers neither the domain nor the time. If clients use it, set cert_fingerprint to true in the settings of dynapins."
            )
        }
        return try await self.answer(exchange, "/cert-fingerprint") { pins, settings, secret, _ in
            let fingerprint = DynapinsFingerprint(pins, ttlSeconds: settings.ttlSeconds)
            switch secret {
            case .ed25519(let secret): return fingerprint.body(signature: try secret.sign(fingerprint.signingBytes))
            // The document of this form knows Ed25519 only.
            case .es256, .rsaSHA512: return nil
            }
        }
    }

    /// - Parameter make: The signed body; nil where the key does not fit it.
    private func answer(
        _ exchange: Exchange, _ path: String,
        _ make: (DynapinsPins, ClientSettings, ClientSigningKey, Timestamp) throws -> [UInt8]?
    ) async throws -> Response {
        let declared = try self.tools.declared(.dynapins, of: try exchange.app)
        do {
            let request = try DynapinsRequest(query: exchange.foreignQuery)
            let name = declared.target(Self.subtree.path + path) + "?domain=\(request.domain)"
            return try await self.tools.answer(exchange, declared, as: name) { declared, view in
                let pins = try DynapinsPins(request, in: view)
                let secret = try await self.tools.key(of: declared)
                guard let body = try make(pins, declared.client.settings, secret, view.now) else {
                    throw DynapinsError.notSigned
                }
                return body
            }
        } catch let error as DynapinsError {
            return exchange.reply(error.reply(for: declared.client.settings.dynapins))
        }
    }

    private func readiness(_ exchange: Exchange) async throws -> Response {
        let declared = try self.tools.declared(.dynapins, of: try exchange.app)
        let secret = try? await self.tools.key(of: declared)
        let keyID = secret.map { declared.client.settings.dynapins.keyID(of: $0.subjectPublicKeyInfo) }
        return exchange.reply(DynapinsHealth.readiness(of: try self.tools.view(of: declared), keyID: keyID).reply)
    }
}
