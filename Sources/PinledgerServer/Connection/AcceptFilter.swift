import LogLines
import Logging
import NIOCore

/// Closes accepted connections for which there is no place, before a pipeline is made and an event loop takes them.
///
/// It is in the listener's pipeline in front of the handler that sets connections up. A network that reconnects as fast
/// as it is closed fills the accept queue, in which all clients wait: the less each of its connections costs, the
/// shorter that queue is.
final class AcceptFilter: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let places: ConnectionPlaces
    private let log: LimitedLog

    init(places: ConnectionPlaces, log: LimitedLog) {
        self.places = places
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = self.unwrapInboundIn(data)
        let network = self.places.network(of: channel.remoteAddress)
        guard self.places.refusesAtOnce(network, at: .now()) else { return context.fireChannelRead(data) }
        self.log.refusedConnection(of: network)
        channel.close(promise: nil)
    }
}

extension LimitedLog {
    func refusedConnection(of network: ClientNetwork?) {
        self.log(
            .refusedConnection,
            [
                "network": "\(network?.description ?? "a trusted proxy's")",
                "cause": "its network has as many connections as it may have, or all are taken",
            ])
    }
}
