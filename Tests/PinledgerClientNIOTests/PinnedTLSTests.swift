import Crypto
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import PinWire
import PinledgerClient
import PinledgerClientNIO
import SwiftASN1
import Synchronization
import Testing
import X509

/// A TLS server on loopback that answers a byte with a byte, and presents what it is told to. Its sessions could be resumed.
final class TLSServer: Sendable {
    private final class Identity: Sendable {
        private let now: Mutex<NIOSSLContext>
        var context: NIOSSLContext { self.now.withLock { $0 } }

        init(_ identity: ServerIdentity) throws { self.now = Mutex(try Self.context(of: identity)) }

        func set(_ identity: ServerIdentity) throws {
            let context = try Self.context(of: identity)
            self.now.withLock { $0 = context }
        }

        /// One for all connections: it has the keys of their tickets.
        private static func context(of identity: ServerIdentity) throws -> NIOSSLContext {
            try NIOSSLContext(
                configuration: .makeServerConfiguration(certificateChain: identity.chain, privateKey: identity.key))
        }
    }

    private let channel: any Channel
    private let identity: Identity

    var port: Int { self.channel.localAddress?.port ?? 0 }

    private init(_ channel: any Channel, _ identity: Identity) {
        self.channel = channel
        self.identity = identity
    }

    static func start(_ first: ServerIdentity) async throws -> TLSServer {
        let identity = try Identity(first)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: identity.context), Echo(),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TLSServer(channel, identity)
    }

    func present(_ identity: ServerIdentity) throws { try self.identity.set(identity) }

    func stop() async throws { try await self.channel.close() }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Sends one byte and waits for it to come back.
private final class Ping: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let answered: EventLoopPromise<Void>

    init(_ answered: EventLoopPromise<Void>) { self.answered = answered }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: [1])), promise: nil)
        context.fireChannelActive()
    }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.answered.succeed()
        context.close(promise: nil)
    }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.answered.fail(error)
        context.close(promise: nil)
    }
    func channelInactive(context: ChannelHandlerContext) { self.answered.fail(ChannelError.eof) }
}

@Suite("Pinned connections of SwiftNIO")
struct PinnedTLSTests {
    private let signer = DocumentSigner()
    private let host = "api.example.com"

    /// A client that holds a document with these pins for the host.
    private func client(
        _ pins: [Pin], mode: PinMode = .enforce, host: String? = nil, switches: [Document.KillSwitch] = []
    ) async throws -> PinledgerClient {
        try await self.signer.client(
            holding: try self.signer.sign(pins, mode: mode, host: host ?? self.host, switches: switches))
    }

    /// What became of a handshake; a byte goes back and forth where it was accepted.
    private func connect(
        _ client: PinledgerClient, to server: TLSServer, as host: String? = nil, trusting authorities: [Authority]
    ) async throws -> ConnectionEvent {
        let events = Mutex<[ConnectionEvent]>([])
        let tls = try PinnedTLS(
            client: client, authorities: .only(pem: authorities.map { try $0.pem }),
            onEvent: { event in events.withLock { $0.append(event) } })
        let name = host ?? self.host
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answered = loop.makePromise(of: Void.self)
        _ = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try tls.addHandlers(to: pipeline, for: name)
                    try pipeline.addHandler(Ping(answered))
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
        let isAnswered = (try? await answered.futureResult.get()) != nil
        let seen = events.withLock { $0 }
        let event = try #require(seen.first)
        #expect(seen.count == 1 && event.isAccepted == isAnswered)
        return event
    }

    private func result(_ event: ConnectionEvent) -> ConnectionVerdict.Result? {
        guard case .judged(let verdict) = event.outcome else { return nil }
        return verdict.result
    }

