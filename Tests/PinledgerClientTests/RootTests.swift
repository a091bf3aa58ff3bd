import Crypto
import PinWire
import RootKeys
import Synchronization
import Testing

@testable import PinledgerClient

/// A service with a document and roots of trust.
final class RootService: DocumentTransport {
    private struct Content {
        var document: [UInt8]?
        var roots: [String: [UInt8]] = [:]
        var isUnchanged = false
    }

    private let content = Mutex(Content())
    let asked = Mutex<[String]>([])
    /// The header fields of the last request of each name.
    let fields = Mutex<[String: [String: String]]>([:])

    func publish(_ document: [UInt8]?) { self.content.withLock { $0.document = document } }

    /// Whether it answers 304 whatever it is asked for, and more often than that.
    func answerUnchanged(_ isUnchanged: Bool) { self.content.withLock { $0.isUnchanged = isUnchanged } }

    func publish(_ root: SignedRoot, as version: Int64? = nil) {
        self.content.withLock { $0.roots["\(version ?? root.metadata.version)"] = root.bytes }
    }

    func get(_ request: TransportRequest) -> DocumentResponse {
        let (url, limit) = (request.url, request.limit)
        let name = url.split(separator: "/").last.map(String.init) ?? ""
        self.fields.withLock { $0[name] = request.fields }
        self.asked.withLock { $0.append(name) }
        if name == "document", self.content.withLock({ $0.isUnchanged }) {
            return DocumentResponse(status: 304, body: [])
        }
        let body = self.content.withLock { name == "document" ? $0.document : $0.roots[name] }
        guard let body, body.count <= limit else { return DocumentResponse(status: 404, body: []) }
        return DocumentResponse(status: 200, body: body)
    }
}

/// A transport that a closure answers for.
private struct Routed: DocumentTransport {
    let answer: @Sendable (TransportRequest) async throws -> DocumentResponse

    func get(_ request: TransportRequest) async throws -> DocumentResponse { try await self.answer(request) }
}

@Suite("The root of trust of an app")
struct RootTests {
    private let old = Signer()
    private let new = Signer()
    private static let end = Timestamp(seconds: 1_924_992_000)

    private func root(
        _ version: Int64, _ keys: [Signer], people: [String] = ["Ada", "Bob"], signedBy: [String]? = nil,
        until end: Timestamp = Self.end
    ) throws -> SignedRoot {
        try .made(
            version, people: people, documents: keys.map { Array($0.key.publicKey.rawRepresentation) }, expiresAt: end,
            signedBy: signedBy)
    }

    /// - Parameter looks: Whether each fetch asks for the next root.
    private func client(
        _ service: RootService, ships root: SignedRoot, store: any ClientStore = MemoryStore(), builtin: [UInt8]? = nil,
        at now: Timestamp = Fixed.now, looks: Bool = false
    ) async throws -> PinledgerClient {
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try TrustAnchors(root: root.bytes),
            services: try Fixed.services("https://pins.example.com"), withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        configuration.builtinDocument = builtin
        let client = PinledgerClient(
            configuration, store: store, transport: service, clock: { now }, random: { $0.lowerBound })
        await client.pretend(looks: looks)
        return client
    }

    private func cause(_ refresh: () async throws -> PinledgerClient.Refresh) async -> RefreshFailure.Cause? {
        do {
            _ = try await refresh()
            return nil
        } catch { return (error as? RefreshFailure)?.troubles.first?.cause }
    }

    @Test func `a document of a key that only the next root has is taken with that root`() async throws {
        let service = RootService()
        let client = try await self.client(service, ships: try self.root(1, [self.old]))
        service.publish(try self.old.sign(Fixed.document(7)))
        #expect(try await client.refreshAndLook() == .replaced(version: 7))
        service.publish(try self.new.sign(Fixed.document(8)))
        // The root is not there yet: what is held stays.
        #expect(await self.cause(client.refreshAndLook) == .refused(.unknownKey))
        #expect(client.policy.document?.version == 7)
        service.publish(try self.root(2, [self.old, self.new]))
        service.publish(try self.root(3, [self.new]))
        #expect(try await client.refreshAndLook() == .replaced(version: 8))
        #expect(await client.root?.version == 3)
    }

