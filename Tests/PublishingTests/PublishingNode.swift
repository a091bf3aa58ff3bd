import EventStore
import Exposition
import Fixtures
import Keys
import NIOCore
import PinWire
import Pinning
import Postgres
import Secrets
import Testing

@testable import Publishing

/// A node that publishes: signing keys, publisher and table beside the ledger.
struct PublishingNode: Sendable {
    let node: TestNode
    let keys: SigningKeys
    let publisher: Publisher

    struct Setup: Sendable {
        var node = TestNode.Setup()
        /// Nil for a node that only serves.
        var keyEncryptionKey: KeyEncryptionKey?
        var schedule = Publisher.Schedule()
        var metrics = MetricRegistry()
        /// The documents that it has kept itself, and remembers having served.
        var kept: Publisher.KeptSource?

        static func with(_ change: (inout Setup) -> Void) -> Setup {
            var setup = Setup()
            change(&setup)
            return setup
        }
    }

    static func run<R>(
        on database: TestDatabase, _ setup: Setup, _ body: (PublishingNode) async throws -> R
    ) async throws -> R {
        try await TestNode.run(on: database, setup.node) { node in
            let keys = SigningKeys(
                pool: node.pool, keyEncryptionKeys: setup.keyEncryptionKey.map { KeyEncryptionKeys($0) })
            let publisher = Publisher(
                ledger: node.ledger, keys: keys, pool: node.pool,
                listener: PostgresListener(
                    configuration: try database.configuration(as: setup.node.user, applicationName: "documents"),
                    channels: [Publisher.channel], pollInterval: setup.node.pollInterval
                ),
                schedule: setup.schedule, table: DocumentTable(clock: setup.node.clock), logger: node.logger,
                metrics: setup.metrics,
                clock: setup.node.clock
            )
            if let kept = setup.kept {
                publisher.table.remember(kept.remembered, isStrict: false)
                await publisher.fallBack(on: kept)
            }
            _ = try await publisher.load()
            let task = Task { await publisher.run() }
            let result: Result<R, any Error>
            do {
                result = .success(try await body(PublishingNode(node: node, keys: keys, publisher: publisher)))
            } catch {
                result = .failure(error)
            }
            task.cancel()
            await task.value
            return try result.get()
        }
    }

    subscript(_ app: AppID) -> PublishedDocument? { self.publisher.table[app] }

    /// Executes and waits until what came of it is published.
    @discardableResult
    func execute(_ request: CommandRequest) async throws -> Recorded {
        let recorded = try await self.node.writer.execute(request)
        await self.publisher.waitForPublication(of: recorded, in: request.command.stream)
        return recorded
    }

    /// Makes a signing key and puts it to use.
    @discardableResult
    func makeKey() async throws -> String {
        let key = try await self.keys.create()
        try await self.execute(try Sample.request(.keys(.create(kid: key.keyID, publicKey: key.bytes))))
        if self.node.ledger.view.state.keys.activeKeyID != key.keyID {
            var request = try Sample.request(.keys(.activate(kid: key.keyID)), reason: "test")
            request.origin.isForced = true
            try await self.execute(request)
        }
        return key.keyID
    }

    /// The keys that clients trust.
    var trusted: [JWK] {
        self.node.ledger.view.state.keys.keys.values.filter(\.isInKeySet)
            .compactMap { Ed25519PublicKey($0.publicKey) }.map { JWK($0) }
    }

    /// Checks that the document in place is the state's, well signed, and returns it.
    @discardableResult
    func check(_ app: AppID) throws -> PublishedDocument {
        let held = try #require(self[app])
        let state = self.node.ledger.view.state
        let document = try #require(state.document(of: app))
        #expect(held.version == document.version)
        #expect(held.version == state.documentVersion(of: app))
        #expect(held.contentDigest == document.contentDigest)
        let payload = try CompactJWS.verify(held.text, type: Publisher.documentType, trusting: self.trusted)
        #expect(payload == document.payload(issuedAt: held.issuedAt, expiresAt: held.expiresAt))
        #expect(try CompactJWS(parsing: held.text, type: Publisher.documentType).keyID == held.keyID)
        return held
    }
}

extension PublishedDocument {
    /// The served bytes.
    var bytes: [UInt8] { Array(self.body.identity.bytes.readableBytesView) }
    var text: String { String(decoding: self.bytes, as: UTF8.self) }
}

extension KeyEncryptionKey {
    static func random() throws -> KeyEncryptionKey {
        try KeyEncryptionKey((0..<32).map { _ in UInt8.random(in: 0...255) })
    }
}
