import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Testing

@testable import Publishing

/// What a node serves while it still reads the ledger.
@Suite("Documents that a node serves while it reads the ledger", .database, .timeLimit(.minutes(60)))
struct ReadingTests {
    /// A publisher of a node that has only begun to read the ledger.
    private static func publisher(of ledger: Ledger, in database: TestDatabase, _ node: TestNode) throws -> Publisher {
        Publisher(
            ledger: ledger, keys: SigningKeys(pool: node.pool, keyEncryptionKeys: nil), pool: node.pool,
            listener: PostgresListener(configuration: try database.configuration(), channels: []),
            schedule: Publisher.Schedule(), table: DocumentTable(clock: { .wall }), logger: .silent, clock: { .wall })
    }

    /// Publishes a document, and gives the test its app, its bytes and the public key by which it is verified.
    private static func published(
        _ test: (PublishingNode, PublishedDocument, _ keys: [String: [UInt8]], TestDatabase) async throws -> Void
    ) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 1))
            let document = try node.check(app)
            #expect(
                try await eventually {
                    try await database.query("SELECT count(*) FROM pinledger.document").only.int64(0) == 1
                })
            let publicKey = try #require(node.node.ledger.view.state.keys.keys[kid]?.publicKey)
            try await test(node, document, [kid: publicKey], database)
        }
    }

    @Test func `a document is served that a remembered key has signed, and none before a key is remembered`()
        async throws
    {
        try await Self.published { node, document, keys, database in
            let ledger = Ledger()
            ledger.beginReading()
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            try await publisher.loadEarly(.none)
            #expect(publisher.table[document.app] == nil)
            ledger.remember(keys: keys.mapValues { _ in [UInt8](repeating: 7, count: 32) }, at: 9)
            try await publisher.loadEarly(.none)
            #expect(publisher.table[document.app] == nil)
            ledger.remember(keys: keys, at: 9)
            try await publisher.loadEarly(.none)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            // The ledger itself has no such key: what was served early is judged again, still before the node has started.
            _ = try await publisher.load()
            #expect(publisher.table[document.app] == nil)
        }
    }

    /// Which key set is the newer one, that of the view or the remembered one, and which of them have the key.
    @Test(arguments: [
        (remembered: Int64(100), isRemembered: true, isInView: true, isServed: true), (100, true, false, true),
        (100, false, true, false), (0, true, false, false), (0, false, true, true), (0, true, true, true),
    ])
    func `only the newer key set counts, of the memory or of a snapshot`(
        remembered: Int64, isRemembered: Bool, isInView: Bool, isServed: Bool
    ) async throws {
        try await Self.published { node, document, keys, database in
            var view = node.node.ledger.view
            if !isInView { for kid in keys.keys { view.state.keys.keys[kid]?.state = .retired } }
            let ledger = Ledger(view: view)
            ledger.beginReading()
            let other = ["other": [UInt8](repeating: 7, count: 32)]
            ledger.remember(keys: isRemembered ? keys : other, at: remembered)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            try await publisher.loadEarly(.none)
            #expect((publisher.table[document.app] != nil) == isServed)
        }
    }

    @Test func `a document that was served early is not followed by an older one once the ledger is read`() async throws
    {
        try await Self.published { node, document, keys, database in
            let ledger = Ledger(view: node.node.ledger.view)
            ledger.beginReading()
            ledger.remember(keys: keys, at: 100)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            publisher.table.remember([:], isStrict: false)
            try await publisher.loadEarly(.none)
            try await database.execute("CREATE TABLE public.earlier AS SELECT * FROM pinledger.document")
            try await node.execute(try Sample.rename(document.app, "after"))
            #expect(
                try await eventually {
                    try await publisher.refreshEarly()
                    return publisher.table[document.app]?.version == document.version + 1
                })
            // As a database that is behind the one before has it.
            try await database.execute(
                """
                DELETE FROM pinledger.document;
                INSERT INTO pinledger.document SELECT * FROM public.earlier
                """)
            publisher.table.remember([document.app: document.remembered], isStrict: false)
            _ = try await publisher.load()
            #expect(publisher.table[document.app] == nil)
        }
    }

    @Test func `a kept document of an event that waits for its signature is sound`() async throws {
        try await Self.published { node, document, keys, database in
            let before = node.node.ledger.view
            try await node.execute(try Sample.rename(document.app, "after"))
            let later = try #require(node[document.app])
            let kept = KeptDocuments(lines: [later.bytes[...]], remembered: [later.app: later.remembered])
            let stored = try #require(kept.stored.first)
            #expect(DocumentJudge.verdict(on: stored, by: before, isHalted: false, isBehind: true) == .sound)
            #expect(DocumentJudge.verdict(on: stored, by: before, isHalted: false) != .sound)
        }
    }

    @Test func `nothing goes back behind what was served, and nothing newer comes from a database that lost events`()
        async throws
    {
        try await Self.published { node, document, keys, database in
            let other = [UInt8](repeating: 1, count: 32)
            for (version, digest, isStrict, isServed) in [
                (document.version, document.contentDigest, true, true),
                (document.version, other, false, false), (document.version + 1, other, false, false),
                (document.version - 1, other, false, true), (document.version - 1, other, true, false),
            ] {
                let ledger = Ledger()
                ledger.beginReading()
                ledger.remember(keys: keys, at: 9)
                let publisher = try Self.publisher(of: ledger, in: database, node.node)
                let served = NodeMemory.Document(version: version, contentDigest: digest)
                publisher.table.remember([document.app: served], isStrict: isStrict)
                try await publisher.loadEarly(.none)
                #expect((publisher.table[document.app] != nil) == isServed, "version \(version), strict \(isStrict)")
                #expect(await publisher.table.servesAny() == isServed)
            }
        }
    }

    @Test(arguments: StoredDocumentTests.forgeries)
    func `a forged document gives way to the one that the node has kept`(forgery: StoredDocumentTests.Forgery)
        async throws
    {
        try await Self.published { node, document, keys, database in
            let ledger = Ledger()
            ledger.beginReading()
            ledger.remember(keys: keys, at: 9)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            let served = [document.app: document.remembered]
            publisher.table.remember(served, isStrict: false)
            let kept = KeptDocuments(lines: [document.bytes[...]], remembered: served)
            // Signed with no key of the ledger, it is repaired by no other node meanwhile.
            node.node.ledger.halt(.fork(position: 1))
            try await database.query(
                "UPDATE pinledger.document SET \(forgery.columns), body = $1",
                [.bytes(forgery.body(document.bytes))])
            try await publisher.loadEarly(kept)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            #expect(ledger.fault == nil)
        }
    }

    @Test func `a node that halts before it has read what it remembers serves what it has served, and nothing newer`()
        async throws
    {
        try await Self.published { node, document, keys, database in
            let ledger = Ledger()
            ledger.beginReading()
            ledger.remember(keys: keys, at: 9)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            let served = [document.app: document.remembered]
            let kept = KeptDocuments(lines: [document.bytes[...]], remembered: served)
            publisher.table.remember(served, isStrict: false)
            try await publisher.loadEarly(kept)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            ledger.halt(.leafHash(position: 1))
            try await node.execute(try Sample.rename(document.app, "after"))
            #expect(
                try await eventually {
                    try await database.query("SELECT version FROM pinledger.document").only.int64(0) > document.version
                })
            publisher.table.remember(served, isStrict: true)
            _ = try await publisher.load(kept)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            ledger.endReading()
            #expect(publisher.table[document.app]?.bytes == document.bytes)
        }
    }

    @Test func `a node that reads the ledger says how far it has come, and records nothing`() {
        let ledger = Ledger()
        ledger.beginReading()
        #expect(ledger.unread == .unread(position: 0, of: 0) && ledger.fault == nil)
        #expect(ledger.partialFault == ledger.unread && ledger.partialHalt == ledger.unread)
        #expect(ledger.refusal == .halted(.unread(position: 0, of: 0)))
        ledger.endReading()
        #expect(ledger.unread == nil && ledger.partialFault == nil && ledger.refusal == nil)
    }
}
