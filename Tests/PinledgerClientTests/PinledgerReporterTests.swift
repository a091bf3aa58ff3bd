import Crypto
import Foundation
import PinWire
import Synchronization
import Testing

@testable import PinledgerClient

/// Services that take reports, whose answers a test sets by their addresses.
final class ReportServices: ReportTransport {
    struct Silence: Error {}
    struct Request: Sendable {
        var url: String
        var headers: [String: String]
        var body: [UInt8]
    }

    private let answers: Mutex<[String: Int]>
    private let taken = Mutex<[Request]>([])

    /// - Parameter answers: The status of each address's answer; none for those that do not answer.
    init(_ answers: [String: Int] = ["https://one.example.com": 202]) { self.answers = Mutex(answers) }

    var requests: [Request] { self.taken.withLock { $0 } }
    func set(_ service: String, _ status: Int?) { self.answers.withLock { $0[service] = status } }

    func post(_ request: TransportRequest) async throws -> Int {
        let url = request.url
        self.taken.withLock { $0.append(Request(url: url, headers: request.fields, body: request.body)) }
        let end = "/client/v1/apps/com.example.shop/reports"
        guard url.hasSuffix(end), let status = self.answers.withLock({ $0[String(url.dropLast(end.count))] }) else {
            throw Silence()
        }
        return status
    }
}

@Suite("The reporter of an app", .timeLimit(.minutes(2)))
struct PinledgerReporterTests {
    private let signer = Signer()
    private let install = InstallID(bytes: [UInt8](0..<16)) ?? .random()
    private let secret = "tlsec_" + Base64.encode([UInt8](repeating: 7, count: 32))