    @Test func `a key that the next root leaves out is revoked, with the version that its thief has signed`()
        async throws
    {
        let service = RootService()
        let client = try await self.client(service, ships: try self.root(1, [self.old]), looks: true)
        service.publish(try self.old.sign(Fixed.document(JSON.largestInteger)))
        try await client.refreshAndLook()
        service.publish(try self.root(2, [self.new]))
        service.publish(try self.new.sign(Fixed.document(8)))
        #expect(try await client.refreshAndLook() == .replaced(version: 8))
        service.publish(try self.old.sign(Fixed.document(9)))
        #expect(await self.cause(client.refreshAndLook) == .refused(.unknownKey))
        #expect(client.policy.document?.version == 8)
    }

    @Test func `a held document of a revoked key judges on until there is another one, of any version`() async throws {
        let (service, store) = (RootService(), MemoryStore())
        let shipped = try self.root(1, [self.old, self.new])
        let client = try await self.client(service, ships: shipped, store: store, looks: true)
        service.publish(try self.old.sign(Fixed.document(7)))
        try await client.refreshAndLook()
        let before = store.read()
        // Someone lets the root through, and no document.
        service.publish(try self.root(2, [self.new]))
        service.publish(nil)
        #expect(await self.cause(client.refreshAndLook) == .status(404))
        #expect(client.policy.document?.version == 7)
        #expect(await client.root?.version == 2)
        // Nor does the next process begin without pins.
        #expect(store.read() == before)
        let next = try await self.client(service, ships: shipped, store: store)
        _ = await next.load()
        #expect(next.policy.document?.version == 7)
        service.publish(try self.new.sign(Fixed.document(3)))
        #expect(try await client.refreshAndLook() == .replaced(version: 3))
        #expect(StoredState(try #require(store.read())).roots.count == 1)
    }

    @Test func `a service cannot keep a document of a revoked key by saying that nothing has changed`() async throws {
        let service = RootService()
        let client = try await self.client(service, ships: try self.root(1, [self.old, self.new]), looks: true)
        service.publish(try self.old.sign(Fixed.document(7)))
        try await client.refreshAndLook()
        #expect(service.fields.withLock { $0["document"]?["If-None-Match"] } == nil)
        _ = await self.cause(client.refreshAndLook)
        #expect(service.fields.withLock { $0["document"]?["If-None-Match"] } != nil)
        service.publish(try self.root(2, [self.new]))
        service.publish(nil)
        _ = await self.cause(client.refreshAndLook)
        #expect(service.fields.withLock { $0["document"]?["If-None-Match"] } == nil)
        service.answerUnchanged(true)
        #expect(await self.cause(client.refreshAndLook) == .status(304))
        service.answerUnchanged(false)
        service.publish(try self.new.sign(Fixed.document(3)))
        #expect(try await client.refreshAndLook() == .replaced(version: 3))
    }

    @Test func `the document that ships with the app is looked at by the newest root that is stored`() async throws {
        let (service, store) = (RootService(), MemoryStore())
        let shipped = try self.root(1, [self.old])
        service.publish(try self.root(2, [self.new]))
        service.publish(try self.new.sign(Fixed.document(7)))
        try await self.client(service, ships: shipped, store: store).refreshAndLook()
        let client = try await self.client(
            RootService(), ships: shipped, store: store, builtin: try self.old.sign(Fixed.document(9)))
        #expect(await client.load().builtin == .unknownKey)
        #expect(client.policy.document?.version == 7)
    }

