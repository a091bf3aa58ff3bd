import NIOCore
import NIOTLS
import PinWire
import PinledgerClient
import Synchronization

/// The connections that were let through and are open, with what they were judged by.
final class OpenConnections: Sendable {
    private let events = Mutex<[ObjectIdentifier: (channel: any Channel, event: ConnectionEvent)]>([:])

    func add(_ channel: any Channel, _ event: ConnectionEvent) {
        self.events.withLock { $0[ObjectIdentifier(channel)] = (channel, event) }
    }

    func remove(_ channel: any Channel) { self.events.withLock { $0[ObjectIdentifier(channel)] = nil } }

    /// Closes those that `isRefused` names; how many they are.
    func close(where isRefused: (ConnectionEvent) -> Bool) -> Int {
        // Event loops wait for the lock.
        let open = self.events.withLock { Array($0.values) }
        let refused = open.filter { isRefused($0.event) }.map(\.channel)
        for channel in refused { channel.close(promise: nil) }
        return refused.count
    }
}

/// Stands behind the TLS handler, and keeps its channel among the open connections from the handshake to the end.
final class OpenConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let connections: OpenConnections
    private let attempt: PinnedTLS.Attempt
    private let isRefused: @Sendable (ConnectionEvent) -> Bool

    init(
        _ connections: OpenConnections, _ attempt: PinnedTLS.Attempt,
        isRefused: @escaping @Sendable (ConnectionEvent) -> Bool
    ) {
        self.connections = connections
        self.attempt = attempt
        self.isRefused = isRefused
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent, let judged = self.attempt.judged {
            self.connections.add(context.channel, judged)
            // Another document may have come between the judgement and now: no one would look at this connection again.
            if self.isRefused(judged) { return context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.connections.remove(context.channel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.connections.remove(context.channel) }
}
