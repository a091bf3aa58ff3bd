import EventStore
import Hummingbird
import Keys
import LogLines
import Logging
import PinWire
import Pinning
import Publishing
import Secrets
import Webhooks

/// Receivers of events: `/v1/webhooks`.
struct WebhookRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }
    private var tools: WebhookServices { self.services.webhooks }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let hook = "/v1/webhooks/{webhook_id}"
        return [
            Route("listWebhooks", .get, "/v1/webhooks", access: .everywhere(.readWebhooks), self.list),
            Route(
                "createWebhook", .post, "/v1/webhooks", access: .everywhere(.manageWebhooks),
                query: CommandExecutor.directDrawingQuery, self.create),
            Route("getWebhook", .get, hook, access: .everywhere(.readWebhooks), self.show),
            Route(
                "updateWebhook", .patch, hook, access: .everywhere(.manageWebhooks),
                query: CommandExecutor.query, self.update),
            Route(
                "removeWebhook", .delete, hook, access: .everywhere(.manageWebhooks),
                query: CommandExecutor.bodilessQuery, self.remove),
            Route(
                "rotateWebhookSecret", .post, "\(hook)/rotate-secret", access: .everywhere(.manageWebhooks),
                query: CommandExecutor.directDrawingQuery,
                self.rotateSecret),
            Route("testWebhook", .post, "\(hook)/test", access: .everywhere(.manageWebhooks), self.test),
        ]
    }

    // MARK: Looking

    private func list(_ exchange: Exchange) async throws -> Response {
        let webhooks = self.services.ledger.view.state.webhooks
        return .json(
            ["webhooks": .array(webhooks.inOrder.map(\.json))],
            headers: [.eTag: self.services.tag(of: webhooks.version)])
    }

    private func show(_ exchange: Exchange) async throws -> Response {
        let webhooks = self.services.ledger.view.state.webhooks
        let webhook = try exchange.webhook(in: webhooks)
        guard case .object(var members) = webhook.json else { throw Problem(.webhookUnknown, "") }
        members["progress"] = try await self.tools.store.progress(of: webhook.id)
        return .json(.object(members), headers: [.eTag: self.services.tag(of: webhooks.version)])
    }

    // MARK: Changing

    private func create(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            WebhookSettings(
                url: try self.url(try members.required("url")),
                types: try members.optional("types").mapped(Self.types) ?? [],
                apps: try members.optional("apps").mapped(Self.apps) ?? [],
                description: try members.optional("description")?.plainText(atMost: 200)
            )
        }
        let id = WebhookName.webhook()
        return try await self.withSecret(
            of: id, change, in: exchange, location: "/v1/webhooks",
            adding: ["webhook_id": .string(id)]
        ) { .create(id: id, change.content, secretID: $0) }
    }

    private func update(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.webhookID
        let change = try await exchange.change { (members) throws(JSONDefect) in
            var content = WebhookChange()
            content.url = try members.optional("url").mapped { (field) throws(JSONDefect) in try self.url(field) }
            content.types = try members.optional("types").mapped(Self.types)
            content.apps = try members.optional("apps").mapped(Self.apps)
            if members.mentions("description") {
                content.description = .some(try members.optional("description")?.plainText(atMost: 200))
            }
            content.isPaused = try members.optional("paused")?.bool()
            return content
        }
        return try await self.change(.webhooks(.change(id: id, change.content)), of: change, in: exchange)
    }

    private func remove(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.webhookID
        let secrets = self.services.ledger.view.state.webhooks.hooks[id]?.secretIDs(at: self.services.clock()) ?? []
        let result = try await self.change.perform(
            .webhooks(.remove(id: id)), of: try exchange.bodilessChange(), in: exchange)
        if result.isCarriedOut { for secret in secrets { await self.erase(secret) } }
        return self.change.response(to: result)
    }

    private func rotateSecret(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.webhookID
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        return try await self.withSecret(of: id, change, in: exchange) { .rotateSecret(id: id, secretID: $0) }
    }

    /// Makes a secret, records the command that names it, and shows it only once. A repeated request gets the same
    /// record without it.
    private func withSecret<Content>(
        of webhook: String, _ change: Change<Content>, in exchange: Exchange, location: String? = nil,
        adding more: [String: JSON] = [:], _ command: (String) -> WebhookCommand
    ) async throws -> Response {
        let id = WebhookName.secret()
        if try exchange.flag("dry_run") {
            return try await self.change(.webhooks(command(id)), of: change, in: exchange)
        }
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        let secret = try await self.tools.secrets.create(id, of: webhook)
        let result: CommandExecutor.Result
        do {
            result = try await self.change.perform(.webhooks(command(id)), of: change, in: exchange)
        } catch {
            // Unless it is unknown whether the ledger names it, it has no use.
            if Problem(error).type != .outcomeUnknown { await self.erase(id) }
            throw error
        }
        if result.recorded.isReplay {
            await self.erase(id)
            return self.change.response(to: result, status: location == nil ? .ok : .created, location: location)
        }
        return self.change.response(
            to: result, status: location == nil ? .ok : .created, location: location,
            adding: more.merging(["secret": .string(secret.revealedText)]) { _, new in new }
        )
    }

    /// Erases a secret that has no use. A failure is no answer to the caller; the sender's sweep erases it then.
    private func erase(_ secret: String) async {
        // A node that has halted does not know whether the ledger names it.
        guard self.services.ledger.fault == nil else { return }
        do { try await self.tools.secrets.erase(secret) } catch {
            self.services.logger.log(.webhookSecretNotErased, ["secret_id": "\(secret)", "error": "\(error)"])
        }
    }

    // MARK: Testing

    private func test(_ exchange: Exchange) async throws -> Response {
        let webhook = try exchange.webhook(in: self.services.ledger.view.state.webhooks)
        try await exchange.bareBody()
        return .json(try await self.tools.test(webhook, at: self.services.clock()))
    }

    // MARK: Reading

    private func url(_ field: JSONField) throws(JSONDefect) -> OutgoingURL {
        let url = try field.parse(OutgoingURL.init)
        if let refusal = self.tools.client?.refusal(of: url) { throw field.defect("is not allowed: \(refusal)") }
        return url
    }

    private static func types(_ field: JSONField) throws(JSONDefect) -> [String] {
        var types: [String] = []
        for element in try field.elements(atMost: WebhookSettings.filterLimit) {
            let type = try element.string()
            guard let named = EventGroup.types(named: type) else {
                throw element.defect(
                    "is neither a type of event nor a group; known are \(EventGroup.names.joined(separator: ", "))")
            }
            types += named.filter { !types.contains($0) }
        }
        return types
    }

    private static func apps(_ field: JSONField) throws(JSONDefect) -> [AppID] {
        var apps: [AppID] = []
        for element in try field.elements(atMost: WebhookSettings.filterLimit) {
            apps.append(try element.parse(AppID.init))
        }
        return apps
    }
}

extension Exchange {
    private struct WebhookIDMalformed: Error, CustomStringConvertible {
        let description = "must be the id of a webhook: whk_ and 16 letters and digits"
    }

    /// The webhook that the path names, whether there is one or not.
    var webhookID: String {
        get throws(Problem) {
            try self.parameter("webhook_id") { (text) throws(WebhookIDMalformed) in
                guard WebhookName.isWebhook(text) else { throw WebhookIDMalformed() }
                return text
            }
        }
    }

    /// The webhook that the path names.
    func webhook(in webhooks: Pinning.Webhooks) throws(Problem) -> Webhook {
        let id = try self.webhookID
        guard let webhook = webhooks.hooks[id] else { throw Problem(Refusal.webhookUnknown(id)) }
        return webhook
    }

    /// Reads an empty body: `{}`.
    func bareBody() async throws { try await self.object { (_) throws(JSONDefect) in } }

    /// Reads a body that is no change of the ledger.
    func object<Content>(_ read: (inout JSONMembers) throws(JSONDefect) -> Content) async throws -> Content {
        let body = try await self.body()
        try self.requireJSON()
        return try JSONField(try JSON(parsing: body)).object(read)
    }
}
