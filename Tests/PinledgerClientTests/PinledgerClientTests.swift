import PinWire
import Synchronization
import Testing

@testable import PinledgerClient

/// Services whose answers a test sets, by their addresses.
final class Services: DocumentTransport {
    enum Answer: Sendable {
        case document([UInt8])
        case status(Int)
        case silence
    }

    struct Silence: Error {}

    private let answers = Mutex<[String: Answer]>([:])
    let requests = Mutex<[(url: String, headers: [String: String])]>([])
    /// How long each answer takes.
    let delay: Duration

    init(_ answers: [String: Answer], delay: Duration = .zero) {
        self.delay = delay
        self.answers.withLock { $0 = answers }
    }

    func set(_ service: String, _ answer: Answer) { self.answers.withLock { $0[service] = answer } }

    func get(_ request: TransportRequest) async throws -> DocumentResponse {
        let url = request.url
        self.requests.withLock { $0.append((url, request.fields)) }
        if self.delay > .zero { try await Task.sleep(for: self.delay) }
        let service = url.components(before: "/client/v1/apps/com.example.shop/document")
        switch self.answers.withLock({ $0[service] }) {
        case .document(let bytes)?: return DocumentResponse(status: 200, body: bytes)
        case .status(let status)?: return DocumentResponse(status: status, body: [])
        case .silence?, nil: throw Silence()
        }
    }
}

extension String {
    fileprivate func components(before end: String) -> String {
        self.hasSuffix(end) ? String(self.dropLast(end.count)) : self
    }
}

/// A store that fails when it is told to.
final class FailingStore: ClientStore {
    struct Failure: Error {}

    func read() throws -> [UInt8]? { throw Failure() }
    func write(_: [UInt8]) throws { throw Failure() }
}

/// A store that can be neither read nor written until it is unlocked, as a Keychain before a device's first unlock.
final class LockedStore: ClientStore {
    struct Locked: Error {}
    private let state: Mutex<(isLocked: Bool, bytes: [UInt8]?)>

    init(_ bytes: [UInt8]?) { self.state = Mutex((true, bytes)) }

    var content: [UInt8]? { self.state.withLock { $0.bytes } }
    func unlock() { self.state.withLock { $0.isLocked = false } }

    func read() throws -> [UInt8]? {
        try self.state.withLock { state in
            guard !state.isLocked else { throw Locked() }
            return state.bytes
        }
    }

    func write(_ bytes: [UInt8]) throws {
        try self.state.withLock { state in
            guard !state.isLocked else { throw Locked() }
            state.bytes = bytes
        }
    }
}

/// A store whose first write fails.
final class FailingOnce: ClientStore {
    struct Failure: Error {}
    private let state = Mutex<(hasFailed: Bool, bytes: [UInt8]?)>((false, nil))

    var stored: [UInt8]? { self.state.withLock { $0.bytes } }

    func read() -> [UInt8]? { nil }

    func write(_ bytes: [UInt8]) throws {
        try self.state.withLock { state in
            defer { state.hasFailed = true }
            guard state.hasFailed else { throw Failure() }
            state.bytes = bytes
        }
    }
}

@Suite("The client of an app", .timeLimit(.minutes(2)))
struct PinledgerClientTests {
    private let signer = Signer()
    private let one = "https://one.example.com"
    private let two = "https://two.example.com"

    private func client(
        _ services: Services, store: any ClientStore = MemoryStore(), builtin: [UInt8]? = nil,
        at now: Timestamp = Fixed.now
    ) throws -> PinledgerClient {
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
            services: try Fixed.services(self.one + "/", self.two), withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        configuration.builtinDocument = builtin
        return PinledgerClient(
            configuration, store: store, transport: services, clock: { now }, random: { $0.lowerBound })
    }

    private func signed(_ version: Int64, issued: Int64 = Fixed.issued) throws -> [UInt8] {
        try self.signer.sign(try Fixed.document(version), issued: issued)
    }

