import ClientFormats
import Hummingbird
import Keys
import PinWire
import Pinning

/// The signed file of the Go server `ssl-pinning`: `/compat/ssl-pinning/{app}/api/v1/{file}`.
struct SSLPinningRoutes: Sendable {
    let tools: CompatServices

    private static let path = "/compat/ssl-pinning/{app}/api/v1/{file}"

    var routes: [Route] {
        [
            Route(
                "getSSLPinningFile", .get, Self.path, surface: .client,
                access: .everybody, isPrepared: true, isForeign: true, self.file)
        ]
    }

    /// How long a pin without a known end is valid: as long as a native document is fresh by default.
    private static let ttlSeconds: Int64 = 86_400

    private func file(_ exchange: Exchange) async throws -> Response {
        // Clients choose the file's name; the app is in the path.
        guard exchange.parameters["file"]?.hasSuffix(".json") == true else {
            throw Problem(.notFound, "Only file names that end in .json exist here.")
        }
        let declared = try self.tools.declared(.sslPinning, of: try exchange.app)
        let name = declared.target(Self.path, ["file": "pins.json"])
        return try await self.tools.answer(exchange, declared, as: name) { declared, view in
            guard let file = SSLPinningFile(view, issuedAt: view.now, ttlSeconds: Self.ttlSeconds) else {
                throw Problem(.notFound, "\(declared.app.id) has no host with pins for the file.")
            }
            guard case .rsaSHA512(let secret) = try await self.tools.key(of: declared) else {
                throw Problem(.clientKeyMissing, "The key for \(declared.app.id)'s clients is not an RSA key.")
            }
            // A millisecond of work.
            let signature = try await CompatServices.signing { try secret.sign(file.signingBytes) }
            return file.body(signature: signature)
        }
    }
}
