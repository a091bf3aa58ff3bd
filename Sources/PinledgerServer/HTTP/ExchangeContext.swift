import Hummingbird
import NIOCore

/// What a listener knows of a request besides the request.
struct ExchangeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The other end of the connection.
    let peer: SocketAddress?
    /// The connection, among what it may be known by: over HTTP/2 a request comes on a channel of the connection's.
    let channels: [ObjectIdentifier]

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.peer = source.channel.remoteAddress
        self.channels = [source.channel, source.channel.parent].compactMap { $0.map { ObjectIdentifier($0) } }
    }
}
