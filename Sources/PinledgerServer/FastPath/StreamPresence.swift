import NIOCore
import NIOHTTPTypes

/// Tells a connection's ``PreparedStreams`` how long one of the router's streams is there.
final class StreamPresence: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart

    private var streams: PreparedStreams?

    func handlerAdded(context: ChannelHandlerContext) {
        // The connection's handlers are gone where it has closed meanwhile.
        self.streams = try? context.channel.parent?.pipeline.syncOperations.handler(type: PreparedStreams.self)
        self.streams?.streamOpened()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.streams?.streamClosed()
        self.streams = nil
    }
}