    static let refused:
        [(name: String, people: [String], signers: [String], version: Int64, failure: RootOfTrust.Failure)] = [
            ("signed by strangers", ["Eve", "Mallory"], ["Eve", "Mallory"], 2, .missingSignatures),
            ("signed by one", ["Ada", "Bob"], ["Ada"], 2, .missingSignatures),
            ("the present one again", ["Ada", "Bob"], ["Ada", "Bob"], 1, .otherVersion),
            ("a later one", ["Ada", "Bob"], ["Ada", "Bob"], 3, .otherVersion),
        ]

    @Test(arguments: Self.refused)
    func `a root that does not follow changes nothing`(
        name: String, people: [String], signers: [String], version: Int64, failure: RootOfTrust.Failure
    ) async throws {
        let service = RootService()
        let client = try await self.client(service, ships: try self.root(1, [self.old]), looks: true)
        service.publish(try self.old.sign(Fixed.document(7)))
        service.publish(try self.root(version, [self.new], people: people, signedBy: signers), as: 2)
        #expect(try await client.refreshAndLook() == .replaced(version: 7), "\(name)")
        #expect(await client.rootFailure == failure)
        #expect(await client.root?.version == 1)
        #expect(client.policy.document?.keyID == self.old.keyID)
    }

    @Test func `a store keeps roots and document for the next process`() async throws {
        let (service, store) = (RootService(), MemoryStore())
        let shipped = try self.root(1, [self.old])
        service.publish(try self.root(2, [self.old, self.new]))
        service.publish(try self.root(3, [self.new]))
        service.publish(try self.new.sign(Fixed.document(7)))
        let first = try await self.client(service, ships: shipped, store: store)
        try await first.refreshAndLook()
        let second = try await self.client(RootService(), ships: shipped, store: store)
        #expect(await second.load() == PinledgerClient.LoadOutcome(version: 7))
        #expect(await second.root?.version == 3)
        #expect(second.policy.document?.version == 7)
        // A newer release ships a root that is among them.
        let updated = try await self.client(RootService(), ships: try self.root(2, [self.old, self.new]), store: store)
        _ = await updated.load()
        #expect(await updated.root?.version == 3)
        #expect(updated.policy.document?.version == 7)
    }

    @Test func `a store that was altered gives no root and no document that was not signed`() async throws {
        let (service, store) = (RootService(), MemoryStore())
        let shipped = try self.root(1, [self.old])
        service.publish(try self.root(2, [self.new]))
        service.publish(try self.new.sign(Fixed.document(7)))
        try await self.client(service, ships: shipped, store: store).refreshAndLook()
        let sound = try #require(store.read())
        for place in stride(from: 0, to: sound.count, by: 3) {
            var altered = sound
            altered[place] ^= 0x04
            let client = try await self.client(RootService(), ships: shipped, store: MemoryStore(altered))
            _ = await client.load()
            let (root, held) = (await client.root?.version, client.policy.document)
            #expect(root == 1 || root == 2)
            #expect(held == nil || (root == 2 && held?.version == 7), "\(place)")
        }
        for count in stride(from: 0, to: sound.count, by: 7) {
            let client = try await self.client(
                RootService(), ships: shipped, store: MemoryStore(Array(sound[..<count])))
            _ = await client.load()
            #expect(client.policy.document == nil)
        }
    }

    @Test func `a root that has ended lets no document in until the next one is there`() async throws {
        let service = RootService()
        let shipped = try self.root(1, [self.old], until: Timestamp(seconds: Fixed.now.seconds + 1))
        let store = MemoryStore()
        service.publish(try self.old.sign(Fixed.document(7)))
        try await self.client(service, ships: shipped, store: store).refreshAndLook()
        let later = Fixed.now.adding(seconds: 1)
        let client = try await self.client(service, ships: shipped, store: store, at: later)
        service.publish(try self.old.sign(Fixed.document(8)))
        #expect(await self.cause(client.refreshAndLook) == .refused(.rootExpired))
        #expect(client.policy.document?.version == 7)
        service.publish(try self.root(2, [self.old]))
        #expect(try await client.refreshAndLook() == .replaced(version: 8))
    }

