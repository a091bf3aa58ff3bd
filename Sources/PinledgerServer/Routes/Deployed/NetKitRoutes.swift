import ClientFormats
import Concurrency
import Hummingbird
import PinWire
import Pinning
import Publishing

/// NetKit's policies: `/compat/netkit/{app}/policy.json`.
struct NetKitRoutes: Sendable {
    let tools: CompatServices
    /// Nothing is kept here: what the database knows is at hand in memory, and the rest may come at any time.
    private let material = SingleFlightCache<Source, Found>(entries: 0)

    /// The document that names the digests.
    private struct Source: Hashable {
        var app: AppID
        var version: Int64
    }

    private typealias Found = (found: [[UInt8]: [UInt8]], isWhole: Bool)

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
        return try await self.tools.answer(exchange, declared, as: name, with: self.gather) { _, view, material in
            NetKitDocument(view, for: names, material: material).bytes
        }
    }

    /// The keys and certificates themselves, as far as they are at hand. For clients that know hashes these do, which go
    /// on being given while the database says nothing.
    private func gather(_ view: ClientView) async -> Found {
        // Any client may ask, in as many spellings as there are names below a wildcard: one request for an app's clients
        // queries the database for all that wait.
        await self.material.value(for: Source(app: view.app, version: view.document.version)) { _, _ in
            true
        } make: {
            (await self.tools.services.material.der(of: view.digests, within: MaterialStore.patience), nil)
        }
    }
}
