import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning

/// The nodes that share the ledger, and what their programs have to know of it.
struct NodeRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("listNodes", .get, "/v1/nodes", access: .everywhere(.readFleet), self.list),
            Route(
                "raiseFeatureLevel", .put, "/v1/fleet/feature-level", access: .everywhere(.changeFleet),
                query: CommandExecutor.directQuery, self.raise),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let nodes = try await NodeRegistry(pool: self.services.pool).nodes()
        return .json([
            "feature_level": .integer(self.services.ledger.view.state.fleet.featureLevel),
            "known_feature_level": .integer(self.services.environment.knownLevel),
            "nodes": .array(nodes.map(\.json)),
        ])
    }

    /// Raises the feature level, where all live nodes know the new one, or with force. A node with an earlier program pauses as
    /// soon as it reads the event.
    private func raise(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.required("level").integer(1...1_000_000)
        }
        let (executor, command) = (
            CommandExecutor(services: self.services), Command.fleet(.raiseFeatureLevel(change.content))
        )
        // A level that this program does not know either is refused by the command itself.
        let present = self.services.ledger.view.state.fleet.featureLevel
        if change.content > present, change.content <= self.services.environment.knownLevel, !change.isForced,
            try await executor.replay(command, of: change, in: exchange) == nil
        {
            try await self.refuseOlderNodes(than: change.content)
        }
        return try await executor(command, of: change, in: exchange)
    }

    private func refuseOlderNodes(than level: Int64) async throws {
        let older = try await NodeRegistry(pool: self.services.pool).nodes().filter {
            $0.isLive && $0.report.featureLevel < level
        }
        guard !older.isEmpty else { return }
        let names = older.prefix(10).map {
            "\(String(shown: $0.report.name.utf8)) (version \(String(shown: $0.report.program.utf8)))"
        }
        throw Problem(
            .olderNodes,
            "\(older.count) node\(older.count == 1 ? "" : "s") would pause at the feature level \(level): "
                + names.joined(separator: ", ") + ".")
    }
}

extension NodeRegistry.Node {
    fileprivate var json: JSON {
        [
            "name": .string(String(shown: self.report.name.utf8)),
            "version": .string(String(shown: self.report.program.utf8)),
            "schema_version": .integer(Int64(self.report.schemaVersion)),
            "feature_level": .integer(self.report.featureLevel),
            "read_only": .bool(self.report.isReadOnly),
            "state": .string(String(shown: self.report.state.utf8)),
            "position": .integer(self.report.position),
            "started_at": .string(self.startedAt.rfc3339),
            "seen_at": .string(self.seenAt.rfc3339),
            "live": .bool(self.isLive),
        ]
    }
}
