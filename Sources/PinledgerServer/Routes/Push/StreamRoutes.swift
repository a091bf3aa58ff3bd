import AsyncAlgorithms
import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Publishing
import ServiceLifecycle

/// Streams of documents for clients whose request did not become a ``ClientStream`` at once: over HTTP/2, and with
/// heads that are out of the ordinary. They are told the same.
struct StreamRoutes: Sendable {
    let push: DocumentPush
    /// The answer to a client that asks for a document which does not exist.
    let missing: @Sendable (AppID) throws -> Problem

    var routes: [Route] {
        [
            Route(
                "streamDocument", .get, "/client/v1/apps/{app}/stream", surface: .client, access: .everybody,
                needsNoLedger: true, self.stream)
        ]
    }

    private func stream(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.app
        guard let current = self.push.event(of: app.text) else { throw try self.missing(app) }
        let headers: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no",
        ]
        if exchange.request.method == .head { return Response(status: .ok, headers: headers) }
        let forwardedFor = PreparedAnswer.joined(exchange.request.headers, .forwardedFor)
        let network = self.push.network(of: exchange.peer, forwardedFor: forwardedFor)
        guard let slot = self.push.slot(on: exchange.peer, in: network) else {
            var problem = Problem(
                .overloaded,
                "Too many streams of documents are open: here, on this connection, or in your network.")
            problem.headers[.retryAfter] = String(Int.random(in: 5...30))
            throw problem
        }
        let (push, last) = (self.push, exchange.request.headers[.lastEventID])
        push.count(current, last: last, report: PreparedAnswer.joined(exchange.request.headers, .pinledgerClient))
        let body = ResponseBody { writer in
            defer { slot.release() }
            var writer = writer
            try await exchange.request.body.consumeWithCancellationOnInboundClose { _ in
                try await Self.write(app.text, from: push, after: last, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    @concurrent private static func write(
        _ app: String, from push: DocumentPush, after last: String?, to writer: inout any ResponseBodyWriter
    ) async throws {
        var sent = last
        // Before the document is looked up: one that is published from here on wakes this stream.
        let news = push.wakeups(of: app).map { true }
        try await writer.write(ByteBuffer(string: ": pinledger\n\(DocumentEvent.retry())"))
        if let event = push.event(of: app), event.id != sent {
            try await writer.write(event.text)
            sent = event.id
        }
        let interval = Duration.milliseconds(Int.random(in: (push.heartbeat * 2 / 3)...push.heartbeat))
        let heartbeat = AsyncTimerSequence(interval: interval, clock: .continuous).map { _ in false }
        for try await isNews in merge(news, heartbeat).cancelOnGracefulShutdown() {
            if let event = push.event(of: app), event.id != sent {
                try await writer.write(event.text)
                sent = event.id
            } else if !isNews {
                try await writer.write(ByteBuffer(string: DocumentEvent.alive))
            }
        }
        try await writer.write(ByteBuffer(string: DocumentEvent.retry()))
    }
}

extension HTTPField.Name {
    /// Asks nginx and its like to pass on what comes at once.
    fileprivate static let accelBuffering = Self.constant("X-Accel-Buffering")
}