    private func client(isMonitored: Bool = true) async throws -> PinledgerClient {
        var document = try Fixed.document()
        document.monitoring.isEnabled = isMonitored
        let configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer), services: [],
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        let client = PinledgerClient(
            configuration, store: MemoryStore(try self.signer.sign(document)), transport: Services([:]),
            clock: { Fixed.now })
        _ = await client.load()
        return client
    }

    private func reporter(
        _ client: PinledgerClient, _ services: ReportServices, store: any ClientStore = MemoryStore(),
        change: (inout ReportConfiguration) -> Void = { _ in },
        onFailure: @escaping @Sendable (PinledgerReporter.Failure) -> Void = { _ in }
    ) throws -> PinledgerReporter {
        var configuration = ReportConfiguration(
            install: self.install,
            services: try Fixed.services("https://one.example.com/", "https://two.example.com"),
            key: try ReportKey(id: "tlk_1", secret: self.secret))
        configuration.platform = .server
        configuration.appVersion = "2.4.1-rc.1"
        change(&configuration)
        return PinledgerReporter(
            configuration, client: client, store: store, transport: services, onFailure: onFailure,
            clock: { Fixed.now }, random: { $0.lowerBound })
    }

    private func connect(
        _ client: PinledgerClient, _ reporter: PinledgerReporter, _ pin: UInt8, host: String = "api.example.com"
    ) {
        let policy = client.policy
        let verdict = policy.judge([Fixed.pin(pin)], of: host, at: Fixed.now)
        reporter.record(verdict, of: host, by: policy, chain: [Fixed.pin(pin)])
    }

    @Test("Outcomes of connections are sent in one signed request, and only once")
    func sends() async throws {
        let client = try await self.client()
        let services = ReportServices()
        let reporter = try self.reporter(client, services)
        for _ in 0..<3 { self.connect(client, reporter, 1) }
        self.connect(client, reporter, 9)
        reporter.recordInvalidChain(of: "api.example.com", by: client.policy)
        #expect(await reporter.flush() == .sent(outcomes: 3))
        let request = try #require(services.requests.first)
        #expect(request.url == "https://one.example.com/client/v1/apps/com.example.shop/reports")
        let batch = try ReportBatch(parsing: request.body)
        #expect(batch.refusals.isEmpty && batch.sender?.version == 7 && batch.sender?.install == self.install)
        #expect(batch.outcomes.map(\.outcome) == [.success, .failure(.pinMismatch), .failure(.chainInvalid)])
        #expect(batch.outcomes.map(\.count) == [3, 1, 1] && batch.outcomes.map(\.documentVersion) == [7, 7, 7])
        #expect(batch.outcomes[1].servedPins == [Fixed.pin(9)] && batch.outcomes[0].servedPins.isEmpty)
        #expect(batch.outcomes[0].release?.description == "2.4.1" && batch.outcomes[0].platform == .server)
        // The MAC, computed here by its definition.
        let message = Array("pinledger-reports/v1\ncom.example.shop\n\(Fixed.now.seconds)\n".utf8) + request.body
        let code = HMAC<SHA256>.authenticationCode(
            for: message, using: SymmetricKey(data: [UInt8](repeating: 7, count: 32)))
        #expect(
            request.headers["Pinledger-Signature"]
                == "keyid=\"tlk_1\", time=\(Fixed.now.seconds), mac=:\(Base64.encode(Array(code))):")
        self.connect(client, reporter, 1)
        #expect(await reporter.flush() == .idle)
        #expect(services.requests.count == 1)
    }

    @Test("A document that asks for no reports gets none, and neither do hosts that it does not cover")
    func silent() async throws {
        let services = ReportServices()
        let unasked = try await self.client(isMonitored: false)
        let quiet = try self.reporter(unasked, services)
        self.connect(unasked, quiet, 9)
        #expect(await quiet.flush() == .idle)
        let client = try await self.client()
        let reporter = try self.reporter(client, services)
        self.connect(client, reporter, 9, host: "private.example.net")
        reporter.recordInvalidChain(of: "private.example.net", by: client.policy)
        #expect(await reporter.flush() == .sent(outcomes: 0))
        #expect(services.requests.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("private") })
        // Outside the sample nothing is sent at all.
        let outside = try self.reporter(client, services) { $0.share = 0 }
        self.connect(client, outside, 9)
        #expect(await outside.flush() == .idle)
        #expect(services.requests.count == 1)
    }

    @Test("Outcomes that no service took are kept, also over a restart, and sent when one does")
    func keeps() async throws {
        let client = try await self.client()
        let services = ReportServices([:])
        let store = MemoryStore()
        let first = try self.reporter(client, services, store: store)
        self.connect(client, first, 9)
        #expect(await first.flush() == .postponed(status: nil))
        #expect(services.requests.count == 2)
        services.set("https://one.example.com", 503)
        let second = try self.reporter(client, services, store: store)
        self.connect(client, second, 9)
        #expect(await second.flush() == .postponed(status: 503))
        services.set("https://two.example.com", 202)
        #expect(await second.flush() == .sent(outcomes: 1))
        let ids = try services.requests.map { try ReportBatch(parsing: $0.body).outcomes.map(\.id) }
        #expect(Set(ids).count == 1 && services.requests.last?.url.hasPrefix("https://two.example.com") == true)
        #expect(try ReportBatch(parsing: services.requests.last?.body ?? []).outcomes.first?.count == 2)
        let third = try self.reporter(client, services, store: store)
        #expect(await third.flush() == .idle)
    }

    @Test(
        "A batch that is wrong whenever it comes is dropped, and one that may be right elsewhere or later is not",
        arguments: [
            (400, true), (413, true), (415, true), (422, true), (401, false), (403, false), (404, false), (405, false),
            (408, false),
            (429, false), (500, false), (302, false),
        ])
    func refusals(_ status: Int, _ isFinal: Bool) async throws {
        let client = try await self.client()
        let services = ReportServices(["https://one.example.com": status, "https://two.example.com": status])
        let reporter = try self.reporter(client, services)
        self.connect(client, reporter, 9)
        #expect(await reporter.flush() == (isFinal ? .refused(status: status) : .postponed(status: status)))
        #expect(services.requests.count == 2)
        services.set("https://one.example.com", 202)
        #expect(await reporter.flush() == .sent(outcomes: isFinal ? 0 : 1))
    }

    @Test("A batch that was dropped is said to be, whatever becomes of the rest")
    func droppedBeforeSent() async throws {
        let client = try await self.client()
        let services = ReportServices(["https://one.example.com": 422])
        let failures = Mutex<[PinledgerReporter.Failure]>([])
        let reporter = try self.reporter(
            client, services,
            onFailure: { failure in
                failures.withLock { $0.append(failure) }
                services.set("https://one.example.com", 202)
            })
        self.connect(client, reporter, 9)
        #expect(await reporter.flush() == .refused(status: 422))
        #expect(services.requests.count == 2 && failures.withLock { $0 } == [.refused(status: 422)])
    }

    @Test("A store that holds something else is not overwritten, and says so")
    func mistakenStore() async throws {
        let document = try self.signer.sign(try Fixed.document())
        let store = MemoryStore(document)
        let client = try await self.client()
        let failures = Mutex<[PinledgerReporter.Failure]>([])
        let reporter = try self.reporter(
            client, ReportServices([:]), store: store,
            onFailure: { failure in failures.withLock { $0.append(failure) } })
        self.connect(client, reporter, 9)
        await reporter.save()
        #expect(store.read() == document)
        #expect(failures.withLock { $0.contains { "\($0)".contains("a store of its own") } })
    }

    @Test("Reports go to services over HTTPS, and on this machine alone without")
    func confidential() async throws {
        let client = try await self.client()
        let services = ReportServices([
            "http://one.example.com": 202, "http://localhost.example.com": 202, "http://127.0.0.1:8440": 202,
        ])
        let addresses = try Fixed.services(
            "http://one.example.com", "http://localhost.example.com", "http://127.0.0.1:8440")
        let reporter = try self.reporter(client, services) { $0.services = addresses }
        #expect(await reporter.flush() == .sent(outcomes: 0))
        #expect(services.requests.map(\.url) == ["http://127.0.0.1:8440/client/v1/apps/com.example.shop/reports"])
    }

    @Test("Outcomes that were kept are dropped when the document asks for reports no more")
    func turnedOff() async throws {
        let store = MemoryStore()
        let services = ReportServices([:])
        let client = try await self.client()
        let reporter = try self.reporter(client, services, store: store)
        self.connect(client, reporter, 9)
        #expect(await reporter.flush() == .postponed(status: nil))
        let quiet = try self.reporter(try await self.client(isMonitored: false), services, store: store)
        #expect(await quiet.flush() == .idle)
        #expect(ReportJournal(store.read() ?? [], of: self.install)?.pending.isEmpty == true)
    }

    @Test("A store that could not be read is not written before it is read")
    func unreadStore() async throws {
        let client = try await self.client()
        let services = ReportServices([:])
        let kept = MemoryStore()
        let first = try self.reporter(client, services, store: kept)
        self.connect(client, first, 9)
        await first.save()
        let store = LockedStore(kept.read())
        let second = try self.reporter(client, services, store: store)
        self.connect(client, second, 1)
        await second.save()
        #expect(store.content == kept.read())
        store.unlock()
        await second.save()
        #expect(ReportJournal(store.content ?? [], of: self.install)?.pending.count == 2)
    }

    @Test("An install's id is made once, and kept")
    func installID() async throws {
        let store = MemoryStore()
        let id = try await InstallID.kept(in: store)
        #expect(try await InstallID.kept(in: store) == id)
        #expect(try await InstallID.kept(in: MemoryStore([1, 2, 3])) != id)
        let document = MemoryStore(try self.signer.sign(try Fixed.document()))
        await #expect(throws: StoreContent.Mistaken(found: .state, wanted: .installID)) {
            try await InstallID.kept(in: document)
        }
        await #expect(throws: FailingStore.Failure.self) { try await InstallID.kept(in: FailingStore()) }
    }

    @Test("A store that fails keeps nothing from being sent")
    func failingStore() async throws {
        let client = try await self.client()
        let services = ReportServices()
        let reporter = try self.reporter(client, services, store: FailingStore())
        self.connect(client, reporter, 9)
        #expect(await reporter.flush() == .sent(outcomes: 1))
        #expect(await reporter.storeFailure != nil)
    }

    @Test("The background work stores a new outcome soon, and what is left when it ends")
    func runs() async throws {
        let client = try await self.client()
        let services = ReportServices([:])
        let store = MemoryStore()
        let reporter = try self.reporter(client, services, store: store)
        let work = Task { await reporter.run() }
        self.connect(client, reporter, 9)
        while store.read() == nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(ReportJournal(store.read() ?? [], of: self.install)?.pending.count == 1)
        self.connect(client, reporter, 1)
        work.cancel()
        await work.value
        #expect(ReportJournal(store.read() ?? [], of: self.install)?.pending.count == 2)
    }

    @Test("A key shows no secret, and another text is refused")
    func keys() throws {
        let key = try ReportKey(id: "tlk_1", secret: self.secret)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(dumped)".contains("Bwc"))
        for (id, secret) in [
            ("tlk_1", "tlsec_AAAA"), ("tlk_1", String(self.secret.dropFirst())), ("", self.secret),
            ("a\"b", self.secret),
        ] {
            #expect(throws: ReportKey.Malformed.self) { try ReportKey(id: id, secret: secret) }
        }
    }
}
