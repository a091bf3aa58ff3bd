import Exposition
import Fixtures
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import PinWire
import Pinning
import Postgres
import Synchronization
import Testing
import Traces

@testable import EventStore
@testable import PinledgerServer

/// The example server behind the responder of a listener: requests are routed, authorized, read and refused as over a
/// connection. The caller may do everything; the ledger has one app, and takes changes only to be rehearsed.
enum InProcessServer {
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPFields
        var body: JSON
        /// The bytes of the body.
        var count: Int

        /// The problem's name, the last step of its type.
        var problem: String? { self.body["type"]?.stringValue?.split(separator: "/").last.map(String.init) }
        /// The places that a problem names.
        var pointers: [String] { self.body["errors"]?.arrayValue?.compactMap { $0["pointer"]?.stringValue } ?? [] }
    }

    private struct Administrator: CallerAuthenticator {
        func caller(
            of request: Request, from peer: SocketAddress?, acceptsPassword: Bool, acceptsCookie: Bool
        ) throws(Problem) -> Caller {
            Caller(actor: Actor(kind: .local, id: "root", name: "test"), rights: .everything)
        }
    }

    static let app = "com.example.hard"
    static let host = "api.example.com"

    /// A pin of a text's digest.
    static func pin(_ text: String) -> Pin? { Pin(bytes: sha256(Array(text.utf8))) }

    /// An app with one host, two pins, and every kind of clients.
    private static let view: LedgerView? = {
        guard let app = try? AppID(Self.app), let host = try? HostPattern(Self.host),
            let primary = Self.pin("primary"), let backup = Self.pin("backup")
        else { return nil }
        let events: [AppEvent] = [
            .appCreated(displayName: "Hard"), .hostAdded(host, includesSubdomains: false, mode: .enforce),
            .pinStaged(host, .baseline, primary, .primary, note: nil), .pinActivated(host, .baseline, primary),
            .pinStaged(host, .baseline, backup, .backup, note: nil), .pinActivated(host, .baseline, backup),
        ]
        let clients = ClientKind.allCases.map { AppEvent.clientSet($0, ClientSettings()) }
        var view = LedgerView()
        let start = Timestamp(seconds: 1_700_000_000)
        for event in events + clients where !view.state.apply(.app(event), of: .app(app), at: start) { return nil }
        return view
    }()

    private static let services: Services = {
        var services = ExampleServer.services
        let suffixes: Set = ["com", "co.uk", "github.io", "localhost", "uk", "xn--p1ai"]
        services.environment = DecisionEnvironment { suffixes.contains($0) }
        services.ledger = Ledger(view: Self.view ?? LedgerView())
        // A request that is accepted by mistake is answered at once: the writer does not run.
        services.ledger.suspend("nothing is recorded in tests")
        services.writer = Writer(
            ledger: services.ledger,
            configuration: PostgresConfiguration(connectionString: "host=127.0.0.1 port=1"), logger: .silent,
            clock: services.clock, environment: services.environment)
        return services
    }()

    private static func responder(_ authenticator: any CallerAuthenticator) -> Responder {
        Responder(
            table: Routes(services: Self.services).table([.client, .admin]), authenticator: authenticator,
            isLogPublic: { false }, unread: { nil }, content: .everything,
            places: ConnectionPlaces(limits: .init(connections: 10)), rates: RequestRates(rate: 0),
            operatorRates: RequestRates(rate: 0), log: LimitedLog(logger: .silent), trustedProxies: TrustedProxies(),
            auditCounter: AuditCounter(), isSecure: false, metrics: RequestMetrics(registry: MetricRegistry()),
            notes: nil, tracer: NodeTracer(), clock: Self.services.clock)
    }

    /// Takes every caller for the administrator.
    private static let open = Self.responder(Administrator())
    /// Knows no token.
    private static let closed = Self.responder(
        Authenticator(
            ledger: Self.services.ledger, clock: Self.services.clock, trustedProxies: TrustedProxies(),
            uses: TokenUseTally()))

    /// Has a request's id, which the server around a responder gives.
    private static var requestLogger: Logger {
        var logger = LogRecorder().logger
        logger[metadataKey: "hb.request.id"] = "1"
        return logger
    }

    private struct Collector: ResponseBodyWriter {
        let take: @Sendable (ByteBuffer) -> Void
        func write(_ buffer: ByteBuffer) async throws { self.take(buffer) }
        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    /// The answer to a request. A body is declared as JSON unless the headers say otherwise.
    ///
    /// - Parameter isKnown: True for the administrator, whatever the headers say.
    static func ask(
        _ method: HTTPRequest.Method, _ target: String, _ body: [UInt8]? = nil, headers: HTTPFields = [:],
        isKnown: Bool = true
    ) async throws -> Answer {
        var fields = headers
        if body != nil, fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let head = HTTPRequest(
            method: method, scheme: "http", authority: "localhost", path: target, headerFields: fields)
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let responder = isKnown ? Self.open : Self.closed
        let response = try await responder.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body ?? []))),
            context: ExchangeContext(
                source: ApplicationRequestContextSource(channel: channel, logger: Self.requestLogger)))
        let bytes = Mutex<[UInt8]>([])
        try await response.body.write(
            Collector { piece in bytes.withLock { $0 += piece.readableBytesView } })
        let content = bytes.withLock { $0 }
        return Answer(
            status: response.status.code, headers: response.headers,
            body: content.isEmpty ? .null : try JSON(parsing: content, limits: JSONLimits(nodes: 1_000_000)),
            count: content.count)
    }

    static func ask(
        _ method: HTTPRequest.Method, _ target: String, _ body: String?, headers: HTTPFields = [:], isKnown: Bool = true
    ) async throws -> Answer {
        try await Self.ask(method, target, body.map { Array($0.utf8) }, headers: headers, isKnown: isKnown)
    }

    /// Sends a request that is to be refused, and sees that the answer is a whole problem.
    static func refused(
        _ method: HTTPRequest.Method, _ target: String, _ body: String? = nil, headers: HTTPFields = [:],
        isKnown: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        let answer = try await Self.ask(method, target, body, headers: headers, isKnown: isKnown)
        #expect(answer.headers[.contentType] == "application/problem+json", sourceLocation: sourceLocation)
        #expect(answer.body["status"] == .integer(Int64(answer.status)), sourceLocation: sourceLocation)
        for name in ["title", "detail", "advice", "instance"] {
            #expect(answer.body[name]?.stringValue?.isEmpty == false, sourceLocation: sourceLocation)
        }
        #expect(answer.body["detail"]?.stringValue?.hasSuffix(".") == true, sourceLocation: sourceLocation)
        for error in answer.body["errors"]?.arrayValue ?? [] {
            #expect(error["detail"]?.stringValue?.isEmpty == false, sourceLocation: sourceLocation)
        }
        return answer
    }
}
