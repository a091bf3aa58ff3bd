package import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import Pinning
import Probing
import Synchronization

/// Calls addresses that operators have given, such as webhooks' receivers, by HTTP/1.1, each time on a connection of its own.
///
/// It resolves and checks addresses itself, and connects to addresses, never to names: a second look-up of a name
/// cannot lead elsewhere. Certificates are checked for the name all the same. It follows no redirects, uses no proxy of
/// the environment, and reads no more of an answer than its caller wants.
///
/// It works on a thread of its own, so that handshakes and slow receivers do not delay the server's clients.
package final class OutgoingClient: Sendable {
    /// The limits of an attempt.
    package struct Limits: Sendable {
        package var resolve = Duration.seconds(5)
        package var connect = Duration.seconds(5)
        /// The time from the beginning to the answer.
        package var total = Duration.seconds(10)
        /// How long an attempt that is under way may go on when the node stops.
        package var grace = Duration.seconds(2)

        package init() {}

        /// Limits with this total; no part is longer than the total.
        package init(total: Duration) {
            self.total = total
            self.connect = min(self.connect, total)
            self.resolve = min(self.resolve, total)
        }
    }

    /// Finds the addresses of a name.
    package typealias Resolve = @Sendable (String, Int) async throws(SendFailure) -> [SocketAddress]

    /// Bytes that are read of a body where its caller says nothing else.
    package static let bodyLimit = 4096
    /// Addresses of one name that are tried.
    private static let addressLimit = 3
    /// Names that are looked up at once, and those that wait for it.
    private static let lookUpLimits = (atOnce: 4, waiting: 60)

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    /// For look-ups, which block.
    private let threads: NIOThreadPool
    private let resolver: NameResolver
    private let resolve: Resolve?
    private let refusal: @Sendable (SocketAddress) -> String?
    package let allowsPlain: Bool
    private let trustFile: String?
    private let userAgent: String
    package let limits: Limits
    private let context: Mutex<NIOSSLContext?> = Mutex(nil)

    /// - Parameters:
    ///   - refusal: Why an address may not be called; nil where it may.
    ///   - allowsPlain: Whether `http` URLs are called.
    ///   - trustFile: PEM of authorities that are trusted besides the system's.
    ///   - resolve: Replaces the system's resolver.
    package init(
        limits: Limits = Limits(), refusal: @escaping @Sendable (SocketAddress) -> String?, allowsPlain: Bool = false,
        trustFile: String? = nil, userAgent: String = "pinledger", resolve: Resolve? = nil
    ) {
        self.limits = limits
        self.refusal = refusal
        self.allowsPlain = allowsPlain
        self.trustFile = trustFile
        self.userAgent = userAgent
        self.resolve = resolve
        self.threads = NIOThreadPool(numberOfThreads: Self.lookUpLimits.atOnce)
        self.threads.start()
        self.resolver = NameResolver(
            threads: self.threads, concurrency: Self.lookUpLimits.atOnce, maximumWaiting: Self.lookUpLimits.waiting,
            loop: self.group.next(), lookUp: SystemLookUp.usableAddresses)
    }

    /// Ends all requests under way, and the threads.
    package func close() async {
        try? await self.threads.shutdownGracefully()
        try? await self.group.shutdownGracefully()
    }

    /// Why a URL is not called, as far as that is known without resolving the name; nil where it may be.
    package func refusal(of url: OutgoingURL) -> String? {
        guard url.isSecure || self.allowsPlain else { return "http is not allowed here: the URL must begin with https" }
        if url.hasAddress, let address = try? SocketAddress(ipAddress: url.host, port: url.port) {
            return self.refusal(address)
        }
        let isLocal = url.host == "localhost" || url.host.hasSuffix(".localhost")
        guard isLocal, let loopback = try? SocketAddress(ipAddress: "127.0.0.1", port: url.port) else { return nil }
        return self.refusal(loopback)
    }

    /// Posts a body and waits for the answer.
    ///
    /// A cancelled task has a short time left, so that a receiver that has the message can say so.
    ///
    /// - Parameter limit: Bytes that are read of the answer's body. The rest is cut off.
    package func post(
        _ body: [UInt8], _ type: String = "application/json", to url: OutgoingURL,
        fields: [(name: String, value: String)] = [], reading limit: Int = bodyLimit
    ) async throws(SendFailure) -> ReceiverAnswer {
        let content = [("Content-Type", type), ("Content-Length", String(body.count))]
        return try await self.send(.POST, url, content + fields, body, reading: limit)
    }

    /// Asks for what is at an address.
    ///
    /// - Parameter limit: Bytes that are read of the answer's body. The rest is cut off.
    package func get(_ url: OutgoingURL, reading limit: Int) async throws(SendFailure) -> ReceiverAnswer {
        try await self.send(.GET, url, [], [], reading: limit)
    }

    private func send(
        _ method: HTTPMethod, _ url: OutgoingURL, _ fields: [(name: String, value: String)], _ body: [UInt8],
        reading limit: Int
    ) async throws(SendFailure) -> ReceiverAnswer {
        let deadline = NIODeadline.now() + TimeAmount(self.limits.total)
        let addresses = try await self.addresses(of: url)
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: url.target)
        head.headers = ["Host": url.authority, "User-Agent": self.userAgent, "Connection": "close"]
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        var failure = SendFailure.noConnection("there is no address")
        for address in addresses.prefix(Self.addressLimit) {
            do throws(SendFailure) {
                let request = ReceiverExchange.Request(head: head, body: ByteBuffer(bytes: body), limit: limit)
                return try await self.exchange(request, url, address, until: deadline)
            } catch {
                failure = error
                // Another address may be tried within the same attempt only where nothing was sent.
                guard case .noConnection = error, NIODeadline.now() < deadline else { throw error }
            }
        }
        throw failure
    }

    /// The addresses that may be called.
    private func addresses(of url: OutgoingURL) async throws(SendFailure) -> [SocketAddress] {
        guard url.isSecure || self.allowsPlain else { throw .refused("http is not allowed here") }
        let found: [SocketAddress]
        if url.hasAddress {
            guard let address = try? SocketAddress(ipAddress: url.host, port: url.port) else {
                throw .unresolved("it is no address")
            }
            found = [address]
        } else if let resolve {
            found = try await resolve(url.host, url.port)
        } else {
            found = try await self.lookUp(url)
        }
        let allowed = found.filter { self.refusal($0) == nil }
        if allowed.isEmpty, let address = found.first {
            throw .refused("\(address.ipAddress ?? "the address") \(self.refusal(address) ?? "")")
        }
        return allowed
    }

    private func lookUp(_ url: OutgoingURL) async throws(SendFailure) -> [SocketAddress] {
        do throws(ResolutionFailure) {
            // Half of the time for the wait until others are looked up, half for the name itself.
            let half = self.limits.resolve / 2
            let addresses = try await self.resolver.addresses(of: url.host, timeout: half, patience: half)
            return addresses.compactMap { try? $0.socketAddress(port: url.port) }
        } catch {
            switch error {
            case .overloaded: throw .unresolved("too many names are being looked up")
            case .cancelled, .closed: throw .stopped
            case .timedOut: throw .timedOut
            case .isAddress: throw .unresolved("it is an address, and not spelled as one")
            case .noAddress: throw .unresolved("it has no address")
            case .unresolved(let words, _): throw .unresolved(words)
            }
        }
    }

    private func exchange(
        _ request: ReceiverExchange.Request, _ url: OutgoingURL, _ address: SocketAddress, until deadline: NIODeadline
    ) async throws(SendFailure) -> ReceiverAnswer {
        let context = url.isSecure ? try await self.secureContext() : nil
        let loop = self.group.next()
        let answered = loop.makePromise(of: ReceiverAnswer.self)
        let connected = ClientBootstrap(group: loop)
            .connectTimeout(min(TimeAmount(self.limits.connect), deadline - .now()))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context {
                        try pipeline.addHandler(Self.secureHandler(context, for: url))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(ReceiverExchange(request, answered: answered))
                }
            }
            .connect(to: address)
        connected.whenFailure { answered.fail(SendFailure.noConnection("\($0)")) }
        // Whatever happens on the channel, the promise is completed by now at the latest.
        let abandon: @Sendable (SendFailure) -> Void = { failure in
            connected.whenSuccess { channel in
                let handler = try? channel.pipeline.syncOperations.handler(type: ReceiverExchange.self)
                handler?.abandon(failure, on: channel)
                if handler == nil { answered.fail(failure) }
            }
        }
        let timer = loop.scheduleTask(deadline: deadline) { abandon(.timedOut) }
        let grace = TimeAmount(self.limits.grace)
        do {
            let answer = try await withTaskCancellationHandler {
                try await answered.futureResult.get()
            } onCancel: {
                _ = loop.scheduleTask(in: grace) { abandon(.stopped) }
            }
            timer.cancel()
            return answer
        } catch {
            timer.cancel()
            throw error as? SendFailure ?? .broken("\(error)")
        }
    }

    private static func secureHandler(_ context: NIOSSLContext, for url: OutgoingURL) throws -> NIOSSLClientHandler {
        // An address is checked against the certificate's addresses.
        guard !url.hasAddress else { return try NIOSSLClientHandler(context: context, serverHostname: nil) }
        return try ._makeSSLClientHandler(context: context, serverHostname: url.host) { certificate, channel in
            channel.eventLoop.makeCompletedFuture { try ReceiverIdentity.check(certificate, is: url.host) }
        }
    }

    /// The TLS settings that certificates are checked with; made once. Reading the authorities takes some ten
    /// milliseconds, on a thread for it.
    private func secureContext() async throws(SendFailure) -> NIOSSLContext {
        if let context = self.context.withLock({ $0 }) { return context }
        let trustFile = self.trustFile
        do {
            let context = try await NIOThreadPool.singleton.runIfActive { () throws -> NIOSSLContext in
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.minimumTLSVersion = .tlsv12
                if let trustFile { configuration.additionalTrustRoots = [.file(trustFile)] }
                return try NIOSSLContext(configuration: configuration)
            }
            self.context.withLock { $0 = context }
            return context
        } catch {
            throw .noConnection("certificates cannot be checked: \(error)")
        }
    }
}
