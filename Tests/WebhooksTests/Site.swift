import EventStore
import Fixtures
import Keys
import Logging
import PinWire
import Pinning
import Postgres
import Probing
import Secrets
import Testing

@testable import Webhooks

/// A node, and what it takes to send webhooks.
struct Site {
    static let id = "whk_0123456789abcdef"
    private static let key = Random.bytes(32)

    let node: TestNode
    let tools: WebhookServices
    var store: WebhookStore { self.tools.store }

    func webhook(_ id: String = Site.id) throws -> Webhook {
        try #require(self.node.ledger.view.state.webhooks.hooks[id])
    }

    func execute(_ command: Command) async throws {
        _ = try await self.node.writer.execute(try Sample.request(command))
    }

    func add(_ url: String, types: [String] = [], apps: [AppID] = [], as id: String = Site.id) async throws {
        let secret = WebhookName.secret()
        _ = try await self.tools.secrets.create(secret, of: id)
        let settings = WebhookSettings(url: try OutgoingURL(url), types: types, apps: apps)
        try await self.execute(.webhooks(.create(id: id, settings, secretID: secret)))
        try await self.store.open(try self.webhook(id))
    }

    /// Takes in all there is, and returns how far it came.
    @discardableResult func feed() async throws -> Int64 {
        let position = self.node.ledger.position
        var cursor: Int64 = -1
        while let moved = try await self.store.feed(try self.webhook(), until: position), moved > cursor {
            cursor = moved
        }
        return cursor
    }

    func lease(_ count: Int = 100, for seconds: Int = 30) async throws -> [WebhookStore.Lease] {
        try await self.store.lease(count, of: Self.id, for: seconds, node: self.node.name)
            .sorted { $0.position < $1.position }
    }

    func states() async throws -> [Int64: String] {
        let page = try await self.store.deliveries(of: Self.id, in: nil, before: nil, limit: 1000, fleet: Fleet())
        return Dictionary(
            uniqueKeysWithValues: page.deliveries.map { ($0.position, $0.json["state"]?.stringValue ?? "") })
    }

    static func tools(_ node: TestNode, client: OutgoingClient? = nil) throws -> WebhookServices {
        let secrets = WebhookSecrets(
            pool: node.pool, keyEncryptionKeys: KeyEncryptionKeys(try KeyEncryptionKey(Self.key)))
        return WebhookServices(pool: node.pool, secrets: secrets, client: client)
    }

    /// Runs `body` with a node of its own.
    static func with(_ body: (Site) async throws -> Void) async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            try await body(Site(node: node, tools: try Self.tools(node)))
        }
    }
}
