import PinWire
import SeededRandom
import Synchronization
import Testing

@testable import PinledgerClient

@Suite("The reader of server-sent events")
struct EventStreamTests {
    private func events(_ text: String) throws -> [EventStream.Event] {
        var stream = EventStream()
        return try stream.feed(text.utf8)
    }

    @Test(
        "A stream of each spelling has the same events",
        arguments: ["\n", "\r", "\r\n"])
    func spellings(_ end: String) throws {
        let text = [
            ": a comment", "retry: 4711", "id: 1", "event: document", "data: one", "data:two", "", "data", "",
            "event: x", "",
        ]
        .joined(separator: end)
        var stream = EventStream()
        let found = try stream.feed("\u{feff}\(text)\(end)".utf8)
        #expect(found == [.init(kind: "document", data: Array("one\ntwo".utf8)), .init(kind: "message", data: [])])
        #expect(stream.retry == .milliseconds(4711))
    }

    @Test("A stream that arrives byte by byte, or in any pieces, has the same events as one that arrives at once")
    func pieces() throws {
        let bytes = Array(
            ": hello\r\n\r\nevent: document\r\ndata: abc\r\n\r\ndata: x\rdata: y\r\revent: document\ndata: z\n\n".utf8)
        var whole = EventStream()
        let expected = try whole.feed(bytes)
        #expect(expected.map { String(decoding: $0.data, as: UTF8.self) } == ["abc", "x\ny", "z"])
        var generator = SeededGenerator(seed: 20)
        for _ in 0..<200 {
            var stream = EventStream()
            var found: [EventStream.Event] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...7, using: &generator)
                found += try stream.feed(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(found == expected)
        }
    }

    @Test("A line, or an event, without an end is given up at its limit")
    func limits() throws {
        var stream = EventStream()
        #expect(throws: EventStream.Failure.tooLong) {
            for _ in 0..<3 { _ = try stream.feed([UInt8](repeating: 65, count: 65_536)) }
        }
        let line = "data: " + String(repeating: "a", count: 1000) + "\n"
        #expect(throws: EventStream.Failure.tooLong) { try self.events(String(repeating: line, count: 200)) }
        #expect(try self.events("retry: 99999999999\nretry: -1\nretry: x\n\n").isEmpty)
    }
}

/// A transport whose streams a test writes.
final class Streams: StreamTransport {
    struct Broken: Error {}
    enum End: Sendable { case ends, breaks, stays }

    private let pieces: Mutex<[(pieces: [[UInt8]], end: End, status: Int)]>
    let requests = Mutex<[(url: String, headers: [String: String])]>([])

    init(_ pieces: [(pieces: [[UInt8]], end: End, status: Int)]) { self.pieces = Mutex(pieces) }

    func stream(
        _ request: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int {
        self.requests.withLock { $0.append((request.url, request.fields)) }
        let next = self.pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else {
            try await Task.sleep(for: .seconds(600))
            return 200
        }
        for piece in next.pieces { try await take(piece) }
        switch next.end {
        case .ends: return next.status
        case .breaks: throw Broken()
        case .stays:
            try await Task.sleep(for: .seconds(600))
            return 200
        }
    }
}

/// A transport with one stream, which a test writes as it goes.
private struct ScriptedStream: StreamTransport {
    let write: @Sendable (_ take: @concurrent @Sendable ([UInt8]) async throws -> Void) async throws -> Void

    func stream(
        _ request: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int {
        try await self.write(take)
        try await Task.sleep(for: .seconds(600))
        return 200
    }
}

@Suite("A client that follows a stream of documents", .timeLimit(.minutes(2)))
struct FollowingTests {
    private let signer = Signer()

    private func event(_ bytes: [UInt8]) -> [UInt8] {
        Array("retry: 1\nevent: document\ndata: ".utf8) + bytes + Array("\n\n".utf8)
    }

