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
@Suite("While the ledger is read", .database, .timeLimit(.minutes(60)))
struct ReadingTests {
    /// A publisher of a node that has only begun to read the ledger.
    private static func publisher(of ledger: Ledger, in database: TestDatabase, _ node: TestNode) throws -> Publisher {
        Publisher(
            ledger: ledger, keys: SigningKeys(pool: node.pool, keyEncryptionKey: nil), pool: node.pool,
            listener: PostgresListener(configuration: try database.configuration(), channels: []),
            schedule: Publisher.Schedule(), table: DocumentTable(), logger: .silent, clock: { .wall })
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
            await publisher.loadEarly(.none)
            #expect(publisher.table[document.app] == nil)
            ledger.trustWhileReading(keys.mapValues { _ in [UInt8](repeating: 7, count: 32) })
            await publisher.loadEarly(.none)
            #expect(publisher.table[document.app] == nil)
            ledger.trustWhileReading(keys)
            await publisher.loadEarly(.none)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            // The ledger itself has no such key: what was served early is judged again.
            ledger.endReading()
            _ = try await publisher.load()
            #expect(publisher.table[document.app] == nil)
        }
    }

    @Test func `a key that the ledger has retired signs nothing, although it is remembered`() async throws {
        try await Self.published { node, document, keys, database in
            var view = node.node.ledger.view
            for kid in keys.keys { view.state.keys.keys[kid]?.state = .retired }
            let ledger = Ledger(view: view)
            ledger.beginReading()
            ledger.trustWhileReading(keys)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            await publisher.loadEarly(.none)
            #expect(publisher.table[document.app] == nil)
        }
    }

    @Test func `nothing goes back behind what was served, and nothing newer comes from a database that lost events`()
        async throws
    {
        try await Self.published { node, document, keys, database in
            let ledger = Ledger()
            ledger.beginReading()
            ledger.trustWhileReading(keys)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            let other = [UInt8](repeating: 1, count: 32)
            for (version, digest, isStrict, isServed) in [
                (document.version, document.contentDigest, true, true),
                (document.version, other, false, false), (document.version + 1, other, false, false),
                (document.version - 1, other, false, true), (document.version - 1, other, true, false),
            ] {
                let served = NodeMemory.Document(version: version, contentDigest: digest)
                publisher.table.remember([document.app: served], isStrict: isStrict)
                await publisher.loadEarly(.none)
                #expect((publisher.table[document.app] != nil) == isServed, "version \(version), strict \(isStrict)")
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
            ledger.trustWhileReading(keys)
            let publisher = try Self.publisher(of: ledger, in: database, node.node)
            let served = [document.app: document.remembered]
            publisher.table.remember(served, isStrict: false)
            let kept = KeptDocuments(lines: [document.bytes[...]], remembered: served)
            // Signed with no key of the ledger, it is repaired by no other node meanwhile.
            node.node.ledger.halt(.fork(position: 1))
            try await database.query(
                "UPDATE pinledger.document SET \(forgery.columns), body = $1",
                [.bytes(forgery.body(document.bytes))])
            await publisher.loadEarly(kept)
            #expect(publisher.table[document.app]?.bytes == document.bytes)
            await publisher.loadEarly(.none)
            #expect(publisher.table[document.app].map { $0.bytes == document.bytes } ?? true)
            #expect(ledger.fault == nil)
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
