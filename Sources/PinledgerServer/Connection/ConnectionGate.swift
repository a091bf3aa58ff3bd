import Logging
import NIOCore

/// Gives a new connection its place, or closes it before anything is spent on it; then leaves the pipeline.
///
/// With TLS it stays until the first bytes come: a connection on which nothing is sent costs no state of TLS.
final class ConnectionGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let places: ConnectionPlaces
    private let log: LimitedLog
    /// Adds the handlers behind.
    private let install: (_ isOnTrial: Bool) throws -> Void
    /// Makes the handler of TLS; nil for a listener without it.
    private let secure: (() -> any ChannelHandler)?
    /// Announces that none will be added.
    private let refuse: () -> Void
    private var isDone = false

    init(
        places: ConnectionPlaces, log: LimitedLog, install: @escaping (_ isOnTrial: Bool) throws -> Void,
        secure: (() -> any ChannelHandler)? = nil, refuse: @escaping () -> Void
    ) {
        self.places = places
        self.log = log
        self.install = install
        self.secure = secure
        self.refuse = refuse
    }

    func channelActive(context: ChannelHandlerContext) {
        let (channel, places) = (context.channel, self.places)
        let network = places.network(of: context.remoteAddress)
        let admission = places.take(channel, of: network, at: .now())
        guard admission != .none else {
            self.log.refusedConnection(of: network)
            return context.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in places.giveBack(channel, of: network) }
        do {
            try self.install(admission == .trial)
            self.isDone = true
            if self.secure == nil { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
        } catch {
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let secure else { return context.fireChannelRead(data) }
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(secure(), position: .after(self))
            context.fireChannelRead(data)
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if !self.isDone { self.refuse() }
    }
}
