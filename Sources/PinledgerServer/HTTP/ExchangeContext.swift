import Hummingbird
import NIOCore

/// What a listener knows of a request besides the request.
struct ExchangeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The other end of the connection.
    let peer: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.peer = source.channel.remoteAddress
    }
}