    @Test func `a fetch asks for the next root now and then, and always for keys that it does not know`() async throws {
        let service = RootService()
        service.publish(try self.old.sign(Fixed.document(7)))
        let client = try await self.client(service, ships: try self.root(1, [self.old]))
        try await client.refreshAndLook()
        #expect(service.asked.withLock { $0 } == ["document"])
        service.publish(try self.new.sign(Fixed.document(8)))
        _ = await self.cause(client.refreshAndLook)
        #expect(service.asked.withLock { $0 } == ["document", "document", "2"])
        let looking = try await self.client(service, ships: try self.root(1, [self.new]), looks: true)
        try await looking.refreshAndLook()
        #expect(service.asked.withLock { Array($0.dropFirst(3)) } == ["document", "2"])
    }

    @Test func `one fetch takes over no more than 64 roots`() async throws {
        let service = RootService()
        for version in Int64(2)...70 { service.publish(try self.root(version, [self.old])) }
        service.publish(try self.old.sign(Fixed.document(7)))
        let store = MemoryStore()
        let client = try await self.client(service, ships: try self.root(1, [self.old]), store: store, looks: true)
        try await client.refreshAndLook()
        #expect(await client.root?.version == 65)
        try await client.refreshAndLook()
        #expect(await client.root?.version == 70)
        // All of them are needed to verify the last one.
        #expect(StoredState(try #require(store.read())).roots.count == 69)
        let next = try await self.client(RootService(), ships: try self.root(1, [self.old]), store: store)
        _ = await next.load()
        #expect(await next.root?.version == 70)
    }

    @Test func `a store holds all roots that it may, and no more are taken over`() async throws {
        let service = RootService()
        for version in Int64(2)...260 { service.publish(try self.root(version, [self.old])) }
        service.publish(try self.old.sign(Fixed.document(7)))
        let store = MemoryStore()
        let client = try await self.client(service, ships: try self.root(1, [self.old]), store: store, looks: true)
        for _ in 0..<6 { try await client.refreshAndLook() }
        #expect(await client.root?.version == 257)
        let next = try await self.client(RootService(), ships: try self.root(1, [self.old]), store: store)
        _ = await next.load()
        #expect(await next.root?.version == 257)
        #expect(next.policy.document?.version == 7)
    }

    /// The services of one address each.
    private struct Two: DocumentTransport {
        let services: [String: RootService]

        func get(_ request: TransportRequest) -> DocumentResponse {
            let service = self.services.first { request.url.hasPrefix($0.key) }?.value
            return service?.get(request)
                ?? DocumentResponse(status: 404, body: [])
        }
    }

    @Test func `a service that hides the next root hides none that another service has`() async throws {
        let (liar, honest) = (RootService(), RootService())
        let configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer,
            anchors: try TrustAnchors(root: try self.root(1, [self.old, self.new]).bytes),
            services: try Fixed.services("https://liar.example", "https://honest.example"),
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        let client = PinledgerClient(
            configuration, store: MemoryStore(),
            transport: Two(services: ["https://liar.example": liar, "https://honest.example": honest]),
            clock: { Fixed.now }, random: { $0.lowerBound })
        liar.publish(try self.old.sign(Fixed.document(7)))
        honest.publish(try self.new.sign(Fixed.document(6)))
        honest.publish(try self.root(2, [self.new]))
        #expect(try await client.refreshAndLook() == .replaced(version: 7))
        #expect(await client.root?.version == 2)
        #expect(client.policy.document?.version == 6)
    }

