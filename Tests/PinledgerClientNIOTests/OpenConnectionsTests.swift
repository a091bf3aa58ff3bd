import NIOCore
import NIOPosix
import PinWire
import PinledgerClient
import PinledgerClientNIO
import Synchronization
import Testing
import X509

@Suite("Connections that are open when another document holds", .timeLimit(.minutes(2)))
struct OpenConnectionsTests {
    private let signer = DocumentSigner()

    /// A connection that was let through, and stays open.
    private func open(_ tls: PinnedTLS, to server: TLSServer) async throws -> any Channel {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answered = loop.makePromise(of: Void.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try tls.addHandlers(to: pipeline, for: "api.example.com")
                    try pipeline.addHandler(Greeting(answered))
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
        try await answered.futureResult.get()
        return channel
    }

    @Test("A new document that refuses an open connection closes it when the app asks for that, and no other")
    func closes() async throws {
        let authority = try Authority("An authority")
        let (old, new) = (
            try authority.issue([.dnsName("api.example.com")]), try authority.issue([.dnsName("api.example.com")])
        )
        let service = NextDocument()
        let client = try await self.signer.client(
            holding: try self.signer.sign([old.pin, new.pin]), transport: service)
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let server = try await TLSServer.start(old)
        let first = try await self.open(tls, to: server)
        try server.present(new)
        let second = try await self.open(tls, to: server)
        #expect(tls.closeRefused() == 0)
        service.set(try self.signer.sign([new.pin], version: 2))
        var policies = client.policyUpdates().makeAsyncIterator()
        try await client.refresh()
        #expect(await policies.next()?.document?.version == 2)
        #expect(first.isActive && second.isActive)
        #expect(tls.closeRefused() == 1)
        try await first.closeFuture.get()
        #expect(second.isActive)
        try await second.close()
        #expect(tls.closeRefused() == 0)
        try await server.stop()
    }

    @Test("Open connections that another document refuses are closed by the background work")
    func closesByItself() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName("api.example.com")])
        let service = NextDocument()
        let client = try await self.signer.client(holding: try self.signer.sign([identity.pin]), transport: service)
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let server = try await TLSServer.start(identity)
        // By the new document, and not by a look at the time.
        let work = Task { await tls.run(every: .seconds(3600)) }
        let channel = try await self.open(tls, to: server)
        service.set(try self.signer.sign([authority.pin.flipped], version: 2))
        try await client.refresh()
        try await channel.closeFuture.get()
        work.cancel()
        await work.value
        try await server.stop()
    }

    @Test("A document that comes between the judgement and the end of the handshake holds for the connection")
    func overtaken() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName("api.example.com")])
        let client = try await self.signer.client(
            holding: try self.signer.sign([identity.pin], candidate: [identity.pin.flipped]))
        let judged = Mutex(0)
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem])) { event in
            // The connection was judged, and goes on only after this.
            judged.withLock { $0 += event.isAccepted ? 1 : 0 }
            client.setDevice(Device(ids: [.userID: "someone"]))
        }
        let server = try await TLSServer.start(identity)
        await #expect(throws: (any Error).self) { try await self.open(tls, to: server) }
        #expect(judged.withLock { $0 } == 1)
        try await server.stop()
    }

    @Test("TLS comes before the handlers that a channel has already")
    func order() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName("api.example.com")])
        let client = try await self.signer.client(holding: try self.signer.sign([identity.pin]))
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let server = try await TLSServer.start(identity)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answered = loop.makePromise(of: Void.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(Greeting(answered))
                    try tls.addHandlers(to: pipeline, for: "api.example.com")
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
        // A byte that went past TLS would not come back.
        try await answered.futureResult.get()
        try await channel.close()
        try await server.stop()
    }

    @Test("A TLS session that could be resumed is no way past a new document")
    func resumption() async throws {
        let authority = try Authority("An authority")
        let (old, new) = (
            try authority.issue([.dnsName("api.example.com")]), try authority.issue([.dnsName("api.example.com")])
        )
        let service = NextDocument()
        let client = try await self.signer.client(
            holding: try self.signer.sign([old.pin, new.pin]), transport: service)
        let tls = try PinnedTLS(client: client, authorities: .only(pem: [try authority.pem]))
        let server = try await TLSServer.start(old)
        // The server sends its tickets before it answers the first byte.
        for _ in 0..<2 { try await self.open(tls, to: server).close() }
        service.set(try self.signer.sign([new.pin], version: 2))
        try await client.refresh()
        await #expect(throws: (any Error).self) { try await self.open(tls, to: server) }
        try await server.stop()
    }
}

/// Sends a byte, says when it came back, and leaves the connection open.
private final class Greeting: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let answered: EventLoopPromise<Void>

    init(_ answered: EventLoopPromise<Void>) { self.answered = answered }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: [1])), promise: nil)
        context.fireChannelActive()
    }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Anything else is what a TLS server says to a byte that did not go through TLS.
        let isEcho = Array(self.unwrapInboundIn(data).readableBytesView) == [1]
        if isEcho { self.answered.succeed() } else { self.answered.fail(ChannelError.inappropriateOperationForState) }
    }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.answered.fail(error)
        context.close(promise: nil)
    }
    func channelInactive(context: ChannelHandlerContext) { self.answered.fail(ChannelError.eof) }
}
