import NIOCore
import NIOHTTPTypes

/// Closes an HTTP/2 stream whose client takes nothing of its answer for too long, and tells the connection's
/// ``PreparedStreams`` how long the stream is there.
///
/// A client decides by its flow-control window how much it takes. One that gives none holds the whole answer in the
/// server's memory, on as many streams as it may open, and keeps the connection busy by any other frame. Bodies go out
/// in pieces of ``piece`` bytes, and one of them has to be taken in every ``limit``.
final class StreamProgress: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private static let piece = 16 * 1024

    private let limit: TimeAmount
    /// Writes that are not taken yet.
    private var pending = 0
    /// When something was taken last, or began to wait.
    private var movedAt = NIODeadline.now()
    private var timer: Scheduled<Void>?
    private var streams: PreparedStreams?

    init(limit: TimeAmount) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The connection's handlers are gone where it has closed meanwhile.
        self.streams = try? context.channel.parent?.pipeline.syncOperations.handler(type: PreparedStreams.self)
        self.streams?.streamOpened()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.streams?.streamClosed()
        self.streams = nil
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(var bytes) = self.unwrapOutboundIn(data), bytes.readableBytes > Self.piece else {
            return self.send(data, promise, context)
        }
        while bytes.readableBytes > Self.piece, let piece = bytes.readSlice(length: Self.piece) {
            self.send(self.wrapOutboundOut(.body(piece)), nil, context)
        }
        self.send(self.wrapOutboundOut(.body(bytes)), promise, context)
    }

    private func send(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let promise = promise ?? context.eventLoop.makePromise()
        self.pending += 1
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.pending -= 1
            self.movedAt = .now()
            if self.pending == 0 {
                self.timer?.cancel()
                self.timer = nil
            }
        }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard self.pending > 0, self.timer == nil else { return }
        self.movedAt = .now()
        self.watch(context.channel)
    }

    private func watch(_ channel: any Channel) {
        self.timer = channel.eventLoop.assumeIsolated().scheduleTask(deadline: self.movedAt + self.limit) {
            self.timer = nil
            guard self.pending > 0 else { return }
            guard .now() >= self.movedAt + self.limit else { return self.watch(channel) }
            self.streams?.streamStalled()
            channel.close(promise: nil)
        }
    }
}
