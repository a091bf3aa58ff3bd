import NIOCore
import NIOHTTP1
import NIOSSL

/// One request and its answer on a connection of their own, which is then closed.
///
/// It reads the head and the beginning of the body, and closes the connection on a receiver that sends more.
final class ReceiverExchange: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// What is sent, and how much of the answer's body is read.
    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: ByteBuffer
        var limit: Int
    }

    private let request: Request
    private let answered: EventLoopPromise<ReceiverAnswer>
    private var answer: ReceiverAnswer?

    init(_ request: Request, answered: EventLoopPromise<ReceiverAnswer>) {
        self.request = request
        self.answered = answered
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(self.wrapOutboundOut(.head(self.request.head)), promise: nil)
        if self.request.body.readableBytes > 0 {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(self.request.body))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.answer = ReceiverAnswer(
                status: Int(head.status.code), retryAfter: head.headers.first(name: "retry-after"), body: []
            )
        case .body(let part):
            let room = self.request.limit - (self.answer?.body.count ?? 0)
            self.answer?.body += part.readableBytesView.prefix(max(0, room))
            if part.readableBytes >= room { self.finish(context) }
        case .end: self.finish(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.end(with: .broken("\(error)"))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(with: .broken("the receiver closed the connection without an answer"))
        context.fireChannelInactive()
    }

    /// Ends the exchange from outside.
    func abandon(_ failure: SendFailure, on channel: any Channel) {
        self.end(with: failure)
        channel.close(promise: nil)
    }

    /// A head that has come is an answer, even if the body is not complete. Only the first outcome counts.
    private func end(with failure: SendFailure) {
        if let answer = self.answer { self.answered.succeed(answer) } else { self.answered.fail(failure) }
    }

    private func finish(_ context: ChannelHandlerContext) {
        self.end(with: .broken(""))
        context.close(promise: nil)
    }
}
