import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Testing

@testable import Publishing

/// Which stored documents a node reads: those that have changed since it looked.
@Suite(.database, .timeLimit(.minutes(60)))
struct DocumentChangesTests {
    private static func publish(_ apps: [AppID], on node: PublishingNode) async throws {
        for app in apps { try await node.execute(try Sample.create(app, hosts: 1)) }
        #expect(
            try await eventually {
                try await node.node.database.query("SELECT FROM pinledger.document").count == apps.count
            })
    }

    /// All changes from one on, as they come part by part.
    private static func changes(
        of store: DocumentStore, from change: Int64, newerThan table: DocumentTable
    ) async throws -> (outdated: [AppID], last: Int64?) {
        var (outdated, last) = ([AppID](), change)
        while true {
            let part = try await store.changes(from: last, newerThan: table)
            outdated += part.outdated.map(\.app)
            guard part.isPart, let end = part.last else { return (outdated, part.last) }
            last = end
        }
    }

    @Test func `a node that looks again reads what has changed, and nothing else`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let apps = try (0..<5).map { _ in try Sample.app() }
            try await Self.publish(apps, on: node)
            let empty = DocumentTable(clock: { .wall })
            for size in [2, 5, 100] {
                let store = DocumentStore(pool: node.node.pool, pageSize: size, changesSize: size)
                #expect(try await Set(store.loadAll().stored.map(\.document.app)) == Set(apps))
                #expect(try await store.loadAll().stored.count == apps.count)
                let all = try await Self.changes(of: store, from: 1, newerThan: empty)
                #expect(Set(all.outdated) == Set(apps))
                // A table that has everything asks for none, and the last change is the only one to be read again.
                let seen = try #require(all.last)
                #expect(try await Self.changes(of: store, from: 1, newerThan: node.publisher.table).outdated.isEmpty)
                let idle = try await store.changes(from: seen, newerThan: empty)
                #expect(idle.outdated.count == 1 && idle.last == seen)
                try await node.execute(try Sample.rename(apps[0], "size \(size)"))
                let version = try node.check(apps[0]).version
                #expect(
                    try await eventually {
                        try await database.query(
                            "SELECT FROM pinledger.document WHERE app = $1 AND version = $2",
                            [.text(apps[0].text), .int64(version)]
                        ).count == 1
                    })
                let later = try await Self.changes(of: store, from: seen + 1, newerThan: empty)
                #expect(Set(later.outdated) == [apps[0]])
                // A row that is written over by hand counts too.
                try await database.query(
                    "UPDATE pinledger.document SET kid = kid WHERE app = $1",
                    [.text(apps[1].text)])
                let end = try #require(later.last)
                #expect(try await Self.changes(of: store, from: end + 1, newerThan: empty).outdated == [apps[1]])
            }
            // A database that was restored has other changes than were seen.
            let store = DocumentStore(pool: node.node.pool)
            #expect(try await store.changes(from: 1_000_000, newerThan: empty).last == nil)
        }
    }

    @Test func `a node whose database has other changes than it has seen looks at all of them`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let app = try Sample.app()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            try await Self.publish([app], on: signer)
        }
        // A node that does not sign, and has seen a change that is not there any more.
        try await TestNode.run(on: database) { node in
            let publisher = Publisher(
                ledger: node.ledger, keys: SigningKeys(pool: node.pool, keyEncryptionKeys: nil), pool: node.pool,
                listener: PostgresListener(
                    configuration: try database.configuration(as: .app, applicationName: "documents"),
                    channels: [Publisher.channel]),
                schedule: Publisher.Schedule(), table: DocumentTable(clock: { .wall }), logger: node.logger,
                clock: { .wall })
            #expect(try await publisher.documentsFound(afterSeeing: 1_000_000) == [app])
            #expect(try await publisher.documentsFound(afterSeeing: 0) == [app])
        }
    }

    @Test func `no change becomes visible after one with a higher number`() async throws {
        let database = try TestDatabase.current
        let (first, second) = (try await database.connect(as: .app), try await database.connect(as: .app))
        try await database.execute(
            """
            INSERT INTO pinledger.stream VALUES ('app/a', 1, 0), ('app/b', 1, 0);
            UPDATE pinledger.head SET next_position = 1, frontier = sha256('entry');
            """)
        func publish(_ app: String) -> String {
            """
            SELECT pinledger.publish_documents('{\(app)}', '{1}', '{1}', ARRAY[sha256('x')], '{2026-01-01}',
                '{2027-01-01}', '{kid}', ARRAY['x'::bytea])
            """
        }
        try await first.execute(script: "BEGIN; \(publish("a"))")
        let other = publish("b")
        async let failed = failure { try await second.query(other) }
        let backend = second.backendPID
        #expect(
            try await eventually {
                try await database.query(
                    "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'", [.int32(backend)]
                ).count == 1
            }
        )
        #expect(try await database.query("SELECT FROM pinledger.document").isEmpty)
        try await first.execute(script: "COMMIT")
        #expect(await failed == nil)
        let apps = try await database.query("SELECT app FROM pinledger.document ORDER BY change")
        #expect(try apps.map { try $0.text(0) } == ["a", "b"])
    }
}

extension Publisher {
    /// The apps whose documents a look finds on a node that has seen this change.
    fileprivate func documentsFound(afterSeeing change: Int64) async throws -> [AppID] {
        self.seenChange = change
        var found: [AppID] = []
        try await self.loadOutdated { found += $0.map(\.document.app) }
        return found
    }
}
