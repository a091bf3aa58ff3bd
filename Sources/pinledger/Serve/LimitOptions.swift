import ArgumentParser
import Foundation
import PinledgerServer

/// The limits on a node's connections, and on its shutdown.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Connections at once. Default: 10000. [env: PINLEDGER_MAX_CONNECTIONS]", valueName: "count"))
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp(
            "Document streams at once, each a connection or part of one. Default: 10000, and at most three quarters of the connections. [env: PINLEDGER_CLIENT_STREAMS]",
            valueName: "count"))
    var clientStreams: Int?

    @Option(
        help: ArgumentHelp(
            "Connections at once from one network (/24, /48) to the clients' address; 0 for no limit. Trusted proxies do not count. Default: a quarter of the connections. [env: PINLEDGER_CONNECTIONS_PER_NETWORK]",
            valueName: "count"))
    var connectionsPerNetwork: Int?

    @Option(
        help: ArgumentHelp(
            "Document streams at once from one network; 0 for no limit. Default: a quarter of the streams. [env: PINLEDGER_STREAMS_PER_NETWORK]",
            valueName: "count"))
    var streamsPerNetwork: Int?

    @Option(
        help: ArgumentHelp(
            "Expensive requests per second from one network (evaluated documents, responses computed for deployed clients), and ten times as many at once; 0 for no limit. Default: 200. [env: PINLEDGER_REQUESTS_PER_NETWORK]",
            valueName: "count"))
    var requestsPerNetwork: Double?

    @Option(
        help: ArgumentHelp(
            "Requests per second of one operator, and ten times as many at once; 0 for no limit. Kill switches can be engaged beyond it. Default: 500. [env: PINLEDGER_REQUESTS_PER_OPERATOR]",
            valueName: "count"))
    var requestsPerOperator: Double?

    @Option(
        help: ArgumentHelp(
            "MiB that unfinished requests may hold. Above it the server ends those that have been idle longest. Default: 256. [env: PINLEDGER_REQUEST_MEMORY]",
            valueName: "MiB"))
    var requestMemory: Int?

    @Option(
        help: ArgumentHelp(
            "Time for a request's header, and for the TLS handshake. Default: 10. [env: PINLEDGER_HEADER_TIMEOUT]",
            valueName: "seconds"))
    var headerTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long a connection may stay idle. Default: 75. [env: PINLEDGER_IDLE_TIMEOUT]", valueName: "seconds"
        ))
    var idleTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "Time for a request's body. Default: 30. [env: PINLEDGER_BODY_TIMEOUT]", valueName: "seconds"))
    var bodyTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long a client may stop reading a response. Default: 30. [env: PINLEDGER_WRITE_TIMEOUT]",
            valueName: "seconds"))
    var writeTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long to keep serving after SIGTERM, while /readyz answers 503. Default: 0. [env: PINLEDGER_DRAIN_DELAY]",
            valueName: "seconds"))
    var drainDelay: Int?

    @Option(
        help: ArgumentHelp(
            "How long requests in progress may then take to finish. Default: 10. [env: PINLEDGER_DRAIN_TIMEOUT]",
            valueName: "seconds"))
    var drainTimeout: Int?

    /// The limits, and the drain delay.
    func read(_ settings: Settings) throws -> (Server.Limits, drainDelay: Int) {
        var limits = Server.Limits()
        let rates = 0...1_000_000_000.0
        limits.connections = try settings.number(
            .maxConnections, self.maxConnections, or: limits.connections, in: 1...1_000_000)
        limits.networkConnections = try settings.number(
            .connectionsPerNetwork, self.connectionsPerNetwork, in: 0...1_000_000
        ).map { $0 == 0 ? .max : $0 }
        limits.clientStreams = try settings.number(.clientStreams, self.clientStreams, in: 0...1_000_000)
        limits.networkStreams = try settings.number(.streamsPerNetwork, self.streamsPerNetwork, in: 0...1_000_000)
            .map { $0 == 0 ? .max : $0 }
        limits.networkRequests = try settings.number(
            .requestsPerNetwork, self.requestsPerNetwork, or: limits.networkRequests, in: rates)
        limits.operatorRequests = try settings.number(
            .requestsPerOperator, self.requestsPerOperator, or: limits.operatorRequests, in: rates)
        limits.requestMemory =
            try settings.number(.requestMemory, self.requestMemory, or: limits.requestMemory >> 20, in: 1...1_048_576)
            << 20
        limits.headerSeconds = try settings.number(
            .headerTimeout, self.headerTimeout, or: limits.headerSeconds, in: 1...3600)
        limits.idleSeconds = try settings.number(
            .idleTimeout, self.idleTimeout, or: limits.idleSeconds, in: 1...86_400)
        limits.bodySeconds = try settings.number(.bodyTimeout, self.bodyTimeout, or: limits.bodySeconds, in: 1...3600)
        limits.writeSeconds = try settings.number(
            .writeTimeout, self.writeTimeout, or: limits.writeSeconds, in: 1...3600)
        limits.drainSeconds = try settings.number(
            .drainTimeout, self.drainTimeout, or: limits.drainSeconds, in: 1...3600)
        return (limits, try settings.number(.drainDelay, self.drainDelay, or: 0, in: 0...3600))
    }
}
