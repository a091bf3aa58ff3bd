import ClientFormats
import HTTPTypes
import Hummingbird
import PinWire
import Pinning

/// MueJam's fingerprints of one host: `/compat/muejam/{app}/{host}`.
struct MueJamRoutes: Sendable {
    let tools: CompatServices

    private static let path = "/compat/muejam/{app}/{host}/v1/security/certificate"

    var routes: [Route] {
        [
            Route(
                "getMueJamFingerprints", .get, Self.path + "/fingerprints", surface: .client, access: .everybody,
                isPrepared: true, isForeign: true, self.fingerprints),
            Route(
                "verifyMueJamFingerprint", .post, Self.path + "/verify", surface: .client, access: .everybody,
                isCostly: true, isForeign: true, bodyLimit: 4096, self.verify),
        ]
    }

    private func fingerprints(_ exchange: Exchange) async throws -> Response {
        let (declared, host) = try self.subject(exchange)
        do {
            let name = declared.target(Self.path + "/fingerprints", ["host": host])
            return try await self.tools.answer(exchange, declared, as: name) { _, view in
                try MueJamFingerprints(view, domain: host).reply.body
            }
        } catch let error as MueJamError {
            return exchange.reply(error.reply)
        }
    }

    private func verify(_ exchange: Exchange) async throws -> Response {
        let (declared, host) = try self.subject(exchange)
        let body = try await exchange.body()
        return try await self.tools.making(of: declared) {
            exchange.reply(
                MueJamFingerprints.reply(verifying: body, for: host, in: try self.tools.view(of: declared)))
        }
    }

    private func subject(_ exchange: Exchange) throws -> (CompatServices.Declared, host: String) {
        (try self.tools.declared(.muejam, of: try exchange.app), try exchange.host.text)
    }
}
