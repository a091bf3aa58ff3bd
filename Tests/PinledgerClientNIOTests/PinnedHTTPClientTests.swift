import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PinWire
import PinledgerClient
import PinledgerClientNIO
import Testing
import X509

/// An HTTPS server on loopback whose answers follow from the path.
private final class HTTPSServer: Sendable {
    private let channel: any Channel

    var port: Int { self.channel.localAddress?.port ?? 0 }

    private init(_ channel: any Channel) { self.channel = channel }

    static func start(_ identity: ServerIdentity) async throws -> HTTPSServer {
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(certificateChain: identity.chain, privateKey: identity.key))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Answers())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return HTTPSServer(channel)
    }

    func stop() async throws { try await self.channel.close() }

    private final class Answers: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private var path = ""
        private var fields = HTTPHeaders()
        private var body: [UInt8] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): (self.path, self.fields) = (head.uri, head.headers)
            case .body(let part): self.body += part.readableBytesView
            case .end: self.answer(context)
            }
        }

        private func answer(_ context: ChannelHandlerContext) {
            let answer: (HTTPResponseStatus, [UInt8])
            switch self.path {
            case "/silence": return
            case "/break":
                return context.close(promise: nil)
            case "/elsewhere": answer = (.found, [])
            case "/long": answer = (.ok, [UInt8](repeating: 65, count: 100_000))
            default: answer = (.ok, Array("\(self.fields["Host"].joined()) ".utf8) + self.body)
            }
            var head = HTTPResponseHead(version: .http1_1, status: answer.0)
            head.headers.add(name: "Content-Length", value: "\(answer.1.count)")
            if self.path == "/elsewhere" { head.headers.add(name: "Location", value: "/") }
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.1)))), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

@Suite("Requests over pinned connections", .timeLimit(.minutes(2)))
struct PinnedHTTPClientTests {
    private let signer = DocumentSigner()
    private let host = "api.example.com"

    /// What a client that holds a document gets from a server with this path.
    private func send(
        _ target: String, _ method: String = "GET", body: [UInt8] = [], headers: [PinnedHTTPClient.Header] = [],
        pinning wrong: Bool = false, limit: Int = 1000, timeout: Duration = .seconds(30)
    ) async throws -> PinnedHTTPClient.Response {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName(self.host)])
        let server = try await HTTPSServer.start(identity)
        let client = try await self.signer.client(
            holding: try self.signer.sign([wrong ? identity.pin.flipped : identity.pin]))
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let result: Result<PinnedHTTPClient.Response, any Error>
        do {
            result = .success(
                try await PinnedHTTPClient(tls).send(
                    method, host: self.host, port: server.port, target: target, headers: headers, body: body,
                    address: "127.0.0.1", limit: limit, timeout: timeout))
        } catch { result = .failure(error) }
        try await server.stop()
        return try result.get()
    }

    @Test("An answer comes with its status and its bytes, and a redirect is one")
    func answers() async throws {
        let got = try await self.send("/echo", "POST", body: Array("hello".utf8))
        #expect(got.status == 200)
        #expect(String(decoding: got.body, as: UTF8.self).hasPrefix("\(self.host):"))
        #expect(String(decoding: got.body, as: UTF8.self).hasSuffix(" hello"))
        #expect(try await self.send("/elsewhere").status == 302)
    }

    @Test("A refused connection is no answer, and nothing is sent over it")
    func refused() async throws {
        let failure = await #expect(throws: PinnedHTTPClient.Failure.self) { try await self.send("/", pinning: true) }
        guard case .refused(let refusal) = failure else {
            return #expect(Bool(false), "\(String(describing: failure))")
        }
        #expect(refusal.host == self.host && refusal.description.contains("has one of the pins"))
    }

    @Test("An answer that is too long, too late, or breaks off is a failure")
    func limits() async throws {
        await #expect(throws: PinnedHTTPClient.Failure.tooLong(limit: 1000)) { try await self.send("/long") }
        await #expect(throws: PinnedHTTPClient.Failure.timedOut) {
            try await self.send("/silence", timeout: .milliseconds(500))
        }
        let broken = await #expect(throws: PinnedHTTPClient.Failure.self) { try await self.send("/break") }
        guard case .broken = broken else { return #expect(Bool(false), "\(String(describing: broken))") }
    }

    @Test(
        "A request that would be another one on the wire is refused before it is sent",
        arguments: [
            ("no-slash", ""), ("/a b", ""), ("/a\r\nX: y", ""), ("/ü", ""), ("/", "Host"), ("/", "content-length"),
            ("/", "Transfer-Encoding"),
        ])
    func wrongRequests(_ target: String, _ field: String) async throws {
        let headers = field.isEmpty ? [] : [PinnedHTTPClient.Header(field, "x")]
        let failure = await #expect(throws: PinnedHTTPClient.Failure.self) {
            try await self.send(target, headers: headers)
        }
        guard case .broken = failure else { return #expect(Bool(false), "\(String(describing: failure))") }
    }

    @Test("The first request fetches the document that judges it")
    func preparation() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName(self.host)])
        let server = try await HTTPSServer.start(identity)
        let service = NextDocument()
        service.set(try self.signer.sign([identity.pin.flipped]))
        let client = PinledgerClient(
            try self.signer.configuration(), store: MemoryStore(), transport: service
        ) { _ in }
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let failure = await #expect(throws: PinnedHTTPClient.Failure.self) {
            try await PinnedHTTPClient(tls).send(
                host: self.host, port: server.port, target: "/", address: "127.0.0.1")
        }
        guard case .refused = failure else { return #expect(Bool(false), "\(String(describing: failure))") }
        try await server.stop()
    }
}
