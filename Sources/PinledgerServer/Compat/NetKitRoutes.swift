import Formats
import Hummingbird
import PinWire
import Pinning

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
            NetKitDocument(view, for: names).bytes
        }
    }
}
