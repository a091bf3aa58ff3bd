import AsyncAlgorithms
import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Postgres
import Publishing
import ServiceLifecycle

/// New events as they are recorded, as server-sent events: `/v1/events`.
///
/// `id` is the event's position, after the number of its epoch where that is not 0. A client that comes back with `Last-Event-ID` goes on after it and misses nothing, and
/// `after` says the same; `from` begins with the event of a position. One that says none of them is sent what is recorded
/// from now on. A stream lasts no longer than the token that opened it.
struct EventStream: Sendable {
    let services: Services
    /// The longest time without a sign of life, in milliseconds.
    let heartbeat: Int
    private let limiter = ConcurrencyLimiter<Never>(limit: Self.limit)
    private let pages: EventPages

    /// Streams at once.
    private static let limit = 200

    init(services: Services, heartbeat: Int) {
        self.services = services
        self.heartbeat = heartbeat
        self.pages = EventPages(reader: services.reader, streams: Self.limit)
    }

    var routes: [Route] {
        [
            Route(
                "streamEvents", .get, "/v1/events", access: .somewhere(.readHistory), query: ["app", "after", "from"],
                self.stream)
        ]
    }

    private func stream(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.appInQuery
        if let app { _ = try self.services.app(app, seenBy: exchange.rights) }
        guard exchange.rights.allows(.readHistory, of: app) else {
            guard let app else {
                throw Problem(
                    Refusal.permissionMissing(.readHistory, .everywhere),
                    alternative: "Or name an app: /v1/events?app=APP.")
            }
            throw Problem(Refusal.permissionMissing(.readHistory, .app(app)))
        }
        let head = self.services.ledger.position
        var cursor = head
        let (after, from) = (
            try exchange.number("after", in: 0...JSON.largestInteger),
            try exchange.number("from", in: 0...JSON.largestInteger)
        )
        guard after == nil || from == nil else {
            throw Problem(
                .malformedRequest, "Send the query parameter `after` or the query parameter `from`, not both.")
        }
        if let start = from ?? after.map({ $0 + 1 }) { cursor = start }
        if let text = exchange.request.headers[.lastEventID] {
            guard let last = EpochNumber(text) else {
                throw Problem(.malformedRequest, "Last-Event-ID must be the id of an event, such as 4711.")
            }
            let fleet = self.services.ledger.view.state.fleet
            guard last.epoch <= fleet.epoch else {
                throw Problem(
                    .positionAhead,
                    "The history is in epoch \(fleet.epoch), so none of its events has the id \(last).")
            }
            cursor = fleet.position(after: last)
        }
        guard cursor <= head else {
            throw Problem(
                .positionAhead, "The ledger has \(head) events, so none precedes position \(cursor).")
        }
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        if exchange.request.method == .head { return Response(status: .ok, headers: headers) }
        guard let slot = self.limiter.take() else { throw Problem(.overloaded, "Too many event streams are open.") }
        // Once the stream stands, it could only be broken off. A page that cannot be read for now is read later.
        if cursor < head {
            do { _ = try await self.pages.entries(at: cursor..<head) } catch let fault
                as LedgerFault where fault.isPruned
            {
                slot.release()
                throw fault
            } catch is PostgresError {}
        }

        let (stream, start, actor) = (self, cursor, exchange.actor)
        let body = ResponseBody { writer in
            defer { slot.release() }
            var writer = writer
            try await exchange.request.body.consumeWithCancellationOnInboundClose { _ in
                try await stream.write(from: start, of: app, for: actor, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// How often a page is asked for, a second apart, before the next heartbeat.
    private static let attempts = 10

    @concurrent private func write(
        from start: Int64, of app: AppID?, for actor: Actor?, to writer: inout any ResponseBodyWriter
    ) async throws {
        let ledger = self.services.ledger
        var cursor = start
        // Tells the client at once that the stream stands, and proxies that it is alive.
        try await writer.write(ByteBuffer(string: ": pinledger\n\n"))
        let interval = Duration.milliseconds(self.heartbeat)
        let heartbeat = AsyncTimerSequence(interval: interval, clock: .continuous).map { _ in Int64?.none }
        let wakeups = merge(ledger.positions().map { Int64?.some($0) }, heartbeat)
        for try await wakeup in wakeups.cancelOnGracefulShutdown() {
            guard self.services.rights(of: actor).allows(.readHistory, of: app) else { return }
            if wakeup == nil { try await writer.write(ByteBuffer(string: ": alive\n\n")) }
            // With a heartbeat comes what could not be read before.
            let position = wakeup ?? ledger.position
            var failures = 0
            while cursor < position, self.services.rights(of: actor).allows(.readHistory, of: app) {
                let page: ArraySlice<LedgerReader.Stored>
                do { page = try await self.pages.entries(at: cursor..<position) } catch let error as PostgresError {
                    failures += 1
                    guard error.isRetryable else { throw error }
                    // The database has no time just now, or is away: the stream stands, and shows by heartbeats that it does.
                    guard failures < Self.attempts else { break }
                    try await Task.sleep(for: .seconds(1))
                    continue
                }
                guard let last = page.last else {
                    // The database server that answered is behind another one.
                    failures += 1
                    guard failures < Self.attempts else { break }
                    try await Task.sleep(for: .seconds(1))
                    continue
                }
                let rights = self.services.rights(of: actor)
                guard rights.allows(.readHistory, of: app) else { break }
                let text = Self.text(of: page, app, rights, ledger.view.state.fleet)
                if text.readableBytes > 0 { try await writer.write(text) }
                cursor = last.entry.position + 1
            }
        }
    }

    private static func text(
        of page: ArraySlice<LedgerReader.Stored>, _ app: AppID?, _ rights: Rights, _ fleet: Fleet
    ) -> ByteBuffer {
        let hidden = Set(rights.hiddenStreams)
        var text = ByteBuffer()
        for stored in page
        where (app == nil || stored.entry.stream.app == app) && !hidden.contains(stored.entry.stream) {
            // Canonical JSON has no line feed, so that one data line holds the entry.
            let id = EpochNumber(epoch: fleet.epoch(at: stored.entry.position), number: stored.entry.position)
            text.writeString("id: \(id)\nevent: \(stored.entry.event.type)\ndata: ")
            text.writeBytes(stored.bytes)
            text.writeString("\n\n")
        }
        return text
    }
}
