import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers requests for prepared answers before the router sees them, on the event loop and without waiting: on HTTP/1.1
/// connections on which other requests have been made too, and over HTTP/2 where flow control is to be waited for.
///
/// A request is answered here only if none before it is still with the router, so that answers keep the order of the
/// requests; if the client takes what is sent to it; and if it has no body. Everything else goes on to the router, which
/// gives the same answer.
final class PreparedHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let answers: PreparedAnswers?
    private let shares: EventLoopStates
    private let rules: HTTP1Rules?
    private var share: EventLoopState?
    /// The request whose parts are coming in was answered here.
    private var isSwallowing = false
    private var mustFlush = false

    /// - Parameter rules: Those of the connection, which know how many requests are not answered; nil over HTTP/2, where a
    ///   stream has one request.
    init(answers: PreparedAnswers?, shares: EventLoopStates, rules: HTTP1Rules?) {
        self.answers = answers
        self.shares = shares
        self.rules = rules
    }

    func handlerAdded(context: ChannelHandlerContext) { self.share = self.shares.share(of: context.eventLoop) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let request):
            guard self.rules?.outstanding ?? 1 == 1, context.channel.isWritable, self.answer(request, context) else {
                return context.fireChannelRead(data)
            }
            self.isSwallowing = true
        case .body:
            if !self.isSwallowing { context.fireChannelRead(data) }
        case .end:
            if !self.isSwallowing { context.fireChannelRead(data) }
            self.isSwallowing = false
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.mustFlush {
            self.mustFlush = false
            context.flush()
        }
        context.fireChannelReadComplete()
    }

    private func answer(_ request: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
        guard let share = self.share, request.method == .get || request.method == .head, var target = request.path
        else { return false }
        let fields = request.headerFields
        guard fields[.contentLength] == nil, fields[.transferEncoding] == nil, fields[.expect] == nil,
            let answer = target.withUTF8({ self.answers?.answer(to: UnsafeRawBufferPointer($0)) }),
            let variant = answer.ready(
                ifNoneMatch: PreparedAnswer.joined(fields, .ifNoneMatch),
                share.preference(PreparedAnswer.joined(fields, .acceptEncoding))
            )
        else { return false }
        if request.method == .get {
            share.tally.count(
                answer, variant.response.status, PreparedAnswer.joined(fields, .ifNoneMatch),
                PreparedAnswer.joined(fields, .pinledgerClient))
        }
        share.notes?.notePrepared(
            request.method.rawValue, target, variant,
            peer: context.channel.remoteAddress,
            forwardedFor: PreparedAnswer.joined(fields, .forwardedFor))
        var response = variant.response
        response.headerFields[.date] = share.date
        context.write(self.wrapOutboundOut(.head(response)), promise: nil)
        if request.method == .get, let body = variant.body {
            context.write(self.wrapOutboundOut(.body(body)), promise: nil)
        }
        context.write(self.wrapOutboundOut(.end(nil)), promise: nil)
        self.mustFlush = true
        share.served.count(variant.response.status)
        return true
    }
}
