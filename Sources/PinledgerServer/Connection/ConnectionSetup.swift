import Addresses
import HTTPTypes
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import PinWire
import Pinning
import Probing

/// What is told of a request that is refused before the router has it.
typealias OnRefusal = (Problem, _ requestID: String, _ peer: SocketAddress?) -> Void

/// What every connection of a listener is made of: TLS where there is a certificate, the fast path, and behind it
/// HTTP/1.1 or HTTP/2 when they are needed.
struct ConnectionSetup: HTTPChannelHandler {
    /// What takes the requests that the fast path does not answer.
    enum Exchange: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
    }

    /// A connection; ``exchange`` is there when the first request needs it, and nil if none ever does.
    struct Connection: ServerChildChannelValue {
        let channel: any Channel
        let exchange: EventLoopFuture<Exchange?>
    }

    let responder: HTTPChannelHandler.Responder
    /// Nil on a listener that is not for clients.
    let answers: PreparedAnswers?
    let shares: EventLoopStates
    let limits: Server.Limits
    let certificate: ServerCertificate?
    let content: Server.Listener.Content
    let places: ConnectionPlaces
    private let auditCounter: AuditCounter
    private let clock: @Sendable () -> Timestamp
    private let log: LimitedLog
    private let notes: RequestNotes?
    private let http2: HTTP2Channel
    /// The same for connections on trial: nothing is answered before the router.
    private let routedHTTP2: HTTP2Channel

    init(
        responder: @escaping HTTPChannelHandler.Responder, answers: PreparedAnswers?, shares: EventLoopStates,
        limits: Server.Limits, certificate: ServerCertificate?, content: Server.Listener.Content,
        places: ConnectionPlaces, auditCounter: AuditCounter, clock: @escaping @Sendable () -> Timestamp,
        log: LimitedLog, notes: RequestNotes?
    ) {
        self.notes = notes
        self.responder = responder
        self.answers = answers
        self.shares = shares
        self.limits = limits
        self.certificate = certificate
        self.content = content
        self.places = places
        self.auditCounter = auditCounter
        self.clock = clock
        self.log = log
        let bodyLimit = TimeAmount.seconds(Int64(limits.bodySeconds))
        let writeLimit = TimeAmount.seconds(Int64(limits.writeSeconds))
        func http2(_ answers: PreparedAnswers?) -> HTTP2Channel {
            HTTP2Channel(
                responder: responder,
                configuration: HTTP2ChannelConfiguration(
                    gracefulCloseTimeout: .seconds(limits.drainSeconds),
                    streamConfiguration: .init(
                        additionalChannelHandlers: [
                            // First: what is answered from prepared bytes may have a long body too.
                            FastPath.streamHandler(writeLimit: writeLimit),
                            RequestAccount(shares: shares, log: log), BodyGuard(timeLimit: bodyLimit),
                            FastPath.messageHandler(answers: answers, shares: shares),
                        ]
                    )
                )
            )
        }
        self.http2 = http2(answers)
        self.routedHTTP2 = http2(nil)
    }

    /// Bytes that the system holds for a client, which Linux doubles: enough for what is waited for on a slow path.
    private static let sendBuffer: SocketOptionValue = 128 * 1024

    // MARK: ServerChildChannel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            guard let share = self.shares.share(of: channel.eventLoop) else { throw ChannelError.operationUnsupported }
            // A client that does not read must not fill the system's memory.
            try? channel.syncOptions?.setOption(.socketOption(.so_sndbuf), value: Self.sendBuffer)
            let promise = channel.eventLoop.makePromise(of: Exchange?.self)
            let secure = self.certificate.map { certificate in
                { NIOSSLServerHandler(context: certificate.current(of: self.content)) as any ChannelHandler }
            }
            let gate = ConnectionGate(
                places: self.places, log: self.log,
                install: { isOnTrial in
                    // First: whatever happens now, it keeps the promise.
                    try channel.pipeline.syncOperations.addHandler(
                        FastPath.connectionHandler(setup: self, share: share, isOnTrial: isOnTrial, upgrade: promise))
                }, secure: secure,
                refuse: { promise.succeed(nil) })
            try channel.pipeline.syncOperations.addHandler(gate)
            return Connection(channel: channel, exchange: promise.futureResult)
        }
    }

    func handle(value connection: Connection, logger: Logger) async {
        await withTaskCancellationHandler {
            await self.exchange(connection, logger)
        } onCancel: {
            connection.channel.close(promise: nil)
        }
    }

    private func exchange(_ connection: Connection, _ logger: Logger) async {
        let exchange: Exchange?
        // The promise is kept when the channel closes at the latest, and never fails.
        do { exchange = try await connection.exchange.get() } catch { return }
        switch exchange {
        case .http1(let channel): await self.handleHTTP(asyncChannel: channel, logger: logger)
        case .http2(let channel): await self.http2.handle(value: channel, logger: logger)
        case nil: break
        }
    }

    // MARK: Called in by the fast path

    /// Adds HTTP/1.1 to a connection.
    func addHTTP1(to channel: any Channel, _ rules: HTTP1Rules, isOnTrial: Bool) throws -> HTTP1Channel.Value {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = Self.headerFieldSize
        decoding.maxHeaderListSize = Self.headerListSize
        decoding.maxHeaderFieldCount = Self.headerFieldCount
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            HTTPResponseEncoder(),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)),
            rules,
            HTTP1ToHTTPServerCodec(secure: self.certificate != nil),
            RequestAccount(shares: self.shares, log: self.log),
            BodyGuard(timeLimit: .seconds(Int64(self.limits.bodySeconds)), rules: rules),
            FastPath.messageHandler(answers: isOnTrial ? nil : self.answers, shares: self.shares, rules: rules),
        ])
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true)
        )
    }

    private static let headerFieldSize = 8 * 1024
    private static let headerListSize = 16 * 1024
    private static let headerFieldCount = 64

    /// Counts a request that was refused before anything else saw it, as the ledger is to know of those on operators' listeners. Who sent
    /// it is the other end of the connection: what the request says of that is not to be trusted.
    func audit(_ problem: Problem, _ requestID: String, _ peer: SocketAddress?) {
        guard let address = peer.flatMap({ IPAddress($0) }) else { return }
        self.notes?.noteUnreadable(problem, requestID, peer: address.plain)
        guard self.content != .client else { return }
        self.auditCounter.note(
            AuditRecord(
                actor: nil, address: address.plain, proxy: nil, operation: nil, app: nil, outcome: .refused,
                status: problem.type.entry.status.code, problem: problem.type.rawValue, time: self.clock(),
                requestID: requestID))
    }

    /// Adds HTTP/2 to a connection.
    func addHTTP2(to channel: any Channel, isOnTrial: Bool) -> EventLoopFuture<Exchange> {
        let http2 = isOnTrial ? self.routedHTTP2 : self.http2
        return http2.setup(channel: channel, logger: Logger(label: "pinledger")).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let handler = try pipeline.handler(type: NIOHTTP2Handler.self)
            try pipeline.addHandler(HTTP2Refusals(onRefusal: self.audit), position: .after(handler))
            return .http2(value)
        }
    }
}
