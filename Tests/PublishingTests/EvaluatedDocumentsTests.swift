import EventStore
import Fixtures
import Keys
import NIOCore
import PinWire
import Pinning
import Postgres
import Publishing
import Testing

/// What is signed for single devices, and for how long it is kept.
@Suite(.database, .timeLimit(.minutes(60)))
struct EvaluatedDocumentsTests {
    /// A kept variant; every one that is made is another.
    final class Kept: Sendable {
        let body: PreparedBody

        init(_ body: PreparedBody) { self.body = body }

        var text: String { String(decoding: self.body.identity.bytes.readableBytesView, as: UTF8.self) }
    }

    private static func documents(of node: PublishingNode, byteLimit: Int = 1 << 20) -> EvaluatedDocuments<Kept> {
        EvaluatedDocuments(
            documents: node.publisher.table, signer: EvaluatedSigner(ledger: node.node.ledger, keys: node.keys),
            byteLimit: byteLimit
        ) { _, body in Kept(body) }
    }

    private static func running<R>(_ body: (PublishingNode) async throws -> R) async throws -> R {
        let key = try KeyEncryptionKey.random()
        return try await PublishingNode.run(on: try TestDatabase.current, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            return try await body(node)
        }
    }

    @Test func `a variant has the times of its document, is made once, and is dropped with it`() async throws {
        try await Self.running { node in
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 2))
            let documents = Self.documents(of: node)
            #expect(documents.ready(app.text) == nil)
            let first = try #require(try await documents.answer(app.text, for: Device()))
            let again = try #require(try await documents.answer(app.text, for: Device(appVersion: "2.0")))
            #expect(first === again)
            let source = try #require(documents.ready(app.text))
            #expect(source[source.evaluator.resolution(for: Device(country: "DE"))] === first)

            let payload = try CompactJWS.verify(
                first.text, type: EvaluatedSigner.documentType, trusting: node.trusted)
            let issued = try IssuedDocument(payload: payload)
            let held = try node.check(app)
            #expect(issued.document.evaluatedFrom == held.contentDigest)
            #expect(issued.issuedAt == held.issuedAt && issued.expiresAt == held.expiresAt)
            #expect(issued.document.version == held.version)
            // One kind of document cannot be passed off as the other.
            #expect(throws: CompactJWS.Invalid.wrongType) {
                try CompactJWS.verify(first.text, type: Publisher.documentType, trusting: node.trusted)
            }

            let recorded = try await node.execute(try Sample.rename(app, "x"))
            #expect(documents.ready(app.text) == nil)
            let next = try #require(try await documents.answer(app.text, for: Device()))
            let version = try IssuedDocument(
                payload: try CompactJWS.verify(
                    next.text, type: EvaluatedSigner.documentType, trusting: node.trusted)
            ).document.version
            #expect(next !== first && version >= recorded.streamVersion)
        }
    }

    @Test func `an app without a document has none`() async throws {
        try await Self.running { node in
            let answer = try await Self.documents(of: node).answer("com.example.nobody", for: Device())
            #expect(answer == nil)
        }
    }

    @Test func `the cache of variants keeps no more than there is room for`() async throws {
        try await Self.running { node in
            let apps = try (0..<4).map { _ in try Sample.app() }
            for app in apps { try await node.execute(try Sample.create(app, hosts: 2)) }
            let size = try #require(node[apps[0]]).bytes.count
            // Room for two documents, each with one variant.
            let documents = Self.documents(of: node, byteLimit: 14 * size)
            for app in apps { _ = try await documents.answer(app.text, for: Device()) }
            #expect(apps.map { documents.ready($0.text) != nil } == [false, false, true, true])
            let first = try await documents.answer(apps[0].text, for: Device())
            #expect(first != nil && documents.ready(apps[2].text) == nil)
        }
    }

    @Test func `the variants that no device asks for any more are dropped first`() async throws {
        try await Self.running { node in
            let app = try Sample.app()
            // Each device is in or out of nine rollouts by lot: some five hundred kinds.
            try await node.execute(try Sample.create(app, hosts: 9))
            try await node.execute(
                try Sample.request(
                    .app(
                        app,
                        try (0..<9).flatMap { number in
                            let host = try Sample.host("h\(number).example.com")
                            return [
                                AppCommand.startCandidate(host, mode: .enforce, copiesBaseline: true, pins: []),
                                .setHostRollout(host, Rollout(basisPoints: 5000)),
                            ]
                        })))
            let documents = Self.documents(of: node, byteLimit: 64 << 20)
            func device(_ number: Int) -> Device { Device(ids: [.deviceID: "device-\(number)"]) }
            let first = try #require(try await documents.answer(app.text, for: device(0)))
            for number in 1..<1000 {
                _ = try await documents.answer(app.text, for: device(number))
                let again = try await documents.answer(app.text, for: device(0))
                #expect(again === first)
            }
            let source = try #require(documents.ready(app.text))
            let resolutions = Set((0..<1000).map { source.evaluator.resolution(for: device($0)) })
            let kept = resolutions.filter { source[$0] != nil }.count
            #expect(resolutions.count > 400 && (192...256).contains(kept))
        }
    }

    @Test func `devices that come at once all get the one variant that is kept`() async throws {
        try await Self.running { node in
            let app = try Sample.app()
            try await node.execute(try Sample.create(app, hosts: 2))
            let documents = Self.documents(of: node)
            let texts = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        try await documents.answer(app.text, for: Device(ids: [.deviceID: "device-\(number)"]))?.text
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(texts.count == 1 && !texts.contains(nil))
        }
    }

    @Test func `a node without a key signs no variants`() async throws {
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: try TestDatabase.current, .with { $0.keyEncryptionKey = key }) { signer in
            try await signer.makeKey()
            let app = try Sample.app()
            try await signer.execute(try Sample.create(app, hosts: 1))
            try await PublishingNode.run(on: try TestDatabase.current, .with { $0.node.name = "server" }) { server in
                #expect(await eventually { server[app] != nil })
                await #expect(throws: EvaluatedUnavailable.noKey) {
                    try await Self.documents(of: server).answer(app.text, for: Device())
                }
            }
        }
    }
}
