import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver on 127.0.0.1 that answers as it is told and remembers what it got.
final class Receiver: Sendable {
    /// What it does with a connection or a request.
    enum Behaviour: Sendable {
        case answer(Int, [(String, String)] = [], body: String = "")
        /// Takes everything and says nothing.
        case hang
        /// Closes the connection as soon as it has the request.
        case hangUp
        /// Answers with what is no HTTP.
        case babble
        /// Answers 200 and then sends without end.
        case flood
    }

    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: String
    }

    let port: Int
    private let channel: any Channel
    private let seen: Seen

    private final class Seen: Sendable {
        let requests = Mutex<[Request]>([])
        let connections = Mutex(0)
    }

    var requests: [Request] { self.seen.requests.withLock { $0 } }
    var connections: Int { self.seen.connections.withLock { $0 } }

    private init(channel: any Channel, seen: Seen) {
        self.channel = channel
        self.port = channel.localAddress?.port ?? 0
        self.seen = seen
    }

    static func run<R>(_ behaviour: Behaviour, _ body: (Receiver) async throws -> R) async throws -> R {
        let seen = Seen()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                seen.connections.withLock { $0 += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                    try pipeline.addHandler(Handler(behaviour, seen))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result<R, any Error>
        do { result = .success(try await body(Receiver(channel: channel, seen: seen))) } catch {
            result = .failure(error)
        }
        try? await channel.close()
        return try result.get()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        private let behaviour: Behaviour
        private let seen: Seen
        private var head: HTTPRequestHead?
        private var body = ""

        init(_ behaviour: Behaviour, _ seen: Seen) {
            self.behaviour = behaviour
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body(let part): self.body += String(buffer: part)
            case .end:
                guard let head else { return }
                self.seen.requests.withLock { $0.append(Request(head: head, body: self.body)) }
                self.answer(context)
            }
        }

        private func answer(_ context: ChannelHandlerContext) {
            switch self.behaviour {
            case .hang: break
            case .hangUp: context.close(promise: nil)
            case .babble: self.write("220 mail.example.com ESMTP\r\n\r\n", context)
            case .flood:
                self.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", context)
                self.flood(context)
            case .answer(let status, let fields, let body):
                var text = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n"
                for (name, value) in fields { text += "\(name): \(value)\r\n" }
                self.write(text + "\r\n" + body, context)
            }
        }

        private func flood(_ context: ChannelHandlerContext) {
            let part = "400\r\n\(String(repeating: "x", count: 1024))\r\n"
            let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: part))).whenSuccess {
                let (handler, context) = loop.value
                handler.flood(context)
            }
        }

        private func write(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
    }
}