    @Test("A fetched document holds at once, is stored, and is asked for by its tag the next time")
    func fetches() async throws {
        let store = MemoryStore()
        let services = Services([self.one: .document(try self.signed(7))])
        let client = try self.client(services, store: store)
        #expect(client.policy.document == nil)
        #expect(try await client.refresh() == .replaced(version: 7))
        #expect(client.policy.document?.version == 7 && client.policy.generation == 1)
        #expect(store.read() == (try self.signed(7)))
        services.set(self.one, .status(304))
        #expect(try await client.refresh() == .unchanged)
        let requests = services.requests.withLock { $0 }
        #expect(
            requests.map(\.url) == Array(repeating: "\(self.one)/client/v1/apps/com.example.shop/document", count: 2))
        #expect(requests[0].headers["If-None-Match"] == nil && requests[0].headers["Pinledger-Client"] == "version=0")
        #expect(requests[1].headers["Pinledger-Client"] == "version=7")
        let digest = Base64URL.encode(sha256(try self.signed(7)))
        #expect(requests[1].headers["If-None-Match"] == "\"7.\(digest)\"")
    }

    @Test("Services are asked in their order until one has a document that may be used")
    func asksInOrder() async throws {
        let services = Services([self.one: .silence, self.two: .document(try self.signed(7))])
        let client = try self.client(services)
        #expect(try await client.refresh() == .replaced(version: 7))
        services.set(self.one, .document(try self.signed(6)))
        services.set(self.two, .document(try self.signed(8)))
        #expect(try await client.refresh() == .replaced(version: 8))
        #expect(client.policy.document?.version == 8)
    }

    @Test("A failed refresh names each service's trouble, and what holds stays")
    func failures() async throws {
        let services = Services([self.one: .document(try self.signed(7))])
        let client = try self.client(services)
        try await client.refresh()
        services.set(self.one, .document(try self.signed(6)))
        services.set(self.two, .status(503))
        let failure = await #expect(throws: RefreshFailure.self) { try await client.refresh() }
        #expect(failure?.troubles.map(\.cause) == [.refused(.olderVersion), .status(503)])
        #expect(failure?.description.contains("https://two.example.com: it answered 503") == true)
        #expect(client.policy.document?.version == 7)
        // An answer 304 to a request without a condition means nothing.
        let fresh = try self.client(Services([self.one: .status(304), self.two: .status(304)]))
        await #expect(throws: RefreshFailure.self) { try await fresh.refresh() }
    }

    @Test("A stored document holds after a start, even a stale one and by a clock that is behind")
    func loads() async throws {
        let store = MemoryStore(try self.signed(7))
        for now in [Fixed.now, Fixed.now.adding(seconds: 86_400 * 365), Timestamp(seconds: 0)] {
            let client = try self.client(Services([:]), store: store, at: now)
            _ = await client.load()
            #expect(client.policy.document?.version == 7)
            #expect(client.policy.judge([Fixed.pin(9)], of: "api.example.com", at: now).result == .refused)
        }
    }

    @Test("A stored document is verified, and a newer one that ships with the app wins")
    func loadsVerified() async throws {
        let builtin = try self.signed(7)
        let altered = try self.signed(9).map { $0 == UInt8(ascii: "A") ? UInt8(ascii: "B") : $0 }
        let cases: [(stored: [UInt8]?, holds: Int64)] = [
            (nil, 7), (try self.signed(6), 7), (try self.signed(8), 8), (altered, 7), ([0, 1, 2], 7),
            (try Signer().sign(try Fixed.document(9)), 7),
            (try self.signer.sign(try Fixed.document(9, app: "com.example.till")), 7),
        ]
        for (stored, holds) in cases {
            let client = try self.client(Services([:]), store: MemoryStore(stored), builtin: builtin)
            _ = await client.load()
            #expect(client.policy.document?.version == holds)
        }
    }

    @Test("A client says what speaks against a document that was there at the start")
    func loadOutcome() async throws {
        let wrong = try Signer().sign(try Fixed.document(9))
        let other = try self.signer.sign(try Fixed.document(9, app: "com.example.till"))
        let client = try self.client(Services([:]), store: MemoryStore(wrong), builtin: other)
        let outcome = await client.load()
        #expect(outcome.builtin == .otherApp && outcome.stored == .unknownKey && outcome.store == nil)
        #expect(await client.load() == outcome)
        let failing = try self.client(Services([:]), store: FailingStore())
        #expect(await failing.load().store != nil)
        let bare = try self.client(Services([:]))
        #expect(await bare.load() == PinledgerClient.LoadOutcome())
    }

    @Test("A refresh looks at the store first, so that an older document cannot take its place")
    func loadsBeforeRefresh() async throws {
        let store = MemoryStore(try self.signed(9))
        let client = try self.client(Services([self.one: .document(try self.signed(6))]), store: store)
        await #expect(throws: RefreshFailure.self) { try await client.refresh() }
        #expect(client.policy.document?.version == 9)
        #expect(store.read() == (try self.signed(9)))
    }

    @Test("A service that has nothing newer than a stale document is left for the next one")
    func staleAnswers() async throws {
        let later = Fixed.now.adding(seconds: 86_400)
        let renewed = try self.signed(7, issued: later.seconds - 10)
        for answer in [Services.Answer.status(304), .document(try self.signed(7))] {
            let services = Services([self.one: answer, self.two: .document(renewed)])
            let client = try self.client(services, store: MemoryStore(try self.signed(7)), at: later)
            #expect(try await client.refresh() == .replaced(version: 7))
            services.set(self.two, answer)
            let alone = try self.client(services, store: MemoryStore(try self.signed(7)), at: later)
            let failure = await #expect(throws: RefreshFailure.self) { try await alone.refresh() }
            #expect(failure?.troubles.map(\.cause) == [.stale, .stale])
            #expect(await alone.lastFailure == failure)
            #expect(alone.policy.document?.version == 7)
        }
    }

    @Test("A document that could not be stored is stored with the next answer")
    func storesLater() async throws {
        let store = FailingOnce()
        let services = Services([self.one: .document(try self.signed(7))])
        let client = try self.client(services, store: store)
        try await client.refresh()
        #expect(await client.storeFailure != nil)
        #expect(store.stored == nil)
        services.set(self.one, .status(304))
        try await client.refresh()
        #expect(await client.storeFailure == nil)
        #expect(store.stored == (try self.signed(7)))
    }

    @Test("A store that can be read only later lets no older document take the place of what is in it")
    func lockedStore() async throws {
        let store = LockedStore(try self.signed(9))
        let services = Services([self.one: .document(try self.signed(5))])
        let client = try self.client(services, store: store)
        #expect(await client.load().store != nil)
        #expect(try await client.refresh() == .replaced(version: 5))
        #expect(store.content == (try self.signed(9)))
        #expect(await client.storedVersion == 0)
        store.unlock()
        #expect(await client.load() == PinledgerClient.LoadOutcome(version: 9))
        #expect(client.policy.document?.version == 9)
        #expect(await client.storedVersion == 9)
        await #expect(throws: RefreshFailure.self) { try await client.refresh() }
        #expect(store.content == (try self.signed(9)))
        services.set(self.one, .document(try self.signed(10)))
        try await client.refresh()
        #expect(store.content == (try self.signed(10)))
        #expect(await client.storedVersion == 10)
    }

    @Test("A document that came while the store was locked is stored with the next answer")
    func lockedEmptyStore() async throws {
        let store = LockedStore(nil)
        let services = Services([self.one: .document(try self.signed(5))])
        let client = try self.client(services, store: store)
        try await client.refresh()
        #expect(store.content == nil)
        store.unlock()
        services.set(self.one, .status(304))
        try await client.refresh()
        #expect(store.content == (try self.signed(5)))
        #expect(await client.storeFailure == nil)
    }

    @Test("A store that fails costs nothing that is in memory")
    func failingStore() async throws {
        let client = try self.client(Services([self.one: .document(try self.signed(7))]), store: FailingStore())
        _ = await client.load()
        #expect(try await client.refresh() == .replaced(version: 7))
        #expect(client.policy.document?.version == 7)
        #expect(await client.storeFailure != nil)
    }

    @Test("The document that ships with the app holds from the first moment, before anything was read or fetched")
    func builtinAtOnce() throws {
        let client = try self.client(Services([:]), store: FailingStore(), builtin: try self.signed(7))
        #expect(client.policy.document?.version == 7)
        #expect(client.policy.judge([Fixed.pin(9)], of: "api.example.com", at: Fixed.now).result == .refused)
        let wrong = try self.client(Services([:]), builtin: try Signer().sign(try Fixed.document(7)))
        #expect(wrong.policy.document == nil)
    }

    @Test("A client tells what goes wrong beside the app's own calls")
    func tellsFailures() async throws {
        let failures = Mutex<[ClientFailure]>([])
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: "another issuer", anchors: try Signer.anchors(self.signer),
            services: try Fixed.services(self.one), withoutDocument: .block, afterExpiry: .platformTrust)
        configuration.builtinDocument = try self.signed(7)
        let client = PinledgerClient(
            configuration, store: FailingStore(), transport: Services([self.one: .document(try self.signed(8))]),
            onFailure: { failure in failures.withLock { $0.append(failure) } }, clock: { Fixed.now })
        let work = Task { await client.run() }
        while failures.withLock({ $0.count < 3 }) { try await Task.sleep(for: .milliseconds(5)) }
        work.cancel()
        await work.value
        let told = failures.withLock { $0 }
        #expect(told[0] == .builtinDocument(.otherIssuer))
        guard case .store = told[1] else { return #expect(Bool(false), "\(told)") }
        #expect(
            told[2]
                == .refresh(
                    RefreshFailure(troubles: [
                        .init(service: try ServiceAddress(self.one), cause: .refused(.otherIssuer))
                    ])))
    }

    @Test("A store that holds something else is neither used nor overwritten")
    func mistakenStore() async throws {
        let journal = Array(#"{"adopted":[]}"#.utf8)
        for content in [journal, InstallID.random().bytes] {
            let store = MemoryStore(content)
            let client = try self.client(Services([self.one: .document(try self.signed(7))]), store: store)
            #expect(await client.load().store?.contains("a store of its own") == true)
            try await client.refresh()
            #expect(client.policy.document?.version == 7 && store.read() == content)
        }
        let empty = MemoryStore([])
        #expect(await (try self.client(Services([:]), store: empty)).load() == PinledgerClient.LoadOutcome())
        // What is damaged is told and replaced.
        for bytes in [[1, 2, 3], Array("notes\n".utf8)] {
            let damaged = MemoryStore(bytes)
            let client = try self.client(Services([self.one: .document(try self.signed(7))]), store: damaged)
            #expect(await client.load() == PinledgerClient.LoadOutcome(stored: .malformedToken))
            try await client.refresh()
            #expect(damaged.read() == (try self.signed(7)))
        }
    }

    @Test("A store that was locked at the start is read by a later connection")
    func unlockedStore() async throws {
        let store = LockedStore(try self.signed(7))
        let client = try self.client(Services([:]), store: store)
        await client.ready()
        store.unlock()
        await client.ready()
        #expect(client.policy.document == nil)
        client.current.withLock { $0.looksAgain = .now }
        await client.ready()
        #expect(client.policy.document?.version == 7)
    }

    @Test("An older stored document, as after a release with a newer one, raises no alarm")
    func olderStored() async throws {
        let failures = Mutex<[ClientFailure]>([])
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer), services: [],
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        configuration.builtinDocument = try self.signed(9)
        let client = PinledgerClient(
            configuration, store: MemoryStore(try self.signed(7)), transport: Services([:]),
            onFailure: { failure in failures.withLock { $0.append(failure) } }, clock: { Fixed.now })
        #expect(await client.load().stored == .olderVersion)
        #expect(failures.withLock { $0.isEmpty })
    }

    @Test("A document that ships with the app, and is the current one, counts as stored")
    func storedBuiltin() async throws {
        let services = Services([self.one: .status(304)])
        let client = try self.client(services, builtin: try self.signed(7))
        try await client.refresh()
        #expect(await client.storedVersion == 7)
    }

    @Test(
        "An address of a service is an address and nothing else",
        arguments: [
            "", "pins.example.com", "ftp://pins.example.com", "https://", "https:///path", "https://a b", "https://a?b",
            "https://a#b", "https://me@a", "https://a:b", "https://a:0", "https://a:65536", "https://[", "https://[::1",
            "https://:443", "https://a:+443", "https://a]", "https://a;b", "https://[zzz]", "https://bücher.example",
            "https://" + String(repeating: "a", count: 2000),
        ])
    func wrongAddresses(_ text: String) {
        #expect(throws: ServiceAddress.Malformed.self) { try ServiceAddress(text) }
    }

    @Test(
        "Addresses of services keep their text, but for a slash at the end",
        arguments: ["https://pins.example.com", "http://127.0.0.1:8440", "https://[::1]:8440/path", "https://a/b/c"])
    func addresses(_ text: String) throws {
        #expect(try ServiceAddress(text).description == text && ServiceAddress(text + "/").description == text)
    }

    @Test("The stream of policies ends with its client")
    func policyUpdatesEnd() async throws {
        var client: PinledgerClient? = try self.client(Services([:]))
        let updates = try #require(client).policyUpdates()
        client = nil
        for await _ in updates {}
    }

    @Test("Refreshes at the same time share one request")
    func singleFlight() async throws {
        let services = Services([self.one: .document(try self.signed(7))], delay: .milliseconds(50))
        let client = try self.client(services)
        let results = try await withThrowingTaskGroup(of: PinledgerClient.Refresh.self) { group in
            for _ in 0..<20 { group.addTask { try await client.refresh() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: .replaced(version: 7), count: 20))
        #expect(services.requests.withLock { $0.count } == 1)
    }

    @Test("A caller that gives up waiting does not end the fetch for the others")
    func cancellation() async throws {
        let service = SlowService()
        let client = PinledgerClient(
            ClientConfiguration(
                app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
                services: try Fixed.services(self.one), withoutDocument: .platformTrust, afterExpiry: .platformTrust),
            store: MemoryStore(), transport: service, clock: { Fixed.now })
        let first = Task { try await client.refresh() }
        while await client.flight == nil { await Task.yield() }
        let second = Task { try await client.refresh() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        service.answer(try self.signed(7))
        #expect(try await second.value == .replaced(version: 7))
    }

    /// A store, and a service, that never answer, and heed no cancellation.
    private final class Hanging: ClientStore, DocumentTransport, StreamTransport {
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        private func hang() async {
            await withCheckedContinuation { continuation in self.waiting.withLock { $0.append(continuation) } }
        }

        func release() { for one in self.waiting.withLock({ $0 }) { one.resume() } }
        var count: Int { self.waiting.withLock { $0.count } }
        func read() async -> [UInt8]? {
            await self.hang()
            return nil
        }
        func write(_ bytes: [UInt8]) async { await self.hang() }
        func get(_ request: TransportRequest) async -> DocumentResponse {
            await self.hang()
            return DocumentResponse(status: 503, body: [])
        }
        func stream(
            _ request: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
        ) async -> Int {
            await self.hang()
            return 503
        }
    }

    @Test("Background work ends when it is cancelled, whatever hangs")
    func cancelledWhileHanging() async throws {
        let hanging = Hanging()
        let client = try self.client(Services([:]), store: hanging)
        let loaded = try self.client(Services([:]), store: MemoryStore(try self.signed(7)))
        let reporter = PinledgerReporter(
            ReportConfiguration(install: .random(), services: [], key: nil), client: loaded, store: hanging,
            transport: ReportServices([:]))
        let works = [
            Task { await client.run() }, Task { await client.follow(Streams([])) }, Task { await reporter.run() },
            Task { await loaded.follow(hanging) },
        ]
        // Each store, and the stream, is waited for.
        while hanging.count < 3 { await Task.yield() }
        for work in works {
            work.cancel()
            await work.value
        }
        // Nor does a connection wait for it for ever, or the next one as well.
        for _ in 0..<100 { await client.ready() }
        hanging.release()
    }

    @Test("A transport that forgets its time is left for the next service")
    func hangingTransport() async throws {
        let hanging = Hanging()
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
            services: try Fixed.services(self.one), withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        configuration.fetchTimeout = .milliseconds(10)
        let client = PinledgerClient(
            configuration, store: MemoryStore(), transport: hanging, clock: { Fixed.now })
        let failure = await #expect(throws: RefreshFailure.self) { try await client.refresh() }
        #expect(failure?.description.contains("it took longer") == true)
        hanging.release()
    }

    @Test("Pauses grow with each failure up to the interval, and differ between installs")
    func pauses() async throws {
        let client = try self.client(Services([:]))
        let pauses = await [0, 1, 2, 3, 30].asyncMap { await client.pause(after: $0) }
        #expect(pauses == [.seconds(3240), .seconds(2.5), .seconds(5), .seconds(10), .seconds(1800)])
    }

    @Test("The background work fetches at once and ends when it is cancelled")
    func runs() async throws {
        let services = Services([self.one: .document(try self.signed(7))])
        let client = try self.client(services)
        let work = Task { await client.run() }
        while client.policy.document == nil { await Task.yield() }
        work.cancel()
        await work.value
        #expect(client.policy.document?.version == 7)
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<T>(_ transform: (Element) async -> T) async -> [T] {
        var results: [T] = []
        for element in self { results.append(await transform(element)) }
        return results
    }
}
