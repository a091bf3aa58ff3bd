import AsyncAlgorithms
import Concurrency
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import PinWire
import Pinning
import Publishing
import ServiceLifecycle

/// The documents of all apps, for edges: `/client/v1/documents`, and the stream of what changes in it.
///
/// They stand where clients' requests go, for an edge is where clients are, and need a token, for the names of all apps are nobody
/// else's business.
struct DocumentFeedRoutes: Sendable {
    let feed: DocumentFeed
    /// The longest time without a sign of life, in milliseconds.
    let heartbeat: Int
    /// What the token that opened a stream still opens.
    let rights: @Sendable (Actor?) -> Rights
    /// By the party of the token: one takes not all of them.
    private let limiter = ConcurrencyLimiter<String>(limit: Self.limit) { _ in Self.share }
    private let lists = SingleFlightCache<Rights, Listed>(entries: 16, bytes: 64 << 20)

    /// Streams at once, of all callers and of one.
    private static let (limit, share) = (1000, 50)

    /// A list, as its readers get it.
    private struct Listed: Sendable {
        /// The generation of the documents that it lists.
        let generation: UInt64
        let bytes: ByteBuffer
        let tag: String
    }

    init(feed: DocumentFeed, heartbeat: Int, rights: @escaping @Sendable (Actor?) -> Rights) {
        self.feed = feed
        self.heartbeat = heartbeat
        self.rights = rights
    }

    var routes: [Route] {
        [
            Route(
                "listDocuments", .get, "/client/v1/documents", surface: .client, access: .somewhere(.readApps),
                self.list),
            Route(
                "streamDocuments", .get, "/client/v1/documents/stream", surface: .client,
                access: .somewhere(.readApps), self.stream),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let (feed, rights) = (self.feed, exchange.rights)
        // It looks at every app: one of those who ask for the same list makes it.
        let generation = feed.table.generation
        let listed = try await self.lists.value(for: rights) { listed, _ in
            listed.generation >= generation
        } make: { () async throws -> (value: Listed, size: Int?) in
            let present = feed.table.generation
            let bytes = try await NIOThreadPool.singleton.runIfActive { feed.list(rights.sees).canonicalBytes }
            let tag = "\"\(Base64URL.encode(sha256(bytes)))\""
            return (Listed(generation: present, bytes: ByteBuffer(bytes: bytes), tag: tag), bytes.count)
        }
        let tag = listed.tag
        // Private: what it lists depends on the token.
        let headers: HTTPFields = [.eTag: tag, .cacheControl: "private, no-cache", .vary: "Authorization"]
        let condition = PreparedAnswer.joined(exchange.request.headers, .ifNoneMatch)
        if let condition, ConditionalRequest.noneMatch(condition, names: [tag]) != nil {
            return Response(status: .notModified, headers: headers)
        }
        var response = Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: listed.bytes))
        response.headers[.contentType] = "application/json"
        return response
    }

    private func stream(_ exchange: Exchange) async throws -> Response {
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        if exchange.request.method == .head { return Response(status: .ok, headers: headers) }
        guard let slot = self.limiter.take(for: [exchange.actor?.party ?? ""]) else {
            throw Problem(.overloaded, "Too many streams of all documents are open: here, or by your token.")
        }
        let (routes, actor) = (self, exchange.actor)
        let body = ResponseBody { writer in
            defer { slot.release() }
            var writer = writer
            try await exchange.request.body.consumeWithCancellationOnInboundClose { _ in
                try await routes.write(for: actor, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    @concurrent private func write(for actor: Actor?, to writer: inout any ResponseBodyWriter) async throws {
        let reader = self.feed.open()
        defer { self.feed.close(reader) }
        // The reader of this line knows that it misses nothing from here on.
        try await writer.write(ByteBuffer(string: ": pinledger\n\(DocumentEvent.retry())"))
        let interval = Duration.milliseconds(Int.random(in: (self.heartbeat * 2 / 3)...self.heartbeat))
        let heartbeat = AsyncTimerSequence(interval: interval, clock: .continuous).map { _ in false }
        for try await isNews in merge(reader.wakeups.map { true }, heartbeat).cancelOnGracefulShutdown() {
            let rights = self.rights(actor)
            guard rights.allowsSomewhere(.readApps) else { return }
            var isSilent = true
            for app in reader.take() {
                // Made now, and not when it changed: the newest is sent.
                guard let (id, text) = self.feed.event(of: app), rights.sees(id) else { continue }
                try await writer.write(ByteBuffer(bytes: text))
                isSilent = false
            }
            if !isNews, isSilent { try await writer.write(ByteBuffer(string: DocumentEvent.alive)) }
        }
    }
}
