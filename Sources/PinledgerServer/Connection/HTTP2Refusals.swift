import Hummingbird
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Reports heads over HTTP/2 that NIOHTTP2 refuses, so that no stream has them. It stands next to NIOHTTP2, whose connection ends by the
/// same error.
final class HTTP2Refusals: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let onRefusal: OnRefusal

    init(onRefusal: @escaping OnRefusal) {
        self.onRefusal = onRefusal
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if Self.isMistake((error as? NIOHTTP2Errors.StreamError)?.baseError ?? error) {
            self.onRefusal(.unreadableHTTP2, "\(RequestID())", context.remoteAddress)
        }
        context.fireErrorCaught(error)
    }

    /// Whether the client has sent what HTTP/2 does not allow. What follows from a connection or a stream that has just ended is no
    /// mistake.
    private static func isMistake(_ error: any Error) -> Bool {
        switch error {
        case is NIOHTTP2Errors.NoSuchStream, is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.CreatedStreamAfterGoaway,
            is NIOHTTP2Errors.IOOnClosedConnection, is NIOHTTP2Errors.ActivationError:
            false
        default: error is any NIOHTTP2Error || error is any NIOHPACKError
        }
    }
}

extension Problem {
    /// A request over HTTP/2 that is refused with its connection: no stream is left to answer on.
    static var unreadableHTTP2: Self { Self(.malformedRequest, "The request is not valid HTTP/2 (RFC 9113).") }
}
