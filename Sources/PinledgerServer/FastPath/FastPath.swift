import NIOCore

/// All that the rest of the server knows of the fast path: the handlers that ``ConnectionSetup`` puts in their places.
/// README.md beside this file describes what they do.
enum FastPath {
    /// The first handler of a connection, next to the socket or to TLS.
    ///
    /// - Parameters:
    ///   - isOnTrial: The connection has no place outside the operators' reserve.
    ///   - upgrade: Succeeds when HTTP/1.1 messages or HTTP/2 are needed, or with nil when the connection has ended.
    static func connectionHandler(
        setup: ConnectionSetup, share: EventLoopState, isOnTrial: Bool,
        upgrade: EventLoopPromise<ConnectionSetup.Exchange?>
    ) -> some ChannelHandler {
        FastPathHandler(setup: setup, share: share, isOnTrial: isOnTrial, upgrade: upgrade)
    }

    /// The first handler of every stream that NIOHTTP2 makes a channel of.
    static func streamHandler(writeLimit: TimeAmount) -> some RemovableChannelHandler {
        StreamProgress(limit: writeLimit)
    }

    /// The last handler before the router, of a stream or of an HTTP/1.1 connection.
    ///
    /// - Parameters:
    ///   - answers: Nil to answer nothing before the router.
    ///   - rules: Those of an HTTP/1.1 connection; nil over HTTP/2.
    static func messageHandler(
        answers: PreparedAnswers?, shares: EventLoopStates, rules: HTTP1Rules? = nil
    ) -> some RemovableChannelHandler {
        PreparedHandler(answers: answers, shares: shares, rules: rules)
    }
}
