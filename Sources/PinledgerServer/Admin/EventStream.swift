import AsyncAlgorithms
import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Publishing
import ServiceLifecycle
import Synchronization

/// New events as they are recorded, as server-sent events: `/v1/events`.
///
/// `id` is the event's position. A client that comes back with `Last-Event-ID` goes on after it and misses nothing; one
/// that comes without hears what is recorded from now on.
struct EventStream: Sendable {
    let services: Services
    let slots: StreamSlots

    var routes: [Route] {
        [Route("streamEvents", .get, "/v1/events", query: ["app", "after"], self.stream)]
    }

    private func stream(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.appInQuery
        if let app { _ = try self.services.app(app) }
        let head = self.services.ledger.position
        var cursor = head
        if let after = try exchange.number("after", in: 0...JSON.largestInteger) { cursor = after + 1 }
        if let text = exchange.request.headers[.lastEventID] {
            guard let last = Int64(text), last >= 0, last <= JSON.largestInteger else {
                throw Problem(.malformedRequest, "Last-Event-ID must be a position.")
            }
            cursor = last + 1
        }
        guard cursor <= head else {
            throw Problem(
                .positionAhead, "The ledger has \(head) events, so that there is none before position \(cursor).")
        }
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        if exchange.request.method == .head { return Response(status: .ok, headers: headers) }
        guard let slot = self.slots.take() else { throw Problem(.overloaded, "Too many event streams are open.") }

        let (services, start) = (self.services, cursor)
        let body = ResponseBody { writer in
            defer { slot.release() }
            var writer = writer
            try await exchange.request.body.consumeWithCancellationOnInboundClose { _ in
                try await Self.write(from: start, of: app, services, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    @concurrent private static func write(
        from start: Int64, of app: AppID?, _ services: Services, to writer: inout any ResponseBodyWriter
    ) async throws {
        var cursor = start
        // Tells the client at once that the stream stands, and proxies that it is alive.
        try await writer.write(ByteBuffer(string: ": pinledger\n\n"))
        let heartbeat = AsyncTimerSequence(interval: .seconds(15), clock: .continuous).map { _ in Int64?.none }
        let wakeups = merge(services.ledger.positions().map { Int64?.some($0) }, heartbeat)
        for try await wakeup in wakeups.cancelOnGracefulShutdown() {
            guard let position = wakeup else {
                try await writer.write(ByteBuffer(string: ": alive\n\n"))
                continue
            }
            while cursor < position {
                let page = try await services.reader.entries(at: cursor..<position, limit: 500)
                guard let last = page.last else { break }
                var text = ByteBuffer()
                for stored in page where app == nil || stored.entry.stream.app == app {
                    // Canonical JSON has no line feed, so that one data line holds the entry.
                    text.writeString("id: \(stored.entry.position)\nevent: \(stored.entry.event.type)\ndata: ")
                    text.writeBytes(stored.bytes)
                    text.writeString("\n\n")
                }
                if text.readableBytes > 0 { try await writer.write(text) }
                cursor = last.entry.position + 1
            }
        }
    }
}

/// Bounds how many event streams are open at once.
final class StreamSlots: Sendable {
    private let open = Mutex(0)
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// A place that is given back once.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let isTaken = Atomic(true)

        init(slots: StreamSlots) {
            self.slots = slots
        }

        func release() {
            if self.isTaken.exchange(false, ordering: .relaxed) { self.slots.open.withLock { $0 -= 1 } }
        }

        // A response that is never written still gives its place back.
        deinit { self.release() }
    }

    /// A place; nil where all are taken.
    func take() -> Slot? {
        self.open.withLock { open in
            guard open < self.limit else { return nil }
            open += 1
            return Slot(slots: self)
        }
    }
}