    @Test func `a store that is read late takes no pins away`() async throws {
        let (service, store) = (RootService(), LockedStore(nil))
        let client = try await self.client(service, ships: try self.root(1, [self.old]), store: store, looks: true)
        service.publish(try self.old.sign(Fixed.document(7)))
        try await client.refreshAndLook()
        service.publish(try self.root(2, [self.new]))
        service.publish(nil)
        _ = await self.cause(client.refreshAndLook)
        store.unlock()
        _ = await self.cause(client.refreshAndLook)
        #expect(client.policy.document?.version == 7)
    }

    @Test func `a process asks for the next root with its first fetch and again each half hour`() async throws {
        let service = RootService()
        let configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer,
            anchors: try TrustAnchors(root: try self.root(1, [self.old]).bytes),
            services: try Fixed.services("https://pins.example.com"), withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        let client = PinledgerClient(configuration, store: MemoryStore(), transport: service, clock: { Fixed.now })
        service.publish(try self.old.sign(Fixed.document(7)))
        for _ in 1...3 { try await client.refreshAndLook() }
        #expect(service.asked.withLock { $0 } == ["document", "2", "document", "document"])
        await client.pretend(lookedAgo: .seconds(1500))
        try await client.refreshAndLook()
        await client.pretend(lookedAgo: .seconds(1801))
        try await client.refreshAndLook()
        #expect(service.asked.withLock { $0 }.dropFirst(4) == ["document", "document", "2"])
    }

    @Test func `a look that nothing has called for holds up no fetch, and leaves out a service that is down`()
        async throws
    {
        let (slow, service) = (SlowService(), RootService())
        let configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer,
            anchors: try TrustAnchors(root: try self.root(1, [self.old]).bytes),
            services: try Fixed.services("https://down.example", "https://up.example", "https://slow.example"),
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        let asked = Mutex<[String]>([])
        let transport = Routed { request in
            asked.withLock { $0.append(request.url) }
            if request.url.hasPrefix("https://down.example") { throw CancellationError() }
            return request.url.hasPrefix("https://slow.example")
                ? try await slow.get(request) : service.get(request)
        }
        let client = PinledgerClient(configuration, store: MemoryStore(), transport: transport, clock: { Fixed.now })
        service.publish(try self.old.sign(Fixed.document(7)))
        #expect(try await client.refresh() == .replaced(version: 7))
        // The slow service is asked meanwhile, and holds up nothing.
        #expect(try await client.refresh() == .unchanged)
        let looked = await client.rootLook
        slow.answer([])
        await looked?.value
        let roots = asked.withLock { $0.filter { $0.hasSuffix("/roots/2") } }
        #expect(roots == ["https://up.example/client/v1/roots/2", "https://slow.example/client/v1/roots/2"])
    }

    @Test func `an app with a JWK Set asks for no root`() async throws {
        let service = RootService()
        service.publish(try self.old.sign(Fixed.document(7)))
        let configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.old),
            services: try Fixed.services("https://pins.example.com"), withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        let client = PinledgerClient(
            configuration, store: MemoryStore(), transport: service, clock: { Fixed.now }, random: { $0.lowerBound })
        try await client.refreshAndLook()
        #expect(service.asked.withLock { $0 } == ["document"])
        #expect(await client.root == nil)
    }
}

extension PinledgerClient {
    /// Refreshes, and waits for the look for the next root that comes with it.
    @discardableResult
    fileprivate func refreshAndLook() async throws -> Refresh {
        do {
            let refresh = try await self.refresh()
            await self.rootLook?.value
            return refresh
        } catch {
            await self.rootLook?.value
            throw error
        }
    }

    /// Puts the last look for a root back in time.
    fileprivate func pretend(lookedAgo time: Duration) {
        self.lastRootLook = ContinuousClock.now.advanced(by: .zero - time)
    }

    /// Lets each fetch ask for the next root, or none that nothing calls for.
    fileprivate func pretend(looks: Bool) {
        self.rootPause = looks ? .zero : .seconds(86_400)
        self.lastRootLook = .now
    }
}
