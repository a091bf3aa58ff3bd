import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Testing

@testable import Publishing

/// Signing and storing, on the node that records a change.
@Suite(.database, .timeLimit(.minutes(60)))
struct PublisherTests {
    @Test func `a change is signed and served before it is answered, and stored soon after`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 2))
            let first = try node.check(app)
            #expect(first.keyID == kid)
            #expect(first.expiresAt == first.issuedAt.adding(seconds: 86_400))
            try await node.execute(try Sample.rename(app, "x"))
            let second = try node.check(app)
            #expect(second.version == first.version + 1)
            try await node.execute(try Sample.request(.fleet(.setIssuer("other"))))
            let third = try node.check(app)
            #expect(third.version == second.version + 1)

            let sql = "SELECT version, body, kid FROM pinledger.document WHERE app = $1"
            try #expect(
                await eventually {
                    guard let row = try await database.query(sql, [.text(app.text)]).first else { return false }
                    return try row.int64(0) == third.version && row.bytes(1) == third.bytes && row.text(2) == kid
                }
            )
        }
    }

    @Test func `every answered change is published under load, too`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let apps = try (0..<8).map { _ in try Sample.app() }
            for app in apps { try await node.execute(try Sample.create(app, hosts: 1)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<16 {
                    group.addTask {
                        var late = 0
                        for number in 0..<15 {
                            let app = apps[(client + number) % apps.count]
                            let recorded = try await node.execute(try Sample.rename(app, "c\(client) n\(number)"))
                            if node[app]?.version ?? 0 < recorded.streamVersion { late += 1 }
                        }
                        return late
                    }
                }
                let late = try await group.reduce(0, +)
                #expect(late == 0)
            }
            for app in apps { try node.check(app) }
        }
    }

    @Test func `every answered change is published on two nodes that write at once, too`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { first in
            try await first.makeKey()
            let app = try Sample.app()
            try await first.execute(try Sample.create(app, hosts: 1))
            try await PublishingNode.run(on: database, .with { ($0.keyEncryptionKey, $0.node.name) = (key, "second") })
            { second in
                #expect(await eventually { second.node.ledger.position == first.node.ledger.position })
                let late = try await withThrowingTaskGroup(of: Int.self) { group in
                    for (client, node) in [first, second, first, second].enumerated() {
                        group.addTask {
                            var late = 0
                            for number in 0..<20 {
                                let recorded = try await node.execute(try Sample.rename(app, "c\(client) n\(number)"))
                                if node[app]?.version ?? 0 < recorded.streamVersion { late += 1 }
                            }
                            return late
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(late == 0)
                #expect(await eventually { second.node.ledger.position == first.node.ledger.position })
                #expect(await eventually { first[app]?.bytes == second[app]?.bytes })
                try first.check(app)
                try second.check(app)
            }
        }
    }

    @Test func `nothing is published without a key, and everything is with the first key`() async throws {
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: try TestDatabase.current, .with { $0.keyEncryptionKey = key }) { node in
            let apps = try (0..<3).map { _ in try Sample.app() }
            for app in apps {
                try await node.execute(try Sample.create(app))
                #expect(node[app] == nil)
            }
            try await node.makeKey()
            for app in apps { try node.check(app) }
        }
    }

    @Test func `another key signs everything again, with the same versions`() async throws {
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: try TestDatabase.current, .with { $0.keyEncryptionKey = key }) { node in
            let first = try await node.makeKey()
            let apps = try [Sample.app(), Sample.app()]
            for app in apps { try await node.execute(try Sample.create(app, hosts: 1)) }
            let before = try apps.map { try node.check($0) }
            let second = try await node.makeKey()
            #expect(first != second)
            for (app, old) in zip(apps, before) {
                let new = try node.check(app)
                #expect(old.keyID == first)
                #expect(new.keyID == second)
                #expect(new.version == old.version)
                #expect(new.contentDigest == old.contentDigest)
                #expect(new.issuedAt > old.issuedAt)
                // What clients hold verifies on: the old key is superseded, not gone.
                #expect(throws: Never.self) {
                    try CompactJWS.verify(old.text, type: Publisher.documentType, trusting: node.trusted)
                }
            }
        }
    }

    @Test func `a document that grows old is signed again, and only its freshness changes`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let clock = ManualClock()
        try await PublishingNode.run(
            on: database, .with { ($0.keyEncryptionKey, $0.node.clock) = (key, { clock.now }) }
        ) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 2))
            let first = try node.check(app)
            let age = Publisher.Schedule().renewalSeconds(of: app)
            clock.advance(seconds: age - 1)
            // Not yet. Another change of the fleet's would be seen at once.
            try await node.execute(try Sample.create(try Sample.app()))
            #expect(node[app]?.bytes == first.bytes)
            clock.advance(seconds: 1)
            #expect(await eventually { node[app]?.issuedAt != first.issuedAt })
            let second = try node.check(app)
            #expect(second.version == first.version)
            #expect(second.contentDigest == first.contentDigest)
            #expect(second.issuedAt == first.issuedAt.adding(seconds: age))
            #expect(second.expiresAt == second.issuedAt.adding(seconds: 86_400))
            #expect(second.body.identity.tag != first.body.identity.tag)
        }
    }

    @Test func `a clash with a damaged row is reported, the row is mended, and the other apps are published`()
        async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let log = LogRecorder()
        let clock = ManualClock()
        try await PublishingNode.run(
            on: database,
            .with { ($0.keyEncryptionKey, $0.node.logger, $0.node.clock) = (key, log.logger, { clock.now }) }
        ) { node in
            try await node.makeKey()
            // More than are stored at once.
            let apps = try (0..<505).map { _ in try Sample.app() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for app in apps { group.addTask { try await node.execute(try Sample.create(app)) } }
                try await group.waitForAll()
            }
            try #expect(
                await eventually {
                    try await database.query("SELECT count(*) FROM pinledger.document").only.int64(0)
                        == Int64(apps.count)
                }
            )
            // The digest beside the document is another one than in it.
            try await database.query(
                "UPDATE pinledger.document SET content_sha256 = sha256('other') WHERE app = $1", [.text(apps[0].text)]
            )
            let start = clock.now
            clock.advance(seconds: 30_000)
            #expect(await eventually { apps.dropFirst().allSatisfy { node[$0]?.issuedAt ?? start > start } })
            #expect(await eventually { log.text.contains { $0.contains("PL003") && $0.contains(apps[0].text) } })
            #expect(
                try await eventually {
                    let sql = "SELECT content_sha256, issued_at FROM pinledger.document WHERE app = $1"
                    let row = try await database.query(sql, [.text(apps[0].text)]).only
                    return try row.bytes(0) == node[apps[0]]?.contentDigest
                        && Timestamp(microseconds: try row.timestamp(1)) > start
                })
            #expect(node.node.ledger.fault == nil)
            let reports = log.text.filter { $0.contains("PL003") }
            #expect(reports.count < 5 && reports.allSatisfy { $0.hasPrefix("critical") })
            // Its next version is published as if nothing had been.
            try await node.execute(try Sample.rename(apps[0], "x"))
            try node.check(apps[0])
        }
    }

    @Test func `the second of two contents stored for one version at once is refused`() async throws {
        let database = try TestDatabase.current
        let (first, second) = (try await database.connect(as: .app), try await database.connect(as: .app))
        try await database.execute(
            """
            INSERT INTO pinledger.stream VALUES ('app/a', 1, 0);
            UPDATE pinledger.head SET next_position = 1, frontier = sha256('entry');
            """)
        func publish(_ content: String, day: Int) -> String {
            """
            SELECT pinledger.publish_documents('{a}', '{1}', '{1}', ARRAY[sha256('\(content)')], '{2026-01-0\(day)}',
                '{2027-01-01}', '{kid}', ARRAY['\(content)'::bytea])
            """
        }
        try await first.execute(script: "BEGIN; \(publish("one", day: 1))")
        let other = publish("two", day: 2)
        async let refused = failure { try await second.query(other) }
        let backend = second.backendPID
        #expect(
            try await eventually {
                try await database.query(
                    "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'", [.int32(backend)]
                ).count == 1
            }
        )
        try await first.execute(script: "COMMIT")
        #expect(await refused?.sqlState == "PL003")
        let stored = try await database.query("SELECT body FROM pinledger.document WHERE app = 'a'")
        #expect(try stored.only.bytes(0) == Array("one".utf8))
    }
}
