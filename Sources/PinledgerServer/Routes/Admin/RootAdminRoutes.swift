import EventStore
import Hummingbird
import PinWire
import Pinning

/// Roots of trust for operators: `/v1/roots`.
struct RootAdminRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) { self.services = services }

    var routes: [Route] {
        [
            Route("listRoots", .get, "/v1/roots", access: .everywhere(.readKeys), self.list),
            Route(
                "publishRoot", .post, "/v1/roots", access: .everywhere(.manageKeys), query: CommandExecutor.query,
                self.publish),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let keys = self.services.ledger.view.state.keys
        return .json(
            ["roots": .array(keys.roots.map(\.json))], headers: [.eTag: self.services.tag(of: keys.version)])
    }

    private func publish(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) -> (root: SignedRoot, restarts: Bool) in
            let field = try members.required("root")
            let root = try SignedRoot(field)
            guard root.bytes.count <= RootOfTrust.byteLimit else {
                throw field.defect("has more than \(RootOfTrust.byteLimit) bytes")
            }
            try root.checkProfile(at: field.pointer)
            return (root, try members.optional("restart")?.bool() ?? false)
        }
        let (root, restarts) = change.content
        let result = try await self.change.perform(
            .keys(.publishRoot(root, restarts: restarts)), of: change, in: exchange)
        return self.change.response(to: result, status: .created, location: "/v1/roots")
    }
}

extension PublishedRoot {
    fileprivate var json: JSON {
        let metadata = self.root.file.metadata
        return [
            "version": .integer(metadata.version), "published_at": .string(self.publishedAt.rfc3339),
            "expires_at": .string(metadata.expiresAt.rfc3339), "threshold": .integer(Int64(metadata.root.threshold)),
            "root_keys": .array(metadata.root.keys.keys.sorted().map { .string($0) }),
            "document_keys": .array(self.root.documentKeys.keys.sorted().map { .string($0) }),
            "signed_by": .array(self.root.file.signatures.keys.sorted().map { .string($0) }),
        ]
    }
}
