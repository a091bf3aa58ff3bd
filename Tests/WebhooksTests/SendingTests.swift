import Addresses
import EventStore
import Fixtures
import Keys
import Logging
import PinWire
import Pinning
import Postgres
import Probing
import Testing

@testable import Webhooks

/// Deliveries by nodes that work on them.
@Suite(.database, .timeLimit(.minutes(60))) struct `Deliveries by nodes` {
    private func sending(
        _ node: TestNode, total: Duration = .seconds(60), _ body: (Site) async throws -> Void
    ) async throws {
        let policy = AddressPolicy(allowed: [try IPNetwork("127.0.0.0/8")], allowsLiterals: true)
        let client = OutgoingClient(
            limits: .init(total: total), refusal: { policy.refusal(of: $0) }, allowsPlain: true)
        let tools = try Site.tools(node, client: client)
        let sender = WebhookSender(
            ledger: node.ledger, writer: node.writer, tools: tools, client: client, node: node.name,
            logger: node.logger, clock: { .wall }
        )
        let result = await withTaskGroup(of: Void.self, returning: Result<Void, any Error>.self) { group in
            group.addTask { await sender.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body(Site(node: node, tools: tools))) } catch { result = .failure(error) }
            group.cancelAll()
            await group.waitForAll()
            return result
        }
        await client.close()
        try result.get()
    }

    private func wait(_ what: Comment, until isDone: () async throws -> Bool) async throws {
        #expect(try await eventually(isDone), what)
    }

    @Test func `deliveries by two nodes reach the receiver once each and in order`() async throws {
        try await Receiver.run(.answer(200)) { receiver in
            try await TestNode.run(2, on: try TestDatabase.current) { nodes in
                try await self.sending(nodes[0]) { one in
                    try await self.sending(nodes[1]) { _ in
                        try await one.add("http://127.0.0.1:\(receiver.port)/")
                        let apps = try (0..<3).map { _ in try Sample.app() }
                        for app in apps { _ = try await nodes[0].writer.execute(try Sample.create(app)) }
                        for number in 0..<10 {
                            for (place, app) in apps.enumerated() {
                                _ = try await nodes[place % 2].writer.execute(try Sample.rename(app, "n\(number)"))
                            }
                        }
                        try await self.wait("33 messages") { receiver.requests.count >= 33 }
                        try await self.wait("all delivered") {
                            try await one.states().values.filter { $0 == "delivered" }.count == 33
                        }
                    }
                }
            }
            let entries = try receiver.requests.map { request in
                try #require(try JSON(parsing: Array(request.body.utf8))["entry"])
            }
            #expect(entries.count == 33)
            let streams = Dictionary(grouping: entries) { $0["stream"]?.stringValue ?? "" }
            for (_, entries) in streams {
                #expect(entries.compactMap { $0["stream_version"]?.integerValue } == Array(1...11))
            }
        }
    }

    @Test func `deliveries stop where the receiver is gone, and the ledger says so`() async throws {
        try await Receiver.run(.answer(410)) { receiver in
            try await TestNode.run(on: try TestDatabase.current) { node in
                try await self.sending(node) { site in
                    try await site.add("http://127.0.0.1:\(receiver.port)/")
                    try await site.execute(.fleet(.setIssuer("x")))
                    try await self.wait("a pause") { try site.webhook().pause == .gone }
                    let entry = try #require(
                        try await LedgerReader(pool: node.pool).entries(at: 2..<3, limit: 1).first)
                    #expect(entry.entry.origin.actor == .system)
                    #expect(entry.entry.event == .webhooks(.paused(id: Site.id, .gone)))
                    // Later events reach another receiver, one after the other, and this one no more.
                    try await Receiver.run(.answer(200)) { other in
                        try await site.add("http://127.0.0.1:\(other.port)/", as: "whk_other00000000000")
                        for name in ["y", "z"] { try await site.execute(.fleet(.setIssuer(name))) }
                        try await self.wait("later messages") { other.requests.count >= 2 }
                    }
                    #expect(receiver.requests.count == 1)
                }
            }
        }
    }

    @Test func `deliveries stop after three days without one success`() async throws {
        try await Receiver.run(.answer(500)) { receiver in
            try await TestNode.run(on: try TestDatabase.current) { node in
                try await self.sending(node) { site in
                    try await site.add("http://127.0.0.1:\(receiver.port)/")
                    try await site.node.database.execute(
                        "UPDATE pinledger.webhook_feed SET failing_since = now() - interval '73 hours'")
                    try await site.execute(.fleet(.setIssuer("x")))
                    try await self.wait("a pause") { try site.webhook().pause == .failing }
                    // Taken up again, it has three days again.
                    var resume = WebhookChange()
                    resume.isPaused = false
                    try await site.execute(.webhooks(.change(id: Site.id, resume)))
                    // By the third attempt, the second has had its consequences.
                    for attempt in [2, 3] as [Int32] {
                        try await site.node.database.execute(
                            "UPDATE pinledger.webhook_delivery SET next_attempt_at = now() WHERE state = 'failed'")
                        try await self.wait("another failure") {
                            try await !site.node.database.query(
                                """
                                SELECT FROM pinledger.webhook_delivery
                                WHERE attempts >= $1 AND state = 'failed' AND lease_until IS NULL
                                """, [.int32(attempt)]
                            ).isEmpty
                        }
                    }
                    try await site.execute(.fleet(.setIssuer("y")))
                    #expect(try !site.webhook().isPaused)
                }
            }
        }
    }

    @Test func `deliveries go on while a removed webhook with thousands of them is forgotten`() async throws {
        try await Receiver.run(.answer(200)) { receiver in
            try await TestNode.run(on: try TestDatabase.current) { node in
                let site = Site(node: node, tools: try Site.tools(node))
                let removed = "whk_removed000000000"
                let settings = WebhookSettings(url: try OutgoingURL("https://hooks.example.com/"))
                try await site.execute(.webhooks(.create(id: removed, settings, secretID: "whs_removed")))
                try await site.store.open(try site.webhook(removed))
                try await node.database.execute(
                    """
                    INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type)
                    SELECT '\(removed)', n, 'app/a', 'AppRenamed' FROM generate_series(1000, 13000) n
                    """)
                try await site.execute(.webhooks(.remove(id: removed)))
                try await site.add("http://127.0.0.1:\(receiver.port)/")
                try await site.execute(.fleet(.setIssuer("x")))
                // Another session holds the removed one for as long as this test needs.
                let other = try await node.database.connect()
                try await other.execute(
                    script: "BEGIN; SELECT FROM pinledger.webhook_feed WHERE webhook = '\(removed)' FOR UPDATE")
                try await self.sending(node) { site in
                    try await self.wait("the message") { !receiver.requests.isEmpty }
                    try await other.execute(script: "ROLLBACK")
                    try await self.wait("the end of the removed one") {
                        let left = try await node.database.query(
                            """
                            SELECT (SELECT count(*) FROM pinledger.webhook_delivery WHERE webhook = '\(removed)')
                                 + (SELECT count(*) FROM pinledger.webhook_feed WHERE webhook = '\(removed)')
                            """)
                        return try left.only.int64(0) == 0
                    }
                }
                await other.close()
            }
        }
    }

    @Test func `deliveries that a node was sending when it stopped are released`() async throws {
        try await Receiver.run(.hang) { receiver in
            try await TestNode.run(on: try TestDatabase.current) { node in
                try await self.sending(node) { site in
                    try await site.add("http://127.0.0.1:\(receiver.port)/")
                    try await site.execute(.fleet(.setIssuer("x")))
                    try await self.wait("the message") { receiver.requests.count == 1 }
                }
                let site = Site(node: node, tools: try Site.tools(node))
                #expect(try await site.lease().map(\.attempt) == [2])
            }
        }
    }
}
