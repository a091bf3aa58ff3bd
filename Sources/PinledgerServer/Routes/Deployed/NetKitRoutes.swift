import ClientFormats
import Hummingbird
import PinWire
import Pinning
import Publishing

/// NetKit's policies: `/compat/netkit/{app}/policy.json`.
struct NetKitRoutes: Sendable {
    let tools: CompatServices
    private let askers = SingleFlight<Void>()

    init(tools: CompatServices) {
        self.tools = tools
    }

    private static let path = "/compat/netkit/{app}/policy.json"

    var routes: [Route] {
        [
            Route(
                "getNetKitPolicy", .get, Self.path, surface: .client, access: .everybody,
                isPrepared: true, isCostly: true, query: ["hosts"], isForeign: true, self.policy)
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
        let name = declared.target(Self.path) + query
        return try await self.tools.answer(exchange, declared, as: name, with: self.material) { _, view, material in
            NetKitDocument(view, for: names, material: material).bytes
        }
    }

    /// The keys and certificates themselves, as far as they are at hand. For clients that know hashes these do, which go
    /// on being given while the database says nothing.
    private func material(of view: ClientView) async -> (found: [[UInt8]: [UInt8]], isWhole: Bool) {
        // Any client may ask, in as many spellings as there are names below a wildcard: one request for an app's
        // clients queries the database, and the others find the result in memory.
        let app = view.app.text
        guard case .first = await self.askers.turn(app) else { return await self.found(view.digests) }
        defer { self.askers.done(app, nil) }
        return await self.found(view.digests)
    }

    private func found(_ digests: Set<[UInt8]>) async -> (found: [[UInt8]: [UInt8]], isWhole: Bool) {
        await self.tools.services.material.der(of: digests, within: MaterialStore.patience)
    }
}
