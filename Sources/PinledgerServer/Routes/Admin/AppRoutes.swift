import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Apps: `/v1/apps`.
struct AppRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "listApps", .get, "/v1/apps", access: .somewhere(.readApps), query: ["archived", "limit", "cursor"],
                self.list),
            Route(
                "createApp", .post, "/v1/apps", access: .somewhere(.createApps), query: CommandExecutor.query,
                self.create),
            Route("getApp", .get, "/v1/apps/{app}", access: .app(.readApps), self.get),
            Route(
                "updateApp", .patch, "/v1/apps/{app}", access: .app(.changeApps), query: CommandExecutor.query,
                self.update),
            Route(
                "archiveApp", .post, "/v1/apps/{app}/archive", access: .app(.archiveApps), query: CommandExecutor.query,
                { try await self.change($0, by: .archive) }),
            Route(
                "unarchiveApp", .post, "/v1/apps/{app}/unarchive", access: .app(.archiveApps),
                query: CommandExecutor.query,
                { try await self.change($0, by: .unarchive) }),
            Route("getAppDocument", .get, "/v1/apps/{app}/document", access: .app(.readApps), self.document),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let limit = Int(try exchange.number("limit", in: 1...1000) ?? 100)
        let isArchived = try exchange.flag("archived")
        let filter = [isArchived ? "archived" : nil]
        let cursor = try Cursor.read(exchange, list: "apps", filter: filter)
        let state = self.services.ledger.view.state
        let rights = exchange.rights
        let ids = state.apps.values.filter { ($0.archivedAt != nil) == isArchived && rights.sees($0.id) }.map(\.id)
            .sorted()
            .drop { id in cursor.map { id.text <= $0 } ?? false }
        let page = ids.prefix(limit)
        var members: [String: JSON] = ["apps": .array(page.compactMap { state.apps[$0]?.summaryJSON })]
        var headers = HTTPFields()
        if ids.count > limit, let last = page.last {
            let next = Cursor.text(last.text, list: "apps", filter: filter)
            members["next_cursor"] = .string(next)
            let query = isArchived ? "archived=true&" : ""
            headers[.link] = "</v1/apps?\(query)limit=\(limit)&cursor=\(next)>; rel=\"next\""
        }
        return .json(.object(members), headers: headers)
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let id = try members.required("app").parse(AppID.init)
            return (id, try members.optional("display_name")?.plainText(atMost: 200) ?? id.text)
        }
        let (id, displayName) = change.content
        return try await self.change(
            .app(id, [.create(displayName: displayName)]), of: change, in: exchange, status: .created,
            location: "/v1/apps/\(id)"
        )
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        return .json(app.json, headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func update(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let change = try await exchange.change { (members) throws(JSONDefect) in
            var commands: [AppCommand] = []
            if let name = members.optional("display_name") {
                commands.append(.rename(try name.plainText(atMost: 200)))
            }
            return try commands + Self.settings(&members)
        }
        return try await self.change(.app(id, change.content), of: change, in: exchange)
    }

    /// Reads an app's settings. A member that is there and null clears the setting; one that is missing leaves it.
    static func settings(_ members: inout JSONMembers) throws(JSONDefect) -> [AppCommand] {
        var commands: [AppCommand] = []
        if members.mentions("version_gate") {
            let gate = try members.optional("version_gate").mapped(VersionGate.init)
            commands.append(.setVersionGate(gate.flatMap { $0.isOpen ? nil : $0 }))
        }
        if members.mentions("rollout") {
            commands.append(.setRollout(try members.optional("rollout").mapped(Rollout.init(requested:))))
        }
        if members.mentions("fallback") {
            commands.append(.setFallback(try members.optional("fallback").mapped(Fallback.init) ?? Fallback()))
        }
        if members.mentions("monitoring") {
            commands.append(
                .setMonitoring(try members.optional("monitoring").mapped(Monitoring.init) ?? Monitoring()))
        }
        if members.mentions("pins_valid_until") {
            commands.append(.setPinsValidUntil(try members.optional("pins_valid_until")?.timestamp()))
        }
        return commands
    }

    private func change(_ exchange: Exchange, by command: AppCommand) async throws -> Response {
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        return try await self.change(.app(try exchange.app, [command]), of: change, in: exchange)
    }

    private func document(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        guard let document = self.services.publisher.table[app.id] else {
            throw Problem(.notPublished, "The current document of \(app.id) is not signed yet.")
        }
        return .json([
            "app": .string(app.id.text),
            "version": .integer(document.version),
            "position": .integer(document.position),
            "content_sha256": .string(Hex.encode(document.contentDigest)),
            "issued_at": .string(document.issuedAt.rfc3339),
            "expires_at": .string(document.expiresAt.rfc3339),
            "kid": .string(document.keyID),
            "etag": .string(document.body.identity.tag),
            "bytes": .integer(Int64(document.body.identity.bytes.readableBytes)),
        ])
    }
}

extension Services {
    /// The app, which must exist.
    func app(_ id: AppID) throws(Problem) -> App {
        guard let app = self.ledger.view.state.apps[id] else { throw Problem(Refusal.appUnknown(id)) }
        return app
    }

    /// The app, which must exist, and exists only for who sees it.
    func app(_ id: AppID, seenBy rights: Rights) throws(Problem) -> App {
        guard rights.sees(id) else { throw Problem(Refusal.appUnknown(id)) }
        return try self.app(id)
    }
}
