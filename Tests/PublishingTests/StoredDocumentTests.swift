import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Testing

@testable import Publishing

/// What a node makes of documents that stand in the database: those it did not put there included.
@Suite(.database, .timeLimit(.minutes(60)))
struct StoredDocumentTests {
    /// A row that an attacker with write access to the table, and without a key of the ledger, writes over a document.
    struct Forgery: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// What is set, beside the body `$1`.
        var columns: String
        /// The body: of the app's own document unless told otherwise.
        var body: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    }

    static let forgeries: [Forgery] = [
        Forgery(
            testDescription: "an unknown key, and a version and a position that the ledger has not come to",
            columns: "version = 999999999, position = 999999999, kid = 'nobody'", body: { _ in Self.foreign }),
        Forgery(
            testDescription: "the largest numbers there are",
            columns: "version = 9223372036854775807, position = 9223372036854775807, issued_at = '9999-12-31'",
            body: { _ in Self.foreign }),
        Forgery(
            testDescription: "an unknown key at a position of the ledger",
            columns: "version = 999999999, kid = '\(Self.foreignKeyID)'", body: { _ in Self.foreign }),
        Forgery(
            testDescription: "the next version, and bytes that are no document",
            columns: "version = version + 1, issued_at = issued_at + interval '1 year'",
            body: { _ in Array("garbage".utf8) }),
        Forgery(
            testDescription: "the same version and digest, issued later, and bytes that are no document",
            columns: "issued_at = issued_at + interval '1 year'", body: { _ in Array("garbage".utf8) }),
        Forgery(
            testDescription: "the same version with another digest beside a good document",
            columns: "issued_at = issued_at + interval '1 second', content_sha256 = sha256('other')"),
        Forgery(
            testDescription: "a later version beside a good document", columns: "version = version + 1000000"),
    ]

    private static let foreignKey = try? Ed25519PrivateKey.generate()
    private static var foreignKeyID: String { Self.foreignKey?.publicKey.keyID ?? "" }
    /// A document with a valid signature by a key outside the ledger.
    private static var foreign: [UInt8] {
        guard let key = Self.foreignKey else { return [] }
        let token = try? CompactJWS.sign(
            Array("{}".utf8), type: Publisher.documentType, keyID: Self.foreignKeyID, key: key)
        return Array((token ?? "").utf8)
    }

    @Test(arguments: forgeries)
    func `a document that does not verify is neither served nor kept, and blocks none that does`(
        forgery: Forgery
    ) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let app = try Sample.app()
            try await signer.execute(try Sample.create(app, hosts: 1))
            let good = try signer.check(app)
            #expect(try await eventually { try await Self.stored(app, in: database)?.bytes == good.bytes })
            try await database.query(
                "UPDATE pinledger.document SET \(forgery.columns), body = $1 WHERE app = $2",
                [.bytes(forgery.body(good.bytes)), .text(app.text)])
            // A node that finds nothing else there.
            try await PublishingNode.run(on: database, .with { $0.node.name = "server" }) { server in
                #expect(await eventually { server.node.ledger.position == signer.node.ledger.position })
                #expect(server[app].map { signer[app]?.bytes == $0.bytes } ?? true)
                // The switch is recorded, published and stored, and reaches the other node.
                try await signer.execute(
                    try Sample.request(
                        .app(app, [.engageKillSwitch(nil, expiresAt: .wall.adding(seconds: 3600))]), reason: "test"))
                let new = try signer.check(app)
                #expect(new.version == good.version + 1)
                #expect(try await eventually { try await Self.stored(app, in: database)?.version == new.version })
                #expect(await eventually { server[app]?.version == new.version })
                try server.check(app)
                #expect(signer.node.ledger.fault == nil && server.node.ledger.fault == nil)
            }
        }
    }

    @Test func `a malformed stored document gives way to the document of its version`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 1))
            let good = try node.check(app)
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            try await database.query(
                """
                UPDATE pinledger.document SET body = 'garbage', issued_at = issued_at + interval '1 year'
                    WHERE app = $1
                """, [.text(app.text)])
            try await database.query("SELECT pg_notify('pinledger_document', '')")
            #expect(
                try await eventually {
                    let stored = try await Self.stored(app, in: database)
                    return stored?.version == good.version && stored?.bytes == node[app]?.bytes
                })
            try node.check(app)
        }
    }

    @Test func `a document that contradicts the ledger halts a node that starts, and stays in place`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let app = try Sample.app()
        let (other, made) = try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            try await node.execute(try Sample.create(app, hosts: 1))
            let made = try node.check(app).contentDigest
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            return (try await Self.forge(app, on: node, in: database) { $0.hosts = [] }, made)
        }
        let view = try await TestNode.run(on: database) { try await $0.fullFold() }
        try await PublishingNode.run(
            on: database, .with { ($0.keyEncryptionKey, $0.node.view, $0.node.follows) = (key, view, false) }
        ) { node in
            #expect(await eventually { node.node.ledger.fault != nil })
            #expect(
                node.node.ledger.fault
                    == .contradicted(
                        app: app.text, version: other.version, published: Hex.encode(other.contentDigest),
                        made: Hex.encode(made)))
            // What was published goes on being served, and nothing is written over the evidence.
            #expect(node[app]?.bytes == other.bytes)
        }
        #expect(try await Self.stored(app, in: database)?.bytes == other.bytes)
    }

    @Test func `another content of a version halts a node, which goes on serving what it had`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 1))
            let good = try node.check(app)
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            let other = try await Self.forge(app, on: node, in: database) { $0.issuer = "other" }
            try await database.query("SELECT pg_notify('pinledger_document', '')")
            #expect(await eventually { node.node.ledger.fault != nil })
            let fault = try #require(node.node.ledger.fault).description
            #expect(fault.contains(Hex.encode(good.contentDigest)) && fault.contains(Hex.encode(other.contentDigest)))
            #expect(node[app]?.bytes == good.bytes)
        }
    }

    @Test func `two contents of an older version halt a node as well`() throws {
        let table = DocumentTable(clock: { .wall })
        let app = try Sample.app()
        let ledger = Ledger()
        let judge = DocumentJudge(ledger: ledger, logger: .silent)
        table.adopt([]) {
            judge.rule(on: $0)
        } onContradiction: { held, new in
            judge.halt(
                .contradicted(
                    app: held.app.text, version: held.version, published: Hex.encode(held.contentDigest),
                    made: Hex.encode(new.contentDigest)))
        }
        func document(_ content: String, at seconds: Int64) -> PublishedDocument {
            PublishedDocument(
                app: app, version: 1, position: 1, contentDigest: sha256(Array(content.utf8)),
                issuedAt: Timestamp(seconds: seconds), expiresAt: Timestamp(seconds: seconds + 60), keyID: "k",
                body: PreparedBody(Array(content.utf8)))
        }
        table.put([document("one", at: 1)])
        table.put([document("one", at: 2)])
        #expect(ledger.fault == nil && table[app]?.issuedAt == Timestamp(seconds: 2))
        table.put([document("two", at: 3)])
        #expect(ledger.fault != nil && table[app]?.issuedAt == Timestamp(seconds: 2))
    }

    @Test(arguments: [
        (position: Int64(0), isShrunk: false), (position: Int64(1000), isShrunk: true),
    ])
    func `a valid document of a version that the ledger has not reached halts a node`(
        position: Int64, isShrunk: Bool
    ) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 1))
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            _ = try await Self.forge(app, on: node, in: database, movingBy: position) { $0.version += 1 }
            try await database.query("SELECT pg_notify('pinledger_document', '')")
            #expect(await eventually { node.node.ledger.fault != nil })
            switch node.node.ledger.fault {
            case .unrecorded(app: app.text, version: _, recorded: _): #expect(!isShrunk)
            case .shrunk: #expect(isShrunk)
            case let other: Issue.record("halted by \(String(describing: other))")
            }
        }
    }

    @Test(arguments: [true, false])
    func `a node that waits for its upgrade serves documents of a later form, and no other node does`(waits: Bool)
        async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 1))
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            let held = try #require(node[app])
            // Otherwise it is halted because of damage.
            let position = node.node.ledger.position
            node.node.ledger.halt(
                waits ? .needsUpgrade(position: position, .type("AppRecoloured")) : .fork(position: 1))
            let later = try await Self.forgeLaterForm(app, on: node, in: database)
            try await database.query("SELECT pg_notify('pinledger_document', '')")
            if waits {
                #expect(await eventually { node[app]?.bytes == later })
            } else {
                try await Self.look(by: node, in: database)
                #expect(node[app]?.bytes == held.bytes)
            }
        }
    }

    @Test
    func `a document of a later form that comes before the event of its level is served once the node has paused`()
        async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let app = try Sample.app()
            try await signer.execute(try Sample.create(app, hosts: 1))
            try await PublishingNode.run(
                on: database, .with { ($0.node.name, $0.node.follows) = ("server", false) }
            ) { server in
                try await server.node.follower.catchUp()
                #expect(await eventually { server[app] != nil })
                let held = try #require(server[app])
                // One event that the server has not read, and the document that another program makes of it.
                try await signer.execute(try Sample.rename(app, "x"))
                #expect(try await eventually { try await Self.stored(app, in: database)?.version == held.version + 1 })
                // It would put its own document back in place of one that it cannot read.
                signer.node.ledger.halt(.fork(position: 1))
                let later = try await Self.forgeLaterForm(app, on: signer, in: database)
                try await Self.look(by: server, in: database)
                #expect(server[app]?.bytes == held.bytes && server.node.ledger.fault == nil)
                server.node.ledger.halt(
                    .needsUpgrade(position: server.node.ledger.position, .featureLevel(2, known: 1)))
                #expect(await eventually { server[app]?.bytes == later })
            }
        }
    }

    /// Has a node look at the stored documents, and returns when it has: of three statements about them, one after the
    /// other, the last is of another look than the first.
    private static func look(by node: PublishingNode, in database: TestDatabase) async throws {
        for _ in 0..<3 {
            let now = try await database.query("SELECT clock_timestamp()::text").only.text(0)
            try await database.query("SELECT pg_notify('pinledger_document', '')")
            let isLooking = try await eventually {
                try await !database.query(
                    """
                    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1
                        AND query LIKE '%FROM pinledger.document%' AND query_start > $2::timestamptz
                    """, [.text("\(node.node.name)-pool"), .text(now)]
                ).isEmpty
            }
            #expect(isLooking)
        }
    }

    /// Stores a document of the next version with a member that this program does not know, signed with the ledger's key.
    private static func forgeLaterForm(
        _ app: AppID, on node: PublishingNode, in database: TestDatabase
    ) async throws -> [UInt8] {
        let state = node.node.ledger.view.state
        let (held, active) = (try #require(node[app]), try #require(state.keys.active))
        guard case .object(var members) = try #require(state.document(of: app)).content else { return [] }
        members["note"] = "hello"
        members["version"] = .integer(held.version + 1)
        let digest = sha256(JSON.object(members).canonicalBytes)
        let (issuedAt, expiresAt) = (held.issuedAt.adding(seconds: 5), held.issuedAt.adding(seconds: 86_400))
        members["content_sha256"] = .string(Hex.encode(digest))
        members["iat"] = .integer(issuedAt.seconds)
        members["exp"] = .integer(expiresAt.seconds)
        let token = try CompactJWS.sign(
            JSON.object(members).canonicalBytes, type: Publisher.documentType, keyID: active.kid,
            key: try await node.keys.privateKey(of: active))
        try await database.query(
            """
            UPDATE pinledger.document SET version = $1, content_sha256 = $2, issued_at = $3,
                expires_at = $4, kid = $5, body = $6 WHERE app = $7
            """,
            [
                .int64(held.version + 1), .bytes(digest), .timestamp(issuedAt.microseconds),
                .timestamp(expiresAt.microseconds), .text(active.kid), .bytes(Array(token.utf8)), .text(app.text),
            ])
        return Array(token.utf8)
    }

    @Test func `a document ahead of a node is served once the node has read the ledger that far`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await PublishingNode.run(
                on: database, .with { ($0.node.name, $0.node.follows) = ("server", false) }
            ) { server in
                // The key, too, is of an event that the server has not read.
                try await signer.makeKey()
                let (app, other) = (try Sample.app(), try Sample.app())
                try await signer.execute(try Sample.create(app))
                try await server.node.follower.catchUp()
                #expect(await eventually { server[app] != nil })
                try await signer.execute(try Sample.rename(app, "x"))
                try await signer.execute(try Sample.create(other))
                #expect(try await eventually { try await Self.stored(other, in: database) != nil })
                #expect(server[app]?.version == 1 && server[other] == nil)
                try await server.node.follower.catchUp()
                #expect(await eventually { server[app]?.version == 2 && server[other] != nil })
                try server.check(app)
                try server.check(other)
            }
        }
    }

    @Test func `a database whose last event is another one takes no documents, and halts the node`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let clock = ManualClock()
        try await PublishingNode.run(
            on: database,
            .with { ($0.keyEncryptionKey, $0.node.clock, $0.node.follows) = (key, { clock.now }, false) }
        ) { node in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            let before = try node.check(app)
            #expect(try await eventually { try await Self.stored(app, in: database) != nil })
            // As after a failover to a server that did not have it, which has been written to since.
            try await database.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                UPDATE pinledger.event SET leaf_hash = sha256('another entry')
                    WHERE position = (SELECT next_position - 1 FROM pinledger.head);
                """)
            clock.advance(seconds: 30_000)
            #expect(await eventually { node.node.ledger.fault == .fork(position: node.node.ledger.position) })
            #expect(try await Self.stored(app, in: database)?.bytes == before.bytes)
        }
    }

    // MARK: Rows

    private struct Row: Sendable {
        var version: Int64
        var contentDigest: [UInt8]
        var bytes: [UInt8]
    }

    private static func stored(_ app: AppID, in database: TestDatabase) async throws -> Row? {
        try await database.query(
            "SELECT version, content_sha256, body FROM pinledger.document WHERE app = $1", [.text(app.text)]
        ).first.map { Row(version: try $0.int64(0), contentDigest: try $0.bytes(1), bytes: try $0.bytes(2)) }
    }

    /// Writes over the stored document what the ledger's own key signed and the ledger does not say.
    private static func forge(
        _ app: AppID, on node: PublishingNode, in database: TestDatabase, movingBy positions: Int64 = 0,
        _ change: (inout Document) -> Void
    ) async throws -> Row {
        let state = node.node.ledger.view.state
        let (held, active) = (try #require(node[app]), try #require(state.keys.active))
        var document = try #require(state.document(of: app))
        change(&document)
        let issuedAt = held.issuedAt.adding(seconds: 5)
        let expiresAt = issuedAt.adding(seconds: 86_400)
        let token = try CompactJWS.sign(
            document.payload(issuedAt: issuedAt, expiresAt: expiresAt), type: Publisher.documentType,
            keyID: active.kid, key: try await node.keys.privateKey(of: active))
        try await database.query(
            """
            UPDATE pinledger.document SET version = $1, position = position + $2, content_sha256 = $3, issued_at = $4,
                expires_at = $5, kid = $6, body = $7 WHERE app = $8
            """,
            [
                .int64(document.version), .int64(positions), .bytes(document.contentDigest),
                .timestamp(issuedAt.microseconds), .timestamp(expiresAt.microseconds), .text(active.kid),
                .bytes(Array(token.utf8)), .text(app.text),
            ])
        return Row(version: document.version, contentDigest: document.contentDigest, bytes: Array(token.utf8))
    }
}