    private func client(_ services: Services = Services([:]), store: any ClientStore = MemoryStore()) throws
        -> PinledgerClient
    {
        PinledgerClient(
            ClientConfiguration(
                app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
                services: try Fixed.services("https://one.example.com", "https://two.example.com"),
                withoutDocument: .platformTrust, afterExpiry: .platformTrust),
            store: store, transport: services, clock: { Fixed.now }, random: { _ in 0.001 })
    }

    private func signed(_ version: Int64) throws -> [UInt8] { try self.signer.sign(try Fixed.document(version)) }

    /// Follows until the version is held.
    private func follow(_ client: PinledgerClient, _ streams: any StreamTransport, until version: Int64) async throws {
        let work = Task { await client.follow(streams) }
        while client.policy.document?.version != version { try await Task.sleep(for: .milliseconds(2)) }
        work.cancel()
        await work.value
    }

    @Test("Documents of a stream hold as they come, are stored, and are named to the next stream")
    func follows() async throws {
        let store = MemoryStore()
        let client = try self.client(store: store)
        let streams = Streams([
            ([self.event(try self.signed(7)), self.event(try self.signed(8))], .ends, 200),
            ([self.event(try self.signed(9))], .stays, 200),
        ])
        try await self.follow(client, streams, until: 9)
        let requests = streams.requests.withLock { $0 }
        #expect(
            requests.map(\.url)
                == Array(repeating: "https://one.example.com/client/v1/apps/com.example.shop/stream", count: 2))
        #expect(requests[0].headers["Last-Event-ID"] == nil)
        #expect(requests[1].headers["Last-Event-ID"] == "8.\(Base64URL.encode(sha256(try self.signed(8))))")
        #expect(requests[1].headers["Pinledger-Client"] == "version=8")
        while store.read() != (try self.signed(9)) { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test("A service that breaks, refuses or sends what is not to be used is left for the next one")
    func leaves() async throws {
        let client = try self.client()
        let streams = Streams([
            ([], .breaks, 200), ([], .ends, 503),
            ([self.event(try Signer().sign(try Fixed.document(99)))], .stays, 200),
            ([self.event(try self.signed(7))], .stays, 200),
        ])
        try await self.follow(client, streams, until: 7)
        let services = streams.requests.withLock { $0.map { $0.url.contains("one") ? 1 : 2 } }
        #expect(services == [1, 2, 1, 2])
    }

    @Test("A stream that just ends without a document is left for the next service")
    func endsAtOnce() async throws {
        let client = try self.client()
        let streams = Streams([([], .ends, 200), ([], .ends, 200), ([self.event(try self.signed(7))], .stays, 200)])
        try await self.follow(client, streams, until: 7)
        #expect(streams.requests.withLock { $0.map { $0.url.contains("one") ? 1 : 2 } } == [1, 2, 1])
    }

    @Test("A stream that announces a document without end, which no one has signed, makes one fetch in ten seconds")
    func announcements() async throws {
        let services = Services(["https://one.example.com": .document(try self.signed(6))])
        let client = try self.client(services)
        let one = "event: document\ndata: {\"etag\":\"7.x\",\"version\":7}\n\n"
        let many = Array(String(repeating: one, count: 1000).utf8)
        let document = self.event(try self.signed(8))
        let stream = ScriptedStream { take in
            try await take(many)
            // An answer that came after the next document would be refused as older, and the other service asked.
            while client.policy.document?.version != 6 { try await Task.sleep(for: .milliseconds(2)) }
            // Behind all of them comes a document, so that they are known to be read.
            for piece in [many, document] { try await take(piece) }
        }
        let began = ContinuousClock.now
        try await self.follow(client, stream, until: 8)
        // A machine that takes long to read them is asked for one more in each ten seconds.
        let pauses = Int((ContinuousClock.now - began) / .seconds(10))
        #expect((1...1 + pauses).contains(services.requests.withLock { $0.count }))
    }

    @Test("A service that streams nothing but comments while the document is stale is left for the next one")
    func staleStream() async throws {
        let later = Fixed.now.adding(seconds: 86_400)
        let client = PinledgerClient(
            ClientConfiguration(
                app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
                services: try Fixed.services("https://one.example.com", "https://two.example.com"),
                withoutDocument: .platformTrust, afterExpiry: .platformTrust),
            store: MemoryStore(try self.signed(7)), transport: Services([:]), clock: { later }, random: { _ in 0.001 })
        let renewed = try self.signer.sign(try Fixed.document(8), issued: later.seconds)
        let silent = [Array(": pinledger\nretry: 1\n\n".utf8), Array(":\n\n".utf8)]
        let streams = Streams([(silent, .stays, 200), ([self.event(renewed)], .stays, 200)])
        try await self.follow(client, streams, until: 8)
        #expect(await client.lastFailure == nil)
    }

    @Test("A stream that begins with what is newer than a stale document is not left, in whatever pieces it comes")
    func staleBeginning() async throws {
        let later = Fixed.now.adding(seconds: 86_400)
        let renewed = try self.signer.sign(try Fixed.document(8), issued: later.seconds)
        let bytes = Array(": pinledger\n".utf8) + self.event(renewed)
        for pieces in [bytes.map { [$0] }, [Array(": pinledger\n".utf8), self.event(renewed)], [bytes]] {
            let failures = Mutex<[ClientFailure]>([])
            let client = PinledgerClient(
                ClientConfiguration(
                    app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
                    services: try Fixed.services("https://one.example.com"), withoutDocument: .platformTrust,
                    afterExpiry: .platformTrust),
                store: MemoryStore(try self.signed(7)), transport: Services([:]),
                onFailure: { failure in failures.withLock { $0.append(failure) } }, clock: { later },
                random: { _ in 0.001 })
            let streams = Streams([(pieces, .stays, 200)])
            try await self.follow(client, streams, until: 8)
            #expect(streams.requests.withLock { $0.count } == 1 && failures.withLock { $0.isEmpty })
        }
    }

    @Test("A service that sends the held document and hangs up is of no use")
    func sameAgain() async throws {
        let client = try self.client(store: MemoryStore(try self.signed(7)))
        let same = ([self.event(try self.signed(7))], Streams.End.ends, 200)
        let streams = Streams([same, same, ([self.event(try self.signed(8))], .stays, 200)])
        try await self.follow(client, streams, until: 8)
        #expect(streams.requests.withLock { $0.map { $0.url.contains("one") ? 1 : 2 } } == [1, 2, 1])
    }

    @Test("An announced document is fetched past caches, and again while a cache on the way has the one before")
    func cachedAnnouncement() async throws {
        let services = Services(["https://one.example.com": .document(try self.signed(7))])
        let client = try self.client(services, store: MemoryStore(try self.signed(7)))
        try await client.refresh()
        #expect(services.requests.withLock { $0[0].headers["Cache-Control"] } == nil)
        let streams = Streams([
            ([Array("event: document\ndata: {\"etag\":\"8.x\",\"version\":8}\n\n".utf8)], .stays, 200)
        ])
        let work = Task { await client.follow(streams) }
        while await client.flight != nil || services.requests.withLock({ $0.count }) < 2 {
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(services.requests.withLock { $0[1].headers["Cache-Control"] } == "no-cache")
        services.set("https://one.example.com", .document(try self.signed(8)))
        while client.policy.document?.version != 8 { try await Task.sleep(for: .milliseconds(20)) }
        #expect(services.requests.withLock { $0.count } == 3)
        work.cancel()
        await work.value
    }

    @Test("A document that is too large for the stream is fetched")
    func large() async throws {
        let client = try self.client(Services(["https://one.example.com": .document(try self.signed(7))]))
        let streams = Streams([
            ([Array("event: document\ndata: {\"etag\":\"7.x\",\"version\":7}\n\n".utf8)], .stays, 200)
        ])
        try await self.follow(client, streams, until: 7)
    }

    @Test("Pauses are the server's, and grow with failures up to five minutes")
    func pauses() async throws {
        let client = try self.client()
        #expect(await client.pause(after: 0, asked: .seconds(4)) == .seconds(4))
        #expect(await client.pause(after: 0, asked: .seconds(86_400)) == .seconds(300))
        #expect(await client.pause(after: 30, asked: nil) == .milliseconds(300))
    }
}
