import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Publishing
import Secrets
import Testing

/// What nodes serve that did not sign it.
@Suite(.database, .timeLimit(.minutes(60)))
struct ServingTests {
    @Test(arguments: [TestDatabase.User.app, .reader])
    func `a node without a key-encryption key serves what another signs`(user: TestDatabase.User) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let early = try Sample.app()
            try await signer.execute(try Sample.create(early, hosts: 1))
            try await PublishingNode.run(on: database, .with { ($0.node.name, $0.node.user) = ("server", user) }) {
                server in
                #expect(await eventually { server[early]?.bytes == signer[early]?.bytes })
                let app = try Sample.app()
                for request in [try Sample.create(app, hosts: 1), try Sample.rename(app, "x")] {
                    let recorded = try await signer.execute(request)
                    #expect(await eventually { server[app]?.version == recorded.streamVersion })
                    #expect(server[app]?.bytes == signer[app]?.bytes)
                }
                #expect(await eventually { server.node.ledger.position == signer.node.ledger.position })
                try server.check(app)
                // Does not wait for what it never does.
                await server.publisher.waitForPublication(through: .max)
            }
        }
    }

    @Test func `a reader's node can write nothing`() async throws {
        try await PublishingNode.run(on: try TestDatabase.current, .with { $0.node.user = .reader }) { server in
            let app = try Sample.app()
            await #expect(throws: WriteFailure.self) { try await server.node.writer.execute(try Sample.create(app)) }
            await #expect(throws: SigningKeys.Unavailable.noKeyEncryptionKey) { try await server.keys.create() }
        }
    }

    @Test func `a change that a node without a key records is signed by another`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            try await PublishingNode.run(on: database, .with { $0.node.name = "other" }) { other in
                let app = try Sample.app()
                #expect(await eventually { other.node.ledger.position == signer.node.ledger.position })
                try await other.execute(try Sample.create(app, hosts: 1))
                #expect(await eventually { other[app] != nil })
                try other.check(app)
            }
        }
    }

    @Test func `stored documents are found even where notifications are lost`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let app = try Sample.app()
            try await signer.execute(try Sample.create(app))
            try await PublishingNode.run(on: database, .with { $0.node.name = "server" }) { server in
                for number in 0..<3 {
                    try await database.terminate("documents")
                    let recorded = try await signer.execute(try Sample.rename(app, "n\(number)"))
                    #expect(await eventually { server[app]?.version == recorded.streamVersion })
                }
            }
        }
    }

    @Test func `a node that could sign serves the same bytes after a restart, too`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let app = try Sample.app()
        let bytes = try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            try await node.execute(try Sample.create(app, hosts: 1))
            return try node.check(app).bytes
        }
        for held in [nil, key] {
            try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = held }) { node in
                // As soon as the node has read the ledger up to the document's position.
                #expect(await eventually { node[app] != nil })
                #expect(node[app]?.bytes == bytes)
                let other = try Sample.app()
                if held != nil {
                    // By when this is published, the first sweep has been over everything.
                    #expect(await eventually { node.node.ledger.position > 0 })
                    try await node.execute(try Sample.create(other))
                    try node.check(other)
                }
                #expect(node[app]?.bytes == bytes)
            }
        }
    }

    @Test func `a change whose node died between commit and publication is published after the next start`()
        async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { _ = try await $0.makeKey() }
        let app = try Sample.app()
        try await TestNode.run(on: database) { _ = try await $0.insist(try Sample.create(app, key: "k")) }
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            #expect(await eventually { node[app] != nil })
            try node.check(app)
        }
    }

    @Test func `a node never serves an older document, whatever is done to the table`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let (app, other) = (try Sample.app(), try Sample.app())
            try await signer.execute(try Sample.create(app))
            let old = try signer.check(app)
            try await signer.execute(try Sample.rename(app, "x"))
            try await PublishingNode.run(on: database, .with { $0.node.name = "server" }) { server in
                #expect(await eventually { server[app]?.version == 2 })
                let new = try #require(server[app])
                try await database.query(
                    "UPDATE pinledger.document SET version = 1, body = $1, issued_at = now() + interval '1 hour' WHERE app = $2",
                    [.bytes(old.bytes), .text(app.text)]
                )
                try await database.query("SELECT pg_notify('pinledger_document', $1)", [.text(app.text)])
                // The next notification is heard after it.
                try await signer.execute(try Sample.create(other))
                #expect(await eventually { server[other] != nil })
                #expect(server[app]?.bytes == new.bytes)
            }
        }
    }

    @Test
    func `a node with another key-encryption key goes on serving, and keeps reporting the mismatch at intervals`()
        async throws
    {
        let database = try TestDatabase.current
        let (key, wrong) = (try KeyEncryptionKey.random(), try KeyEncryptionKey.random())
        let log = LogRecorder()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            let kid = try await signer.makeKey()
            let app = try Sample.app()
            try await signer.execute(try Sample.create(app))
            try await PublishingNode.run(
                on: database,
                .with { ($0.keyEncryptionKey, $0.node.name, $0.node.logger) = (wrong, "wrong", log.logger) }
            ) { other in
                #expect(await eventually { other.node.ledger.position == signer.node.ledger.position })
                try await other.execute(try Sample.rename(app, "x"))
                #expect(await eventually { other[app]?.version == 2 })
                let active = try #require(other.node.ledger.view.state.keys.active)
                await #expect(
                    throws: SigningKeys.Unavailable.cannotOpen(
                        kid, .otherKeyEncryptionKey(sealedWith: key.id, given: wrong.id)
                    )
                ) { try await other.keys.privateKey(of: active) }
                #expect(log.text.contains { $0.contains("cannot be opened") })
            }
        }
    }

    @Test func `an erased private half is missing, and its public half stays`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            let active = try #require(node.node.ledger.view.state.keys.active)
            #expect(try await node.keys.privateKey(of: active).publicKey.keyID == kid)
            try await node.keys.erase(kid)
            await #expect(throws: SigningKeys.Unavailable.missing(kid)) { try await node.keys.privateKey(of: active) }
            #expect(node.node.ledger.view.state.keys.keys[kid]?.publicKey == active.publicKey)
        }
    }
}
