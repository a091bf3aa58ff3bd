import EventStore
import Exposition
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import PinWire
import Publishing
package import ServiceLifecycle
import Signals
import Synchronization
package import Traces

/// The HTTP listeners of a node.
package struct Server: Sendable {
    /// A listener's paths and address.
    package struct Listener: Sendable {
        package enum Content: String, Sendable {
            /// Clients' and operators' paths on one socket: for development.
            case everything
            case client
            case admin
            /// `/metrics` without a token, and what is public everywhere.
            case metrics

            /// Whether operators' tokens are looked at.
            var takesTokens: Bool { self == .everything || self == .admin }
        }

        package var content: Content
        package var host: String
        /// 0 for any free port.
        package var port: Int
        /// Connections at once.
        package var connections: Int

        package init(_ content: Content, host: String, port: Int, connections: Int) {
            self.content = content
            self.host = host
            self.port = port
            self.connections = connections
        }
    }

    /// The limits of the listeners' connections; times in seconds.
    package struct Limits: Sendable {
        /// At once, on all listeners together.
        package var connections = 10_000
        /// At once, of one network (/24, /48), on listeners that are for clients; nil for a quarter of ``connections``.
        package var networkConnections: Int?
        /// Streams of documents at once, of clients that wait for news; nil for three quarters of ``connections``, but no more
        /// than 10,000.
        package var clientStreams: Int?
        /// Streams at once of one network; nil for a quarter of ``streams``.
        package var networkStreams: Int?
        /// Requests a second by one network that cost the node most, ten times that at once; 0 for no limit.
        package var networkRequests = 200.0
        /// Requests a second of one operator; 0 for no limit.
        package var operatorRequests = 500.0
        /// The most bytes of requests that are not completely answered.
        package var requestMemory = 256 * 1024 * 1024
        /// From the first byte of a request, or the connection's beginning, to the end of the request's head; and for
        /// the TLS handshake.
        package var headerSeconds = 10
        /// Between two requests.
        package var idleSeconds = 75
        /// For a request's body.
        package var bodySeconds = 30
        /// The time in which the client takes nothing of its answer.
        package var writeSeconds = 30
        /// From the node's decision to stop to the end of the last connection.
        package var drainSeconds = 10

        package init() {}

        // Clients that only fetch find a connection, however many wait for news.
        var streams: Int { self.clientStreams ?? min(10_000, self.connections * 3 / 4) }

        var streamsOfOneNetwork: Int { self.networkStreams ?? max(1, self.streams / 4) }

        /// How the places of a listener are divided.
        func places(of listener: Listener) -> ConnectionPlaces.Limits {
            let network = self.networkConnections ?? max(1, self.connections / 4)
            switch listener.content {
            case .everything:
                let reserve = min(256, max(1, listener.connections / 16))
                return .init(
                    connections: max(listener.connections, reserve + 1), reserve: reserve, network: network)
            case .client: return .init(connections: listener.connections, network: network)
            case .admin, .metrics: return .init(connections: listener.connections)
            }
        }

        /// The longest time between two signs of life of a stream that does not end, in milliseconds: well before
        /// ``idleSeconds`` are over, after which an HTTP/2 connection with nothing else on it is closed.
        var heartbeat: Int { min(DocumentEvent.heartbeat, self.idleSeconds * 500) }
    }

    /// What the listeners know of the node behind them.
    struct Node: Sendable {
        let authenticator: any CallerAuthenticator
        /// Whether everyone may read the log.
        let isLogPublic: @Sendable () -> Bool
        /// Why the node answers only requests that need no ledger; nil for one that answers all.
        let unread: @Sendable () -> LedgerFault?
        let trustedProxies: TrustedProxies
        /// Takes the requests that the ledger is to know of.
        let audit: AuditCounter
        /// Counts clients by the documents that they hold; nil to count none.
        let intake: AdoptionIntake?
        let metrics: MetricRegistry
        let clock: @Sendable () -> Timestamp
        let logger: Logger
        /// Takes a line for each request; nil for no access log.
        var accessLog: AccessLog?
        /// Places requests of operators in traces.
        var tracer = NodeTracer()

        var notes: RequestNotes? {
            self.accessLog.map { RequestNotes(log: $0, trustedProxies: self.trustedProxies, clock: self.clock) }
        }
    }

    private let node: Node
    private let routes: Routes
    private let limits: Limits
    private let certificate: ServerCertificate?
    private let group: any EventLoopGroup
    private let shares: EventLoopStates
    private let log: LimitedLog
    private let rates: RequestRates
    private let operatorRates: RequestRates
    private let requestMetrics: RequestMetrics
    private let listeners = Listeners()

    /// The listeners that were made.
    private final class Listeners: Sendable {
        let places = Mutex<[(listener: Listener, places: ConnectionPlaces)]>([])

        /// What ``ListenerTallies`` says of the connections.
        @Sendable func connections() -> [(listener: Listener.Content, count: Int)] {
            self.places.withLock { places in places.map { ($0.listener.content, $0.places.count) } }
        }
    }

    /// Connections that are about to be closed.
    private static let surplus = 16

    /// - Parameter certificate: Nil for plain HTTP.
    package init(
        services: Services, limits: Limits = Limits(), certificate: ServerCertificate? = nil,
        accessLog: AccessLog? = nil, tracer: NodeTracer = NodeTracer()
    ) {
        var node = Node(services)
        (node.accessLog, node.tracer) = (accessLog, tracer)
        self.init(node: node, limits, certificate) { tallies in
            Routes(services: services, limits: limits, tallies: tallies)
        }
    }

    /// The listeners of an edge.
    package init(
        edge: EdgeServices, limits: Limits = Limits(), certificate: ServerCertificate? = nil,
        accessLog: AccessLog? = nil
    ) {
        var node = Node(edge)
        node.accessLog = accessLog
        self.init(node: node, limits, certificate) { tallies in
            Routes(edge: edge, limits: limits, tallies: tallies)
        }
    }

    private init(
        node: Node, _ limits: Limits, _ certificate: ServerCertificate?, _ routes: (ListenerTallies) -> Routes
    ) {
        self.node = node
        self.group = MultiThreadedEventLoopGroup.singleton
        self.served = self.group.makeIterator().map { _ in ServedCount() }
        self.routes = routes(ListenerTallies(served: self.served, connections: self.listeners.connections))
        self.limits = limits
        self.certificate = certificate
        self.log = LimitedLog(logger: node.logger)
        self.rates = RequestRates(rate: limits.networkRequests)
        self.operatorRates = RequestRates(rate: limits.operatorRequests)
        self.requestMetrics = RequestMetrics(registry: node.metrics)
        self.shares = EventLoopStates(
            group: self.group, clock: node.clock, intake: node.intake, push: self.routes.push,
            requestMemory: limits.requestMemory, served: self.served, notes: node.notes)
    }

    /// The service that keeps the connections' time: it has to run for as long as a listener does.
    package var rounds: some Service { Rounds(shares: self.shares, group: self.group, log: self.log) }

    /// How many requests each event loop has answered from prepared bytes.
    package let served: [ServedCount]

    /// The service that runs a listener.
    ///
    /// - Parameter onRunning: Called with the port once the socket is bound.
    package func application(
        for listener: Listener, onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> some Service {
        let surfaces: Set<Route.Surface> =
            switch listener.content {
            case .everything: [.client, .admin, .metrics]
            case .client: [.client]
            case .admin: [.admin, .metrics]
            case .metrics: [.metrics]
            }
        let places = ConnectionPlaces(
            limits: self.limits.places(of: listener), trustedProxies: self.node.trustedProxies)
        self.listeners.places.withLock { $0.append((listener, places)) }
        let responder = Responder(
            table: self.routes.table(surfaces),
            authenticator: self.node.authenticator, isLogPublic: self.node.isLogPublic, unread: self.node.unread,
            content: listener.content, places: places, rates: self.rates, operatorRates: self.operatorRates,
            log: self.log, trustedProxies: self.node.trustedProxies, auditCounter: self.node.audit,
            isSecure: self.certificate != nil, metrics: self.requestMetrics, notes: self.node.notes,
            tracer: self.node.tracer, clock: self.node.clock
        )
        var configuration = ApplicationConfiguration(
            address: .hostname(listener.host, port: listener.port), serverName: nil, backlog: 4096
        )
        // Where there is a reserve, connections above the limit are displaced, and not left waiting.
        let surplus = places.limits.reserve > 0 ? Self.surplus : 0
        configuration.availableConnectionsDelegate = MaximumAvailableConnections(
            places.limits.connections + surplus, logger: self.node.logger
        )
        let answers = surfaces.contains(.client) ? self.routes.answers : nil
        let (shares, limits, certificate, log) = (self.shares, self.limits, self.certificate, self.log)
        let (audit, clock, notes) = (self.node.audit, self.node.clock, self.node.notes)
        return Application(
            responder: responder,
            server: HTTPServerBuilder { respond in
                ConnectionSetup(
                    responder: respond, answers: answers, shares: shares, limits: limits, certificate: certificate,
                    content: listener.content, places: places, auditCounter: audit, clock: clock, log: log,
                    notes: notes
                )
            },
            configuration: configuration,
            onServerRunning: { channel in
                // Nothing is accepted before this returns. A listener that closes meanwhile needs no handler.
                try? await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandlers(
                        [AcceptPause(log: log), AcceptFilter(places: places, log: log)], position: .first)
                }.get()
                await onRunning(channel.localAddress?.port ?? listener.port)
            },
            eventLoopGroupProvider: .shared(self.group),
            logger: self.node.logger
        )
    }

    /// Takes over the limits that can change while the server runs: requests a second, and connections of one network.
    package func apply(_ limits: Limits) {
        self.rates.set(rate: limits.networkRequests)
        self.operatorRates.set(rate: limits.operatorRequests)
        // The number of connections stays as it was fitted to the process, and with it what follows from it.
        var present = self.limits
        present.networkConnections = limits.networkConnections
        for (listener, places) in self.listeners.places.withLock({ $0 }) {
            places.set(networkLimit: present.places(of: listener).network)
        }
    }

    /// Every operation, for comparison with the contract: operation id, method, path with parameters in braces.
    package var operations: [(id: String, method: String, path: String)] {
        self.routes.all.map { ($0.operationID, $0.method.rawValue, $0.path) }
    }
}

extension Server.Node {
    init(_ services: Services) {
        self.init(
            authenticator: Authenticator(
                ledger: services.ledger, clock: services.clock, trustedProxies: services.telemetry.trustedProxies,
                uses: services.tokenUses),
            isLogPublic: { services.isLogPublic }, unread: { [ledger = services.ledger] in ledger.unread },
            trustedProxies: services.telemetry.trustedProxies, audit: services.audit,
            intake: services.adoption.intake, metrics: services.metrics, clock: services.clock, logger: services.logger)
    }
}

/// Runs the rounds of the event loops until the node stops.
private struct Rounds: Service {
    let shares: EventLoopStates
    let group: any EventLoopGroup
    let log: LimitedLog

    private static let logInterval = TimeAmount.seconds(10)

    func run() async throws {
        var tasks = self.shares.start(on: self.group)
        tasks.append(
            self.group.next().scheduleRepeatedTask(initialDelay: Self.logInterval, delay: Self.logInterval) {
                [log] _ in log.tellLeftOut()
            })
        defer { for task in tasks { task.cancel() } }
        try await gracefulShutdown()
        await self.shares.handOver(on: self.group)
    }
}
