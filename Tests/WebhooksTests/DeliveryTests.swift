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

/// The feeds and deliveries in the database.
@Suite(.database, .timeLimit(.minutes(60))) struct `Deliveries` {
    // MARK: Feeding

    @Test func `deliveries begin after the webhook's own creation and leave nothing out`() async throws {
        try await Site.with { site in
            let app = try Sample.app()
            _ = try await site.node.writer.execute(try Sample.create(app))
            try await site.add("https://hooks.example.com/")
            for number in 0..<3 { _ = try await site.node.writer.execute(try Sample.rename(app, "n\(number)")) }
            #expect(try await site.feed() == 5)
            #expect(try await site.states() == [2: "pending", 3: "pending", 4: "pending"])
            #expect(try await site.feed() == 5)
            #expect(try await site.states().count == 3)
        }
    }

    @Test func `deliveries are made of the entries that pass the filters`() async throws {
        try await Site.with { site in
            let (one, other) = (try Sample.app(), try Sample.app())
            try await site.add("https://hooks.example.com/", types: ["AppRenamed"], apps: [one])
            for app in [one, other] {
                _ = try await site.node.writer.execute(try Sample.create(app))
                _ = try await site.node.writer.execute(try Sample.rename(app, "renamed"))
            }
            try await site.execute(.fleet(.setIssuer("x")))
            #expect(try await site.feed() == 6)
            #expect(try await site.states() == [2: "pending"])
        }
    }

    @Test func `deliveries are not created beyond what the node has verified, nor beyond the ledger`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.execute(.fleet(.setIssuer("y")))
            #expect(try await site.store.feed(try site.webhook(), until: 2) == 2)
            #expect(try await site.store.feed(try site.webhook(), until: 1000) == 3)
            #expect(try await site.states().keys.sorted() == [1, 2])
        }
    }

    @Test func `deliveries are created once, however many nodes do so`() async throws {
        try await TestNode.run(3, on: try TestDatabase.current) { nodes in
            let sites = try nodes.map { Site(node: $0, tools: try Site.tools($0)) }
            try await sites[0].add("https://hooks.example.com/")
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            for number in 0..<40 { _ = try await nodes[0].writer.execute(try Sample.rename(app, "n\(number)")) }
            let (webhook, position) = (try sites[0].webhook(), nodes[0].ledger.position)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for site in sites {
                    group.addTask {
                        for _ in 0..<20 { _ = try await site.store.feed(webhook, until: position) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await sites[0].states().count == 41)
            #expect(try await sites[0].store.feeds()[Site.id]?.cursor == position)
        }
    }

    // MARK: Leasing

    @Test func `deliveries of one stream are attempted one after the other, and those of several in parallel`()
        async throws
    {
        try await Site.with { site in
            let (one, other) = (try Sample.app(), try Sample.app())
            try await site.add("https://hooks.example.com/")
            for app in [one, other] { _ = try await site.node.writer.execute(try Sample.create(app)) }
            for app in [one, other] { _ = try await site.node.writer.execute(try Sample.rename(app, "b")) }
            try await site.feed()
            let first = try await site.lease()
            #expect(first.map(\.position) == [1, 2])
            #expect(try await site.lease().isEmpty)
            _ = try await site.store.settle(first[0], .delivered(status: 200))
            let second = try await site.lease()
            #expect(second.map(\.position) == [3])
            #expect(try Entry(bytes: second[0].entry).stream == .app(one))
        }
    }

    @Test func `deliveries of an app and of the warnings about it are attempted one after the other`() async throws {
        try await Site.with { site in
            let (app, other) = (try Sample.app(), try Sample.app())
            try await site.add("https://hooks.example.com/", apps: [app])
            _ = try await site.node.writer.execute(try Sample.create(app, hosts: 1))
            try await site.execute(.app(app, [.setPinsValidUntil(.wall.adding(seconds: 3600))]))
            _ = try await site.node.writer.execute(try Sample.create(other))
            try await site.execute(.watch(app))
            try await site.execute(.watch(app))
            try await site.feed()
            let count = try await site.states().count
            var order: [String] = []
            for _ in 0..<count {
                let leases = try await site.lease()
                #expect(leases.count == 1)
                for lease in leases {
                    order.append(try Entry(bytes: lease.entry).event.type)
                    _ = try await site.store.settle(lease, .delivered(status: 200))
                }
            }
            #expect(order.first == "AppCreated" && order.suffix(2) == ["PinsValidUntilSet", "WarningRaised"])
            #expect(order.count { $0 == "WarningRaised" } == 1)
        }
    }

    @Test func `deliveries that failed hold back their own stream until they are delivered or given up`() async throws {
        try await Site.with { site in
            let (one, other) = (try Sample.app(), try Sample.app())
            try await site.add("https://hooks.example.com/")
            _ = try await site.node.writer.execute(try Sample.create(one))
            _ = try await site.node.writer.execute(try Sample.rename(one, "b"))
            _ = try await site.node.writer.execute(try Sample.create(other))
            try await site.feed()
            var leases = try await site.lease()
            #expect(leases.map(\.position) == [1, 3])
            _ = try await site.store.settle(
                leases[0], .failed(delay: 3600, status: 500, error: "answered 500", isGone: false))
            _ = try await site.store.settle(leases[1], .delivered(status: 204))
            #expect(try await site.lease().isEmpty)
            #expect(try await site.states() == [1: "failed", 2: "pending", 3: "delivered"])
            try await site.node.database.execute(
                "UPDATE pinledger.webhook_delivery SET next_attempt_at = now() WHERE position = 1")
            leases = try await site.lease()
            #expect(leases.map(\.position) == [1] && leases[0].round == 2)
            _ = try await site.store.settle(leases[0], .dead(status: 500, error: "answered 500"))
            #expect(try await site.lease().map(\.position) == [2])
            #expect(try await site.states()[1] == "dead")
        }
    }

    @Test func `deliveries are leased by one node only, and by another when the lease is over`() async throws {
        try await TestNode.run(4, on: try TestDatabase.current) { nodes in
            let sites = try nodes.map { Site(node: $0, tools: try Site.tools($0)) }
            try await sites[0].add("https://hooks.example.com/")
            for _ in 0..<30 { _ = try await nodes[0].writer.execute(try Sample.create(try Sample.app())) }
            try await sites[0].feed()
            let leased = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for site in sites {
                    group.addTask {
                        var mine: [Int64] = []
                        for _ in 0..<10 { mine += try await site.lease(2, for: 60).map(\.position) }
                        return mine
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(leased).count == leased.count)
            #expect(leased.count == 30)
            try await nodes[0].database.execute(
                "UPDATE pinledger.webhook_delivery SET lease_until = now() - interval '1 second'")
            let again = try await sites[3].lease()
            #expect(again.count == 30 && again.allSatisfy { $0.attempt == 2 })
        }
    }

    @Test func `deliveries are settled by their newest attempt only`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.feed()
            let old = try #require(try await site.lease().first)
            try await site.node.database.execute(
                "UPDATE pinledger.webhook_delivery SET lease_until = now() - interval '1 second'")
            let new = try #require(try await site.lease().first)
            #expect(try await site.store.settle(old, .dead(status: nil, error: "late")) == nil)
            #expect(try await site.states() == [1: "pending"])
            _ = try await site.store.settle(new, .delivered(status: 200))
            #expect(try await site.states() == [1: "delivered"])
            // And once.
            _ = try await site.store.settle(new, .failed(delay: 1, status: 500, error: "x", isGone: false))
            #expect(try await site.states() == [1: "delivered"])
        }
    }

    @Test func `deliveries that were released are attempted at once by the first node that comes`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.feed()
            let lease = try #require(try await site.lease().first)
            #expect(try await site.store.settle(lease, .released) == nil)
            #expect(try await site.lease().map(\.attempt) == [2])
        }
    }

    @Test func `deliveries tell since when none of a webhook succeeds`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            for name in ["x", "y"] { try await site.execute(.fleet(.setIssuer(name))) }
            try await site.feed()
            let failed = DeliveryVerdict.failed(delay: 0, status: nil, error: "no answer", isGone: false)
            let first = try await site.store.settle(try #require(try await site.lease().first), failed)
            let second = try await site.store.settle(try #require(try await site.lease().first), failed)
            #expect(first != nil && first == second)
            _ = try await site.store.settle(
                try #require(try await site.lease().first), .delivered(status: 200))
            let progress = try #require(try await site.store.progress(of: Site.id))
            #expect(progress["failing_since"] == nil && progress["last_success_at"] != nil && progress["waiting"] == 1)
        }
    }

    @Test func `deliveries that are given up end the time of failing when no other remains`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            let (one, other) = (try Sample.app(), try Sample.app())
            for app in [one, other] { _ = try await site.node.writer.execute(try Sample.create(app)) }
            try await site.feed()
            let failed = DeliveryVerdict.failed(delay: 0, status: 503, error: "answered 503", isGone: false)
            let dead = DeliveryVerdict.dead(status: 503, error: "answered 503")
            let leases = try await site.lease()
            #expect(leases.count == 2)
            let since = try #require(try await site.store.settle(leases[0], failed))
            // While another one is open, it goes on.
            #expect(try await site.store.settle(leases[1], dead) == since)
            let last = try #require(try await site.lease().first)
            #expect(try await site.store.settle(last, dead) == nil)
            #expect(try await site.store.progress(of: Site.id)?["failing_since"] == nil)
            // Weeks later, the first failure is the first of its own.
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.feed()
            let next = try #require(try await site.lease().first)
            let later = try #require(try await site.store.settle(next, failed))
            #expect(later > since)
        }
    }

    @Test func `deliveries that are asked for again wait for a later one of their lane that is under way`() async throws
    {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            let (one, other) = (try Sample.app(), try Sample.app())
            for app in [one, other] { _ = try await site.node.writer.execute(try Sample.create(app)) }
            for _ in 0..<2 { _ = try await site.node.writer.execute(try Sample.rename(one, "n")) }
            try await site.feed()
            let first = try #require(try await site.lease(1).first)
            _ = try await site.store.settle(first, .delivered(status: 200))
            #expect(try await site.lease().map(\.position) == [2, 3])
            // Asked for again, an earlier one of the lane is the first, and waits for what is under way.
            #expect(try await site.store.replay(try site.webhook(), at: 1..<2, isComplete: false) == 1)
            #expect(try await site.lease().isEmpty)
        }
    }

    // MARK: Asking again

    @Test func `deliveries are replayed where they pass the filters, and no others`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            let (one, other) = (try Sample.app(), try Sample.app())
            for app in [one, other] { _ = try await site.node.writer.execute(try Sample.create(app)) }
            try await site.feed()
            for lease in try await site.lease() { _ = try await site.store.settle(lease, .delivered(status: 200)) }
            var change = WebhookChange()
            change.apps = [other]
            try await site.execute(.webhooks(.change(id: Site.id, change)))
            #expect(try await site.store.replay(try site.webhook(), at: 0..<100, isComplete: true) == 1)
            #expect(try await site.states() == [1: "delivered", 2: "pending"])
            // One by itself is sent whatever the filters are.
            #expect(try await site.store.replay(try site.webhook(), at: 1..<2, isComplete: false) == 1)
        }
    }

    @Test func `deliveries are not repeated on request while ten thousand are open`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.feed()
            _ = try await site.store.settle(try #require(try await site.lease().first), .delivered(status: 200))
            try await site.node.database.execute(
                """
                INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type)
                SELECT '\(Site.id)', n, 'app/a', 'AppRenamed' FROM generate_series(1000, 10999) n
                """)
            #expect(try await site.store.replay(try site.webhook(), at: 0..<100, isComplete: true) == nil)
            #expect(try await site.store.replay(try site.webhook(), at: 1..<2, isComplete: false) == nil)
            #expect(try await site.states()[1] == nil, "the list shows a thousand")
            try await site.node.database.execute("DELETE FROM pinledger.webhook_delivery WHERE position = 1000")
            #expect(try await site.store.replay(try site.webhook(), at: 1..<2, isComplete: false) == 1)
        }
    }

    @Test func `deliveries are replayed with the ids they had, also those from before the webhook`() async throws {
        try await Site.with { site in
            let app = try Sample.app()
            _ = try await site.node.writer.execute(try Sample.create(app))
            try await site.add("https://hooks.example.com/")
            try await site.execute(.fleet(.setIssuer("x")))
            try await site.feed()
            let lease = try #require(try await site.lease().first)
            let webhook = try site.webhook()
            // What is under way is left alone.
            #expect(try await site.store.replay(webhook, at: 2..<3, isComplete: false) == 0)
            _ = try await site.store.settle(lease, .delivered(status: 200))
            #expect(try await site.store.replay(webhook, at: 0..<1, isComplete: false) == 0)
            #expect(try await site.store.replay(webhook, at: 2..<3, isComplete: false) == 1)
            let again = try await site.lease()
            #expect(again.map(\.position) == [2] && again[0].attempt == 2 && again[0].round == 1)
            _ = try await site.store.settle(again[0], .delivered(status: 200))
            #expect(try await site.store.replay(webhook, at: 0..<100, isComplete: true) == 3)
            #expect(try await site.states() == [0: "pending", 1: "pending", 2: "pending"])
        }
    }

    @Test func `deliveries are forgotten with their webhook, and after thirty days`() async throws {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            for name in ["x", "y"] { try await site.execute(.fleet(.setIssuer(name))) }
            try await site.feed()
            _ = try await site.store.settle(try #require(try await site.lease().first), .delivered(status: 200))
            try await site.node.database.execute(
                "UPDATE pinledger.webhook_delivery SET settled_at = now() - interval '31 days' WHERE state = 'delivered'"
            )
            let sql = "SELECT pinledger.forget_deliveries(now() - interval '30 days')"
            #expect(try await site.node.pool.query(sql).only.int64(0) == 1)
            #expect(try await site.states() == [2: "pending"])
            #expect(try await site.store.close(Site.id))
            let left = try await site.node.database.query(
                """
                SELECT (SELECT count(*) FROM pinledger.webhook_delivery) + (SELECT count(*) FROM pinledger.webhook_feed)
                     + (SELECT count(*) FROM pinledger.webhook_secret)
                """)
            #expect(try left.only.int64(0) == 0)
        }
    }

    @Test func `deliveries are signed with every secret that was replaced within a day, and those are not erased`()
        async throws
    {
        try await Site.with { site in
            try await site.add("https://hooks.example.com/")
            for _ in 0..<2 {
                let secret = WebhookName.secret()
                _ = try await site.tools.secrets.create(secret, of: Site.id)
                try await site.execute(.webhooks(.rotateSecret(id: Site.id, secretID: secret)))
            }
            try await site.node.database.execute(
                "UPDATE pinledger.webhook_secret SET created_at = now() - interval '2 days'")
            let webhooks = site.node.ledger.view.state.webhooks
            func left() async throws -> Int64 {
                try await site.node.database.query("SELECT count(*) FROM pinledger.webhook_secret").only.int64(0)
            }
            try await site.tools.secrets.eraseUnused(webhooks, at: .wall)
            #expect(try await left() == 3)
            #expect(try await site.tools.secrets.signing(try site.webhook(), at: .wall).count == 3)
            try await site.tools.secrets.eraseUnused(webhooks, at: .wall.adding(seconds: 2 * 86_400))
            #expect(try await left() == 1)
        }
    }

    @Test func `deliveries are written only by the database's functions`() async throws {
        let database = try TestDatabase.current
        for user in [TestDatabase.User.app, .reader] {
            let connection = try await database.connect(as: user)
            for sql in [
                "DELETE FROM pinledger.webhook_delivery", "UPDATE pinledger.webhook_feed SET cursor = 1",
                "INSERT INTO pinledger.webhook_secret VALUES ('a', 'b', 'c', 'n', 's')",
            ] {
                await #expect(throws: PostgresError.self) { try await connection.query(sql) }
            }
        }
        let reader = try await database.connect(as: .reader)
        await #expect(throws: PostgresError.self) { try await reader.query("SELECT * FROM pinledger.webhook_secret") }
    }
}
