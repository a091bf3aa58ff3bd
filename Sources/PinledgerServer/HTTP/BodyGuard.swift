import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Bounds what one request may make the server read, and for how long, and tells clients that ask whether to send a body
/// at all.
///
/// A body is read by the handler that wants it, within that operation's limit. Whatever the handler leaves is read on to
/// reach the next request, and a client could keep a connection busy with it forever, token or no token. So past
/// ``limit`` nothing more is read and the connection is closed, after a moment in which the answer can get out; and a
/// body that has not come to its end in time closes the connection (over HTTP/2, the stream). `Expect: 100-continue`
/// (RFC 9110 section 10.1.1) is answered at once where the body declared is within the limit.
final class BodyGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Bytes of one body that are read at the most: more than the largest that any operation takes.
    static let limit = 2 * 1024 * 1024

    private let timeLimit: TimeAmount
    /// Bytes of the present request's body so far.
    private var count = 0
    private var isTripped = false
    /// The present request has not come to its end.
    private var isReading = false
    private var deadline: Scheduled<Void>?
    private let rules: HTTP1Rules?

    /// - Parameter rules: Those of the connection, which know how many requests are not answered; nil over HTTP/2, where a
    ///   stream has one request.
    init(timeLimit: TimeAmount, rules: HTTP1Rules? = nil) {
        self.timeLimit = timeLimit
        self.rules = rules
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.deadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let request):
            self.count = 0
            self.isReading = true
            self.answerExpectation(of: request, context)
        case .body(let bytes):
            self.count += bytes.readableBytes
            guard !self.isTripped else { return }
            if self.count > Self.limit { return self.trip(context) }
        case .end:
            self.isReading = false
            self.deadline?.cancel()
            self.deadline = nil
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests are whole by now and need no timer.
        if self.isReading, self.deadline == nil {
            let channel = context.channel
            self.deadline = context.eventLoop.scheduleTask(in: self.timeLimit) { channel.close(promise: nil) }
        }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if !self.isTripped { context.read() }
    }

    private func answerExpectation(of request: HTTPRequest, _ context: ChannelHandlerContext) {
        // Not into the middle of an earlier answer; a client that gets no 100 sends its body after a while.
        guard self.rules?.outstanding ?? 1 == 1, request.headerFields[.expect]?.lowercased() == "100-continue" else {
            return
        }
        let declared = request.headerFields[.contentLength].flatMap(Int.init)
        guard declared.map({ $0 <= Self.limit }) ?? true else { return }
        context.writeAndFlush(self.wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    private func trip(_ context: ChannelHandlerContext) {
        self.isTripped = true
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
}
