import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
package import PublicSuffixes
package import ServiceLifecycle

/// The HTTP listeners of a node.
package struct Server: Sendable {
    /// What one listener serves and where.
    package struct Listener: Sendable {
        package enum Content: Sendable {
            /// Clients' and operators' paths on one socket: for development.
            case everything
            case client
            case admin
        }

        package var content: Content
        package var host: String
        /// 0 for any free port.
        package var port: Int

        package init(_ content: Content, host: String, port: Int) {
            self.content = content
            self.host = host
            self.port = port
        }
    }

    /// What bounds a listener.
    package struct Limits: Sendable {
        package var connections = 10_000
        /// Seconds without traffic after which a connection is closed.
        package var idleSeconds: Int64 = 75

        package init() {}
    }

    private let services: Services
    private let routes: Routes
    private let limits: Limits

    package init(services: Services, publicSuffixes: PublicSuffixList, limits: Limits = Limits()) {
        self.services = services
        self.routes = Routes(services: services, isPublicSuffix: { publicSuffixes.isPublicSuffix($0) })
        self.limits = limits
    }

    /// The service that runs a listener.
    ///
    /// - Parameter onRunning: Called with the port once the socket is bound.
    package func application(
        for listener: Listener, onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> some Service {
        let surfaces: Set<Route.Surface> =
            switch listener.content {
            case .everything: [.client, .admin]
            case .client: [.client]
            case .admin: [.admin]
            }
        let authenticator = Authenticator(ledger: self.services.ledger, clock: self.services.clock)
        let responder = Responder(
            table: self.routes.table(surfaces),
            authenticate: { (request) throws(Problem) in try authenticator.principal(of: request) },
            logger: self.services.logger
        )
        var configuration = ApplicationConfiguration(
            address: .hostname(listener.host, port: listener.port), serverName: nil, backlog: 4096
        )
        configuration.availableConnectionsDelegate = MaximumAvailableConnections(
            self.limits.connections, logger: self.services.logger
        )
        var http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [BodyGuard()], idleTimeout: .seconds(self.limits.idleSeconds))
        http.httpDecoder = .init(maxHeaderFieldSize: 8 * 1024, maxHeaderListSize: 16 * 1024, maxHeaderFieldCount: 64)
        return Application(
            responder: responder,
            server: .http1(configuration: http),
            configuration: configuration,
            onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? listener.port) },
            logger: self.services.logger
        )
    }

    /// Every operation, for comparison with the contract: operation id, method, path with parameters in braces.
    package var operations: [(id: String, method: String, path: String)] {
        self.routes.all.map { ($0.operationID, $0.method.rawValue, $0.path) }
    }
}
