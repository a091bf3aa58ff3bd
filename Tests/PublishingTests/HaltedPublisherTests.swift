import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Synchronization
import Testing

@testable import Publishing

/// What a publisher does while it starts, and after the node has halted.
@Suite(.database, .timeLimit(.minutes(60)))
struct HaltedPublisherTests {
    /// Who has done what was waited for.
    private final class Flags: Sendable {
        let names = Mutex<Set<String>>([])
    }

    @Test func `no request waits for a publication that a fault or a cancellation prevents`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let publisher = node.publisher
            let done = Flags()
            func wait(as name: String) -> Task<Void, Never> {
                Task {
                    await publisher.waitForPublication(through: .max - 1)
                    done.names.withLock { _ = $0.insert(name) }
                }
            }
            func isDone(_ name: String) -> Bool { done.names.withLock { $0.contains(name) } }
            let (first, second) = (wait(as: "first"), wait(as: "second"))
            // Others are published meanwhile.
            try await node.makeKey()
            try await node.execute(try Sample.create(try Sample.app()))
            await publisher.waitForPublication(through: node.node.ledger.position)
            #expect(!isDone("first") && !isDone("second"))
            first.cancel()
            #expect(await eventually { isDone("first") })
            #expect(!isDone("second"))
            // As between the commit of a change and its taking in.
            node.node.ledger.halt(.fork(position: 1))
            #expect(await eventually { isDone("second") })
            await publisher.waitForPublication(through: .max - 1)
            await second.value
        }
    }

    /// Faults of a node that has followed the ledger, and whether what other nodes publish then is of the history that it has served.
    @Test(arguments: [
        (LedgerFault.fork(position: 3), false), (.shrunk(from: 3, to: 2), false), (.streamVersion(position: 3), false),
        (.unauthenticated(from: 3, to: 4, .otherKey), true), (.leafHash(position: 3), true),
    ])
    func `a halted node takes no document of another history`(fault: LedgerFault, isTaken: Bool) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let (changed, renewed) = (try Sample.app(), try Sample.app())
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            for app in [changed, renewed] { try await signer.execute(try Sample.create(app)) }
            try await PublishingNode.run(on: database, .with { $0.node.name = "reader" }) { reader in
                #expect(await eventually { reader[changed] != nil && reader[renewed] != nil })
                try await reader.node.follower.catchUp()
                let served = try #require(reader[changed])
                reader.node.ledger.halt(fault)
                try await signer.execute(try Sample.rename(changed, "x"))
                // A renewal says nothing new.
                let renewal = try await Self.renewal(of: renewed, by: signer)
                #expect(await eventually { reader[renewed]?.issuedAt == renewal.issuedAt })
                if isTaken {
                    #expect(await eventually { reader[changed]?.version == 2 })
                } else {
                    #expect(
                        try await eventually {
                            let new = try #require(signer[changed])
                            return !reader.publisher.table.wants(changed, new.version, new.issuedAt)
                        })
                    #expect(reader[changed]?.bytes == served.bytes)
                }
            }
        }
    }

    /// Stores the present document of an app with a later time.
    private static func renewal(of app: AppID, by node: PublishingNode) async throws -> PublishedDocument {
        let state = node.node.ledger.view.state
        let (document, active) = (try #require(state.document(of: app)), try #require(state.keys.active))
        let issuedAt = Timestamp(seconds: Timestamp.wall.seconds + 30)
        let expiresAt = issuedAt.adding(seconds: 86_400)
        let token = try CompactJWS.sign(
            document.payload(issuedAt: issuedAt, expiresAt: expiresAt), type: Publisher.documentType,
            keyID: active.kid, key: try await node.keys.privateKey(of: active))
        let signed = DocumentStore.Signed(
            app: app, version: document.version, position: node.node.ledger.position,
            contentDigest: document.contentDigest, issuedAt: issuedAt, expiresAt: expiresAt, keyID: active.kid,
            body: Array(token.utf8))
        _ = try await DocumentStore(pool: node.node.pool).publish([
            DocumentStore.Outgoing(document: signed, leaf: node.node.ledger.view.lastLeafHash)
        ])
        return signed.published
    }

    @Test func `a node that has halted erases no private keys`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            try await node.makeKey()
            var request = try Sample.request(.keys(.retire(kid: kid)), reason: "test")
            request.origin.isForced = true
            try await node.execute(request)
            func isStored() async throws -> Bool {
                try await database.query(
                    "SELECT FROM pinledger.signing_secret WHERE kid = $1", [.text(kid)]
                ).count == 1
            }
            node.node.ledger.halt(.fork(position: 1))
            await node.publisher.eraseRetiredKeys()
            #expect(try await isStored())
        }
        // What holds it back is the fault, and nothing else.
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            #expect(await eventually { node.node.ledger.view.state.keys.keys.count == 2 })
            await node.publisher.eraseRetiredKeys()
            let left = try await database.query("SELECT count(*) FROM pinledger.signing_secret").only.int64(0)
            #expect(left == 1)
        }
    }

    @Test func `documents that are behind the ledger at the start are held back until they are signed`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let (changed, same) = (try Sample.app(), try Sample.app())
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            for app in [changed, same] { try await node.execute(try Sample.create(app)) }
        }
        // Recorded, and perhaps served, by a process that was killed before it stored the document.
        let view = try await TestNode.run(on: database) { node in
            _ = try await node.insist(try Sample.rename(changed, "x"))
            return try await node.fullFold()
        }
        try await TestNode.run(on: database, .with { ($0.view, $0.follows) = (view, false) }) { node in
            func publisher(canSign: Bool) async throws -> Publisher {
                let publisher = Publisher(
                    ledger: node.ledger,
                    keys: SigningKeys(pool: node.pool, keyEncryptionKeys: canSign ? KeyEncryptionKeys(key) : nil),
                    pool: node.pool, listener: PostgresListener(configuration: node.pool.configuration, channels: []),
                    schedule: .init(), table: DocumentTable(clock: { .wall }), logger: node.logger, clock: { .wall })
                _ = try await publisher.load()
                return publisher
            }
            // Who never signed never served what was not stored.
            let reader = try await publisher(canSign: false)
            await reader.prepare(within: .zero)
            #expect(reader.table[changed]?.version == 1)
            let signer = try await publisher(canSign: true)
            await signer.prepare(within: .zero)
            #expect(signer.table[changed] == nil)
            #expect(signer.table[same]?.version == 1)
            await signer.prepare(within: .seconds(60))
            #expect(signer.table[changed]?.version == 2)
            // What is there is the best there is, once nothing more is signed.
            let halting = try await publisher(canSign: true)
            await halting.prepare(within: .zero)
            #expect(halting.table[changed] == nil)
            node.ledger.halt(.fork(position: 1))
            let task = Task { await halting.run() }
            #expect(await eventually { halting.table[changed] != nil })
            task.cancel()
            await task.value
        }
    }
}
