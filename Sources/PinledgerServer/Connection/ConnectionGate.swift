import Logging
import NIOCore

/// Gives a new connection its place, or closes it before anything is spent on it; then leaves the pipeline.
final class ConnectionGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let places: ConnectionPlaces
    private let log: LimitedLog
    /// Adds the handlers behind.
    private let install: (_ isOnTrial: Bool) throws -> Void
    /// Announces that none will be added.
    private let refuse: () -> Void
    private var isDone = false

    init(
        places: ConnectionPlaces, log: LimitedLog, install: @escaping (_ isOnTrial: Bool) throws -> Void,
        refuse: @escaping () -> Void
    ) {
        self.places = places
        self.log = log
        self.install = install
        self.refuse = refuse
    }

    func channelActive(context: ChannelHandlerContext) {
        let (channel, places) = (context.channel, self.places)
        let network = places.network(of: context.remoteAddress)
        let admission = places.take(channel, of: network)
        guard admission != .none else {
            self.log.refusedConnection(of: network)
            return context.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in places.giveBack(channel, of: network) }
        do {
            try self.install(admission == .trial)
            self.isDone = true
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if !self.isDone { self.refuse() }
    }
}
