import AsyncHTTPClient
import NIOCore
import NIOPosix
import PinledgerClient
import PinledgerClientNIO
import Synchronization
import Testing

/// A server on loopback that answers every connection with the same bytes, piece by piece, and then does what it is told to.
private struct RawServer {
    enum End: Sendable { case close, wait, repeatForever }

    let channel: any Channel
    var url: String { "http://127.0.0.1:\(self.channel.localAddress?.port ?? 0)" }

    static func start(_ text: String, then end: End) async throws -> RawServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answer(text, end))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return RawServer(channel: channel)
    }

    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let text: String
        private let end: End
        private var isAnswered = false

        init(_ text: String, _ end: End) {
            self.text = text
            self.end = end
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !self.isAnswered else { return }
            self.isAnswered = true
            let promise = context.eventLoop.makePromise(of: Void.self)
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            promise.futureResult.whenSuccess {
                let (handler, context) = bound.value
                switch handler.end {
                case .close: context.close(promise: nil)
                case .wait: break
                case .repeatForever: handler.more(context)
                }
            }
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: self.text)), promise: promise)
        }

        private func more(_ context: ChannelHandlerContext) {
            let promise = context.eventLoop.makePromise(of: Void.self)
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            promise.futureResult.whenSuccess {
                let (handler, context) = bound.value
                handler.more(context)
            }
            context.writeAndFlush(
                self.wrapOutboundOut(ByteBuffer(repeating: 65, count: 65_536)), promise: promise)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

@Suite("Fetches with AsyncHTTPClient")
struct HTTPClientTransportTests {
    /// The answer to one fetch, or its error.
    private func fetch(
        _ text: String, then end: RawServer.End, limit: Int = 1000, timeout: Duration = .seconds(10)
    ) async throws -> Result<DocumentResponse, any Error> {
        let server = try await RawServer.start(text, then: end)
        let client = HTTPClientTransport.makeClient()
        let result: Result<DocumentResponse, any Error>
        do {
            result = .success(
                try await HTTPClientTransport(client).get(
                    TransportRequest(
                        "\(server.url)/client/v1/apps/a/document", headers: [.init("Accept", "application/jose")],
                        limit: limit, timeout: timeout)))
        } catch { result = .failure(error) }
        try await client.shutdown()
        try await server.channel.close()
        return result
    }

    @Test("An answer comes with its status and its bytes as they are")
    func answers() async throws {
        let found = try await self.fetch(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello", then: .close)
        #expect(try found.get() == DocumentResponse(status: 200, body: Array("hello".utf8)))
    }

    @Test("A redirect is an answer, and is not followed")
    func redirect() async throws {
        let found = try await self.fetch(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", then: .close)
        #expect(try found.get().status == 302)
    }

    @Test("A body without an end is left at the limit")
    func endless() async throws {
        let found = try await self.fetch(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", then: .repeatForever, limit: 1 << 20)
        #expect(throws: HTTPClientTransport.Failure.tooLong(limit: 1 << 20)) { try found.get() }
    }

    @Test(
        "A server that stops in the middle is given up",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell"])
    func slow(_ text: String) async throws {
        let found = try await self.fetch(text, then: .wait, timeout: .milliseconds(300))
        #expect(throws: (any Error).self) { try found.get() }
    }

    @Test(
        "A malformed answer, or one that breaks off, is an error",
        arguments: ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell"])
    func broken(_ text: String) async throws {
        let found = try await self.fetch(text, then: .close)
        #expect(throws: (any Error).self) { try found.get() }
    }

    /// The pieces of a stream, and its status or error.
    private func stream(
        _ text: String, then end: RawServer.End, idle: Duration = .seconds(60), limit: Int = .max
    ) async throws -> (pieces: [UInt8], result: Result<Int, any Error>) {
        struct Enough: Error {}
        let server = try await RawServer.start(text, then: end)
        let client = HTTPClientTransport.makeClient()
        let pieces = Pieces()
        let result: Result<Int, any Error>
        do {
            result = .success(
                try await HTTPClientTransport(client).stream(
                    TransportRequest("\(server.url)/stream", headers: [], limit: .max, timeout: idle)
                ) { piece in
                    guard pieces.add(piece) <= limit else { throw Enough() }
                })
        } catch { result = .failure(error) }
        try await client.shutdown()
        try await server.channel.close()
        return (pieces.bytes, result)
    }

    @Test("A stream hands over its bytes until it ends, or until they are refused")
    func streams() async throws {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        let ended = try await self.stream("\(head)data: 1\n\n", then: .close)
        #expect(ended.pieces == Array("data: 1\n\n".utf8))
        #expect(try ended.result.get() == 200)
        let refused = try await self.stream(head, then: .repeatForever, limit: 1 << 20)
        #expect(throws: (any Error).self) { try refused.result.get() }
        let other = try await self.stream("HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy", then: .close)
        #expect(try other.pieces.isEmpty && other.result.get() == 503)
    }

    @Test(
        "A stream without a byte for its longest silence is given up",
        arguments: ["", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n: hello\n"])
    func silentStream(_ text: String) async throws {
        let found = try await self.stream(text, then: .wait, idle: .milliseconds(300))
        #expect(throws: (any Error).self) { try found.result.get() }
    }

    @Test("A report is sent with its body, and its answer is a status")
    func posts() async throws {
        let server = try await RawServer.start("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}", then: .close)
        let client = HTTPClientTransport.makeClient()
        let status = try await HTTPClientTransport(client).post(
            TransportRequest(
                "\(server.url)/reports", headers: [.init("Content-Type", "application/json")], body: Array("{}".utf8),
                limit: 1000, timeout: .seconds(10)))
        #expect(status == 202)
        try await client.shutdown()
        try await server.channel.close()
    }
}

private final class Pieces: Sendable {
    private let content = Mutex<[UInt8]>([])

    var bytes: [UInt8] { self.content.withLock { $0 } }

    func add(_ piece: [UInt8]) -> Int {
        self.content.withLock { content in
            content += piece
            return content.count
        }
    }
}
