import Hummingbird
import NIOCore

/// A listener's facts about a request beside the request.
struct ExchangeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The other end of the connection.
    let peer: SocketAddress?
    /// The connection, identified by one of its channels: over HTTP/2 a request comes on a channel of the connection's.
    let channels: [ObjectIdentifier]

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.peer = source.channel.remoteAddress
        self.channels = [source.channel, source.channel.parent].compactMap { $0.map { ObjectIdentifier($0) } }
    }
}
