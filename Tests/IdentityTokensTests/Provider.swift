import Crypto
import NIOCore
import NIOHTTP1
import NIOPosix
import PinWire
import Pinning
import Synchronization

/// An identity provider on loopback, whose keys change.
final class Provider: Sendable {
    private struct State {
        var keys: [String: P256.Signing.PrivateKey] = [:]
        var isDown = false
        var fetches = 0
    }

    private let state = Mutex(State())
    private let channel: any Channel
    private let port: Int

    private init(channel: any Channel) {
        self.channel = channel
        self.port = channel.localAddress?.port ?? 0
    }

    var issuer: String { "http://127.0.0.1:\(self.port)" }

    /// How often its keys were fetched.
    var fetches: Int { self.state.withLock { $0.fetches } }

    static func run<R>(_ body: (Provider) async throws -> R) async throws -> R {
        let known = Mutex<Provider?>(nil)
        let answer: @Sendable (String) -> (Int, String) = { path in
            known.withLock { $0 }?.answer(path) ?? (503, "")
        }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let provider = Provider(channel: channel)
        known.withLock { $0 = provider }
        let result: Result<R, any Error>
        do { result = .success(try await body(provider)) } catch { result = .failure(error) }
        known.withLock { $0 = nil }
        try await channel.close()
        return try result.get()
    }

    func add(_ kid: String) { self.state.withLock { $0.keys[kid] = P256.Signing.PrivateKey() } }
    func remove(_ kid: String) { self.state.withLock { $0.keys[kid] = nil } }
    func setDown(_ isDown: Bool) { self.state.withLock { $0.isDown = isDown } }

    private func answer(_ path: String) -> (Int, String) {
        self.state.withLock { state in
            if state.isDown { return (503, "") }
            if path.hasSuffix("openid-configuration") {
                let json: JSON = ["issuer": .string(self.issuer), "jwks_uri": .string("\(self.issuer)/jwks")]
                return (200, json.canonicalText)
            }
            state.fetches += 1
            let keys = state.keys.sorted { $0.key < $1.key }.map { kid, key -> JSON in
                let point = Array(key.publicKey.rawRepresentation)
                return [
                    "kty": "EC", "crv": "P-256", "kid": .string(kid), "x": .string(Base64URL.encode(point[..<32])),
                    "y": .string(Base64URL.encode(point[32...])),
                ]
            }
            let json: JSON = ["keys": .array(keys)]
            return (200, json.canonicalText)
        }
    }

    /// A token with one of its keys, also one that it has withdrawn since.
    func signer(_ kid: String) throws -> (Timestamp) throws -> String {
        guard let key = self.state.withLock({ $0.keys[kid] }) else { throw NoKey() }
        return { now in
            let header: JSON = ["alg": "ES256", "kid": .string(kid), "typ": "JWT"]
            let claims: JSON = [
                "iss": .string(self.issuer), "aud": "pinledger", "sub": "ada", "iat": .integer(now.seconds),
                "exp": .integer(now.seconds + 600),
            ]
            let text = "\(Base64URL.encode(header.canonicalBytes)).\(Base64URL.encode(claims.canonicalBytes))"
            let signature = try key.signature(for: Array(text.utf8)).rawRepresentation
            return "\(text).\(Base64URL.encode(Array(signature)))"
        }
    }

    struct NoKey: Error {}

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answer: @Sendable (String) -> (Int, String)

        init(_ answer: @escaping @Sendable (String) -> (Int, String)) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = Self.unwrapInboundIn(data) else { return }
            let (status, body) = self.answer(head.uri)
            var response = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
            response.headers = ["Content-Length": String(body.utf8.count)]
            context.write(Self.wrapOutboundOut(.head(response)), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
