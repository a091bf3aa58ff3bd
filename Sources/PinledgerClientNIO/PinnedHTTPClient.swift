import NIOCore
import NIOHTTP1
import NIOPosix
import PinledgerClient

/// Sends HTTP/1.1 requests over pinned connections, one connection for each request.
///
/// AsyncHTTPClient has no place where a validated chain can be judged; this is the small client for services that need it. A document is
/// fetched first where that is due. No redirect is followed, and nothing is decompressed. With a connection of its own, no request goes over one that an earlier policy let through.
public struct PinnedHTTPClient: Sendable {
    public struct Response: Hashable, Sendable {
        public var status: Int
        public var headers: [Header]
        public var body: [UInt8]
    }

    public struct Header: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Why there is no answer.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// Pins, or the chain, refused the connection: nothing was sent over it.
        case refused(PinnedTLS.Refusal)
        case tooLong(limit: Int)
        case timedOut
        /// The connection could not be made, or ended before the answer did.
        case broken(String)

        public var description: String {
            switch self {
            case .refused(let refusal): refusal.description
            case .tooLong(let limit): "the answer has more than \(limit) bytes"
            case .timedOut: "the answer took too long"
            case .broken(let words): "the connection broke: \(words)"
            }
        }
    }

    private let tls: PinnedTLS
    private let group: any EventLoopGroup

    /// - Throws: An error of swift-nio-ssl.
    public init(_ tls: PinnedTLS) throws {
        // It speaks nothing else.
        self.tls = try tls.offering(["http/1.1"])
        self.group = MultiThreadedEventLoopGroup.singleton
    }

    /// Sends one request.
    ///
    /// - Parameters:
    ///   - host: The name to connect to, in A-labels: it is also what pins are looked up by.
    ///   - target: The path with its query, such as `/v1/items?limit=10`.
    ///   - address: Where to connect instead of the name's address; for tests and special routes.
    ///   - limit: The most bytes of a body.
    /// - Throws: ``Failure``; `CancellationError` where the task is cancelled.
    public func send(
        _ method: String = "GET", host: String, port: Int = 443, target: String, headers: [Header] = [],
        body: [UInt8] = [], address: String? = nil, limit: Int = 16 << 20, timeout: Duration = .seconds(30)
    ) async throws -> Response {
        guard target.hasPrefix("/"), target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure.broken("a target begins with a slash and has no spaces")
        }
        guard (1...65_535).contains(port) else { throw Failure.broken("a port is from 1 to 65535") }
        let own = ["host", "connection", "content-length", "transfer-encoding"]
        if let header = headers.first(where: { own.contains($0.name.lowercased()) }) {
            throw Failure.broken("the header field \(header.name) is the client's own")
        }
        let began = ContinuousClock.now
        await self.tls.prepare(for: host, within: timeout)
        let rest = timeout - began.duration(to: .now)
        guard rest > .zero else { throw Failure.timedOut }
        let loop = self.group.next()
        let answer = loop.makePromise(of: Response.self)
        let (tls, attempt) = (self.tls, PinnedTLS.Attempt())
        let deadline = loop.scheduleTask(in: TimeAmount(rest)) { answer.fail(Failure.timedOut) }
        var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: target)
        head.headers.add(name: "Host", value: port == 443 ? host : "\(host):\(port)")
        for header in headers { head.headers.add(name: header.name, value: header.value) }
        head.headers.add(name: "Connection", value: "close")
        if !body.isEmpty { head.headers.add(name: "Content-Length", value: "\(body.count)") }
        let request = (head, body)
        let connected = ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(rest))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try tls.addHandlers(to: pipeline, for: host, attempt)
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(Exchange(request, limit, answer))
                }
            }
            .connect(host: address ?? host, port: port)
        connected.whenFailure { answer.fail(Failure.broken("\($0)")) }
        answer.futureResult.whenComplete { _ in
            deadline.cancel()
            connected.whenSuccess { $0.close(promise: nil) }
        }
        do {
            return try await withTaskCancellationHandler {
                try await answer.futureResult.get()
            } onCancel: {
                answer.fail(CancellationError())
            }
        } catch {
            // What the handshake was refused for is known before its error.
            if let refusal = attempt.refusal { throw Failure.refused(refusal) }
            throw error
        }
    }
}

/// Sends a request once the handshake is over, and gathers the answer.
private final class Exchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let request: (head: HTTPRequestHead, body: [UInt8])
    private let limit: Int
    private let answer: EventLoopPromise<PinnedHTTPClient.Response>
    private var response = PinnedHTTPClient.Response(status: 0, headers: [], body: [])

    init(
        _ request: (head: HTTPRequestHead, body: [UInt8]), _ limit: Int,
        _ answer: EventLoopPromise<PinnedHTTPClient.Response>
    ) {
        self.request = request
        self.limit = limit
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        // The TLS handler holds it back until the handshake is over.
        context.write(self.wrapOutboundOut(.head(self.request.head)), promise: nil)
        if !self.request.body.isEmpty {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: self.request.body)))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            // 103 and the like come before the answer. Nobody has asked for another protocol.
            guard head.status.code >= 200 else {
                if head.status.code == 101 { self.fail("it changes the protocol", context) }
                return
            }
            self.response.status = Int(head.status.code)
            self.response.headers = head.headers.map { PinnedHTTPClient.Header($0.name, $0.value) }
        case .body(let part):
            self.response.body += part.readableBytesView
            guard self.response.body.count > self.limit else { return }
            self.answer.fail(PinnedHTTPClient.Failure.tooLong(limit: self.limit))
            context.close(promise: nil)
        case .end:
            guard self.response.status > 0 else { return self.fail("it answered nothing", context) }
            self.answer.succeed(self.response)
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { self.fail("\(error)", context) }

    private func fail(_ words: String, _ context: ChannelHandlerContext) {
        self.answer.fail(PinnedHTTPClient.Failure.broken(words))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.answer.fail(PinnedHTTPClient.Failure.broken("it ended before the answer did"))
        context.fireChannelInactive()
    }
}
