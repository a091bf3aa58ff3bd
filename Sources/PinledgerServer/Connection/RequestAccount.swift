import HTTPTypes
import Logging
import NIOCore
import NIOHTTPTypes

/// Keeps a connection's, or over HTTP/2 a stream's, account with ``HeldRequests``: of its requests that are not answered to
/// the end, what has come of their bodies, and what the client has not taken of the answers.
///
/// A stream of events stays open for as long as its client likes, and holds no answer: ``DocumentPush`` bounds how many there
/// are, and it has no account.
final class RequestAccount: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// A larger answer is prepared, and its bytes are shared by all who wait for it.
    private static let answerLimit = 64 * 1024

    private let shares: EventLoopStates
    private let log: LimitedLog
    private var held: HeldRequests?
    private var channel: (any Channel)?
    private var place: Int?
    /// Requests whose answers are not taken to the end.
    private var outstanding = 0

    init(shares: EventLoopStates, log: LimitedLog) {
        self.shares = shares
        self.log = log
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.held = self.shares.share(of: context.eventLoop)?.held
        self.channel = context.channel
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.close()
        self.channel = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            self.outstanding += 1
            if self.place == nil { self.place = self.held?.add(self, on: context.eventLoop) }
        case .body(let bytes):
            if let place { self.held?.move(place, by: bytes.readableBytes, on: context.eventLoop) }
        case .end: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = self.unwrapOutboundIn(data)
        switch part {
        case .head(let response):
            if response.headerFields[.contentType] == "text/event-stream" { self.close() }
            context.write(data, promise: promise)
        case .body(let bytes):
            guard let place else { return context.write(data, promise: promise) }
            let count = min(bytes.readableBytes, Self.answerLimit)
            self.held?.grow(place, by: count, on: context.eventLoop)
            let (promise, loop) = (promise ?? context.eventLoop.makePromise(), context.eventLoop)
            promise.futureResult.assumeIsolated().whenComplete { _ in
                // The account may have been closed meanwhile, and another opened.
                if self.place == place { self.held?.move(place, by: -count, on: loop) }
            }
            context.write(data, promise: promise)
        case .end:
            let promise = promise ?? context.eventLoop.makePromise()
            promise.futureResult.assumeIsolated().whenComplete { _ in
                self.outstanding -= 1
                if self.outstanding == 0 { self.close() }
            }
            context.write(data, promise: promise)
        }
    }

    /// Ends the request, and with it the stream or the connection, because all requests hold too much.
    func giveWay() {
        self.close()
        guard let channel else { return }
        let connection = channel.remoteAddress ?? channel.parent?.remoteAddress
        self.log.log(.endedRequest, ["address": "\(connection?.ipAddress ?? "")"])
        channel.close(promise: nil)
    }

    private func close() {
        guard let place else { return }
        self.place = nil
        self.held?.remove(place)
    }
}