    @Test("A key of the document is accepted, another one of the same authority is refused")
    func pins() async throws {
        let authority = try Authority("An authority")
        let good = try authority.issue([.dnsName(self.host)])
        let swapped = try authority.issue([.dnsName(self.host)])
        let server = try await TLSServer.start(good)
        let client = try await self.client([good.pin])
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .matched)
        try server.present(swapped)
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .refused)
        let reporting = try await self.client([good.pin], mode: .reportOnly)
        #expect(self.result(try await self.connect(reporting, to: server, trusting: [authority])) == .mismatched)
        try await server.stop()
    }

    @Test("The key of the authority counts as well as the host's own")
    func authorityPin() async throws {
        let authority = try Authority("An authority")
        let server = try await TLSServer.start(try authority.issue([.dnsName(self.host)]))
        let client = try await self.client([authority.pin])
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .matched)
        try await server.stop()
    }

    @Test("An intercepting proxy whose authority the platform trusts is refused by the pins alone")
    func interception() async throws {
        let authority = try Authority("An authority")
        let proxy = try Authority("A proxy's authority")
        let good = try authority.issue([.dnsName(self.host)])
        let server = try await TLSServer.start(try proxy.issue([.dnsName(self.host)]))
        let client = try await self.client([good.pin, authority.pin])
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority, proxy])) == .refused)
        // Without pins it would have got through.
        let unpinned = try await self.client([good.pin], host: "elsewhere.example.com")
        #expect(self.result(try await self.connect(unpinned, to: server, trusting: [authority, proxy])) == .unpinned)
        try await server.stop()
    }

    @Test("A pin is no excuse for a chain that the platform refuses")
    func chainFirst() async throws {
        let authority = try Authority("An authority")
        let other = try Authority("Another authority")
        let now = Date()
        let cases: [(ServerIdentity, [Authority])] = [
            (try authority.issue([.dnsName("other.example.com")]), [authority]),
            (try authority.issue([.dnsName(self.host)], from: now - 7200, until: now - 3600), [authority]),
            (try authority.issue([.dnsName(self.host)], from: now + 3600, until: now + 7200), [authority]),
            (try authority.issue([.dnsName(self.host)]), [other]),
        ]
        for (identity, trusted) in cases {
            let server = try await TLSServer.start(identity)
            let client = try await self.client([identity.pin])
            let event = try await self.connect(client, to: server, trusting: trusted)
            guard case .invalidChain(let reason) = event.outcome else {
                Issue.record("the chain was judged: \(event)")
                continue
            }
            #expect(!reason.isEmpty)
            try await server.stop()
        }
    }

    @Test(
        "A URL or a port in place of a name is refused as such, and not as a certificate's mistake",
        arguments: ["https://api.example.com", "api.example.com:443"])
    func mistakenHost(_ host: String) async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName(self.host)])
        let server = try await TLSServer.start(identity)
        let event = try await self.connect(
            try await self.client([identity.pin]), to: server, as: host, trusting: [authority])
        #expect(self.result(event) == .refusedHost && event.chain.isEmpty)
        try await server.stop()
    }

    @Test("A certificate that is no authority issues nothing, whatever is pinned above it")
    func forgedIssuer() async throws {
        let root = try Authority("An authority")
        let leaf = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            SubjectAlternativeNames([.dnsName("intern.example.com")])
        }
        let signing = try Certificate.Extensions { Critical(KeyUsage(digitalSignature: true)) }
        let noIssuer = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(digitalSignature: true))
        }
        let wrong: [Authority] = [
            try Authority("intern.example.com", by: root, version: .v1, extensions: Certificate.Extensions()),
            try Authority("intern.example.com", by: root, extensions: leaf),
            try Authority("intern.example.com", by: root, extensions: signing),
            try Authority("intern.example.com", by: root, extensions: noIssuer),
            try Authority("intern.example.com", by: root, extensions: Certificate.Extensions()),
        ]
        for issuer in wrong {
            let forged = try issuer.issue([.dnsName(self.host)], presenting: [issuer.certificate])
            let server = try await TLSServer.start(forged)
            let client = try await self.client([root.pin, forged.pin])
            let event = try await self.connect(client, to: server, trusting: [root])
            #expect(self.result(event) == nil && !event.isAccepted)
            try await server.stop()
        }
        // A true intermediate authority is one.
        let authority = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true))
        }
        let issuer = try Authority("An issuer", by: root, extensions: authority)
        let server = try await TLSServer.start(
            try issuer.issue([.dnsName(self.host)], presenting: [issuer.certificate]))
        for pin in [root.pin, issuer.pin] {
            let event = try await self.connect(try await self.client([pin]), to: server, trusting: [root])
            #expect(self.result(event) == .matched)
        }
        try await server.stop()
    }

    @Test("A chain of more certificates than are looked at is refused")
    func longChain() async throws {
        let authority = try Authority("An authority")
        let spare = try authority.issue([.dnsName("spare.example.com")])
        for (count, isValid) in [(PinnedTLS.chainLimit - 1, true), (PinnedTLS.chainLimit, false)] {
            let more = [Certificate](repeating: authority.certificate, count: count)
            let identity = try authority.issue([.dnsName(self.host)], presenting: more)
            let server = try await TLSServer.start(identity)
            let client = try await self.client([identity.pin, spare.pin])
            let event = try await self.connect(client, to: server, trusting: [authority])
            #expect((self.result(event) == .matched) == isValid, "\(event)")
            try await server.stop()
        }
    }

    @Test("A certificate is for servers and has names, or is not for a host")
    func usage() async throws {
        let authority = try Authority("An authority")
        let names: [GeneralName] = [.dnsName(self.host)]
        let cases: [(ServerIdentity, Bool)] = [
            (try authority.issue(names, usage: try ExtendedKeyUsage([.clientAuth])), false),
            (try authority.issue(names, usage: try ExtendedKeyUsage([.serverAuth])), true),
            (
                try authority.issue(names, usage: try ExtendedKeyUsage([.serverAuth, .clientAuth]), isCritical: true),
                true
            ),
            (try authority.issue([]), false),
        ]
        for (identity, isValid) in cases {
            let server = try await TLSServer.start(identity)
            let event = try await self.connect(
                try await self.client([identity.pin]), to: server, trusting: [authority])
            #expect((self.result(event) == .matched) == isValid, "\(event)")
            try await server.stop()
        }
    }

    @Test("Certificates that all could have issued one another are given up soon")
    func tangle() async throws {
        let trusted = try Authority("An authority")
        let tangled = try Authority("A tangle")
        let more = try (0..<11).map { number in
            try Certificate(
                version: .v3, serialNumber: .init(), publicKey: Certificate.PrivateKey(tangled.key).publicKey,
                notValidBefore: Date() - 60, notValidAfter: Date() + 3600, issuer: tangled.name, subject: tangled.name,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                    SubjectAlternativeNames([.dnsName("\(number).example.com")])
                },
                issuerPrivateKey: Certificate.PrivateKey(tangled.key))
        }
        let server = try await TLSServer.start(try tangled.issue([.dnsName(self.host)], presenting: more))
        // Without the limit this does not come to an end.
        let event = try await self.connect(
            try await self.client([tangled.pin]), to: server, trusting: [trusted])
        #expect(self.result(event) == nil)
        try await server.stop()
    }

    @Test("The first connection waits for what is stored")
    func stored() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName(self.host)])
        let server = try await TLSServer.start(identity)
        let store = MemoryStore(try self.signer.sign([identity.pin.flipped]))
        let client = PinledgerClient(try self.signer.configuration(), store: store, transport: NextDocument()) { _ in }
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .refused)
        try await server.stop()
    }

    @Test("After a connection was refused, whatever the reason, the next one fetches first")
    func fetchesAfterRefusal() async throws {
        let authority = try Authority("An authority")
        let identity = try authority.issue([.dnsName(self.host)])
        let server = try await TLSServer.start(identity)
        let service = NextDocument()
        let ended = try self.signer.sign([identity.pin], pinsValidUntil: SystemClock.now().adding(seconds: -60))
        service.set(try self.signer.sign([identity.pin], version: 2))
        let client = try await self.signer.client(holding: ended, transport: service) { $0.afterExpiry = .block }
        await client.prepare(for: self.host)
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .refusedExpired)
        await client.prepare(for: self.host)
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .matched)
        try await server.stop()
    }

    @Test("A kill switch reaches the next connection")
    func killSwitch() async throws {
        let authority = try Authority("An authority")
        let server = try await TLSServer.start(try authority.issue([.dnsName(self.host)]))
        let now = SystemClock.now()
        let one = Document.KillSwitch(
            scope: "app", host: nil, engagedAt: now.adding(seconds: -60), expiresAt: now.adding(seconds: 600))
        let client = try await self.client([], switches: [one])
        #expect(self.result(try await self.connect(client, to: server, trusting: [authority])) == .unpinned)
        let without = try await self.client([])
        #expect(self.result(try await self.connect(without, to: server, trusting: [authority])) == .refused)
        try await server.stop()
    }

    @Test("A connection to an address is validated for the address")
    func address() async throws {
        let authority = try Authority("An authority")
        let bytes = ASN1OctetString(contentBytes: [127, 0, 0, 1])
        let server = try await TLSServer.start(try authority.issue([.ipAddress(bytes)]))
        let client = try await self.client([authority.pin])
        let event = try await self.connect(client, to: server, as: "127.0.0.1", trusting: [authority])
        #expect(self.result(event) == .unpinned)
        try server.present(try authority.issue([.dnsName(self.host)]))
        let other = try await self.connect(client, to: server, as: "127.0.0.1", trusting: [authority])
        #expect(self.result(other) == nil)
        try await server.stop()
    }
}
