import Formats
import Hummingbird
import PinWire
import Pinning
import Publishing

/// NetKit's policies: `/compat/netkit/{app}/policy.json`.
struct NetKitRoutes: Sendable {
    let tools: CompatTools

    var routes: [Route] {
        [
            Route(
                "getNetKitPolicy", .get, "/compat/netkit/{app}/policy.json", surface: .client, access: .everybody,
                isPrepared: true, query: ["hosts"], isForeign: true, self.policy)
        ]
    }

    /// Names that one request may ask for.
    private static let nameLimit = 100

    private func policy(_ exchange: Exchange) async throws -> Response {
        let declared = try self.tools.declared(.netkit, of: try exchange.app)
        // In one order and case: the answer is the same.
        let names = Set((exchange.foreignParameters["hosts"] ?? "").lowercased().split(separator: ",").map(String.init))
            .sorted()
        guard names.count <= Self.nameLimit else {
            throw Problem(.malformedRequest, "The query parameter hosts may have at most \(Self.nameLimit) names.")
        }
        let query = names.isEmpty ? "" : "?hosts=\(names.joined(separator: ","))"
        let name = "/compat/netkit/\(declared.app.id)/policy.json\(query)"
        return try await self.tools.answer(exchange, declared, as: name) { view in
            NetKitDocument(view, for: names, material: await self.material(of: view)).bytes
        }
    }

    /// The keys and certificates themselves, as far as they are at hand. For clients that know hashes these do, which go
    /// on being given while the database cannot be reached.
    private func material(of view: ClientView) async -> [[UInt8]: [UInt8]] {
        let store = self.tools.services.material
        do { return try await store.der(of: view.digests) } catch { return store.remembered(of: view.digests) }
    }
}
