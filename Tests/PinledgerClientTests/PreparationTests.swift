import PinWire
import Synchronization
import Testing

@testable import PinledgerClient

/// A service that answers when it is told to.
final class SlowService: DocumentTransport {
    private let document = Mutex<[UInt8]?>(nil)
    let requests = Mutex(0)

    func answer(_ document: [UInt8]?) { self.document.withLock { $0 = document } }

    func get(_ request: TransportRequest) async throws -> DocumentResponse {
        self.requests.withLock { $0 += 1 }
        while true {
            if let bytes = self.document.withLock({ $0 }) { return DocumentResponse(status: 200, body: bytes) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

@Suite("A client before a connection", .timeLimit(.minutes(2)))
struct PreparationTests {
    private let signer = Signer()
    private let service = "https://one.example.com"
    private let stale = Fixed.now.adding(seconds: 86_400)

    private func client(
        _ services: any DocumentTransport, holding document: [UInt8]? = nil, at now: Timestamp = Fixed.now,
        timeout: Duration = .seconds(15)
    ) async throws -> PinledgerClient {
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
            services: try Fixed.services(self.service), withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        configuration.fetchTimeout = timeout
        // A machine that is busy with other tests is no reason to go on without a document.
        configuration.connectionWait = .seconds(60)
        let client = PinledgerClient(
            configuration, store: MemoryStore(document), transport: services, clock: { now })
        _ = await client.load()
        return client
    }

    private func signed(_ version: Int64) throws -> [UInt8] { try self.signer.sign(try Fixed.document(version)) }

    private func requests(_ services: Services) -> Int { services.requests.withLock { $0.count } }

    @Test("A client without a document fetches one first, and not again at once where there is none")
    func withoutDocument() async throws {
        let services = Services([self.service: .document(try self.signed(7))])
        let client = try await self.client(services)
        await client.prepare(for: "api.example.com")
        #expect(client.policy.document?.version == 7)
        let silent = Services([self.service: .silence])
        let other = try await self.client(silent)
        for _ in 0..<5 { await other.prepare(for: "api.example.com") }
        #expect(self.requests(silent) == 1)
    }

    @Test("Connections that begin while a fetch is under way wait for it")
    func concurrent() async throws {
        let service = SlowService()
        let client = try await self.client(service)
        let document = try self.signed(7)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    await client.prepare(for: "api.example.com")
                    return client.policy.document != nil
                }
            }
            while await client.flight == nil { await Task.yield() }
            service.answer(document)
            for await isThere in group { #expect(isThere) }
        }
        #expect(service.requests.withLock { $0 } == 1)
    }

    @Test("A fresh document is not fetched again, and a stale one only for hosts that it covers")
    func staleness() async throws {
        let fresh = Services([self.service: .document(try self.signed(8))])
        await (try await self.client(fresh, holding: try self.signed(7))).prepare(for: "api.example.com")
        #expect(self.requests(fresh) == 0)
        let services = Services([
            self.service: .document(try self.signer.sign(try Fixed.document(8), issued: self.stale.seconds))
        ])
        let client = try await self.client(services, holding: try self.signed(7), at: self.stale)
        await client.prepare(for: "elsewhere.example.net")
        #expect(self.requests(services) == 0)
        await client.prepare(for: "api.example.com")
        #expect(self.requests(services) == 1 && client.policy.document?.version == 8)
    }

    @Test("After a refusal a newer document is fetched, because it may know the server's new key")
    func refusal() async throws {
        let services = Services([self.service: .document(try self.signed(8))])
        let client = try await self.client(services, holding: try self.signed(7))
        client.noteRefusal()
        await client.prepare(for: "api.example.com")
        #expect(client.policy.document?.version == 8)
        await client.prepare(for: "api.example.com")
        #expect(self.requests(services) == 1)
    }

    @Test("A service that is slow holds a connection up for a moment, and its document holds when it comes")
    func slow() async throws {
        let service = SlowService()
        let client = try await self.client(service)
        await client.prepare(for: "api.example.com", atMost: .milliseconds(1))
        #expect(client.policy.document == nil)
        service.answer(try self.signed(7))
        while client.policy.document == nil { try await Task.sleep(for: .milliseconds(10)) }
    }

    @Test("A service that stays silent holds up the first connections of a while, and no later ones")
    func silence() async throws {
        let service = SlowService()
        let client = try await self.client(service, timeout: .seconds(600))
        await client.prepare(for: "api.example.com", atMost: .milliseconds(1))
        while await client.flight == nil { await Task.yield() }
        await client.pretend(flightBegan: .seconds(61))
        // It is under way, and does not end: who waited for it would wait until the test is over.
        for _ in 0..<100 { await client.prepare(for: "api.example.com", atMost: .seconds(60)) }
        service.answer(try self.signed(7))
    }

    @Test("A fetch that fails counts as slow where it took long, until one succeeds")
    func slowFailure() async throws {
        let service = SlowService()
        let client = try await self.client(service, timeout: .seconds(600))
        func fail(after time: Duration) async throws {
            service.answer(nil)
            let refresh = Task { try await client.refresh() }
            while await client.flight == nil { await Task.yield() }
            await client.pretend(flightBegan: time)
            await client.pretend(lastTry: .seconds(600), slowFailures: await client.slowFailures)
            service.answer([])
            await #expect(throws: RefreshFailure.self) { try await refresh.value }
        }
        // As if it had failed before it began: on a busy machine nothing is fast.
        try await fail(after: .seconds(-600))
        #expect(await client.slowFailures == 0)
        #expect(await client.mayFetchAgain())
        for failures in 1...2 {
            try await fail(after: .seconds(4))
            #expect(await client.slowFailures == failures)
            #expect(await !client.mayFetchAgain())
        }
        service.answer(try self.signed(7))
        _ = try await client.refresh()
        #expect(await client.slowFailures == 0)
    }

    @Test("After fetches that took long and failed, connections ask for the next ones less and less often")
    func failures() async throws {
        let client = try await self.client(Services([self.service: .silence]))
        await client.pretend(lastTry: .seconds(11), slowFailures: 1)
        #expect(await !client.mayFetchAgain())
        await client.pretend(lastTry: .seconds(600), slowFailures: 1)
        #expect(await client.mayFetchAgain())
        await client.pretend(lastTry: .seconds(41), slowFailures: 40)
        #expect(await !client.mayFetchAgain())
        await client.pretend(lastTry: .seconds(600), slowFailures: 40)
        #expect(await client.mayFetchAgain())
    }

    @Test("Another device gets what the document says for it from then on, and the policy tells who waits for it")
    func device() async throws {
        var document = try Fixed.document()
        document.hosts[0].candidate = Document.Policy(mode: .off, pins: [])
        document.hosts[0].rollout = Rollout(basisPoints: 10_000, seed: [.userID], salt: "s")
        let client = try await self.client(Services([:]), holding: try self.signer.sign(document))
        #expect(client.policy.decide("api.example.com", at: Fixed.now)?.arm == .baseline)
        let generation = client.policy.generation
        var policies = client.policyUpdates().makeAsyncIterator()
        client.setDevice(Device(ids: [.userID: "someone"]))
        #expect(client.policy.decide("api.example.com", at: Fixed.now)?.arm == .candidate)
        #expect(await policies.next()?.generation == generation + 1)
    }
}

extension PinledgerClient {
    /// Puts the last fetch that a connection asked for back in time.
    fileprivate func pretend(lastTry time: Duration, slowFailures: Int) {
        self.lastTry = ContinuousClock.now.advanced(by: .zero - time)
        self.slowFailures = slowFailures
    }

    /// Puts the beginning of the fetch that is under way back in time.
    fileprivate func pretend(flightBegan time: Duration) {
        self.flight = self.flight.map { Flight(task: $0.task, began: ContinuousClock.now.advanced(by: .zero - time)) }
    }
}
