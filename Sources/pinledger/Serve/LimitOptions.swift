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

    /// The limits, and the drain delay: flags first, then environment variables, then defaults.
    func read() throws -> (Server.Limits, drainDelay: Int) {
        var limits = Server.Limits()
        limits.connections = try Self.number(
            self.maxConnections, "max-connections", 1...1_000_000, limits.connections)
        limits.networkConnections = try Self.number(
            self.connectionsPerNetwork, "connections-per-network", 0...1_000_000
        ).map { $0 == 0 ? .max : $0 }
        limits.clientStreams = try Self.number(self.clientStreams, "client-streams", 0...1_000_000)
        limits.networkStreams = try Self.number(self.streamsPerNetwork, "streams-per-network", 0...1_000_000)
            .map { $0 == 0 ? .max : $0 }
        limits.networkRequests = try NodeConfiguration.number(
            self.requestsPerNetwork, "PINLEDGER_REQUESTS_PER_NETWORK", default: limits.networkRequests,
            in: 0...1_000_000_000)
        limits.operatorRequests = try NodeConfiguration.number(
            self.requestsPerOperator, "PINLEDGER_REQUESTS_PER_OPERATOR", default: limits.operatorRequests,
            in: 0...1_000_000_000)
        limits.requestMemory =
            try Self.number(self.requestMemory, "request-memory", 1...1_048_576, limits.requestMemory >> 20) << 20
        limits.headerSeconds = try Self.number(self.headerTimeout, "header-timeout", 1...3600, limits.headerSeconds)
        limits.idleSeconds = try Self.number(self.idleTimeout, "idle-timeout", 1...86_400, limits.idleSeconds)
        limits.bodySeconds = try Self.number(self.bodyTimeout, "body-timeout", 1...3600, limits.bodySeconds)
        limits.writeSeconds = try Self.number(self.writeTimeout, "write-timeout", 1...3600, limits.writeSeconds)
        limits.drainSeconds = try Self.number(self.drainTimeout, "drain-timeout", 1...3600, limits.drainSeconds)
        return (limits, try Self.number(self.drainDelay, "drain-delay", 0...3600, 0))
    }

    private static func number(
        _ flag: Int?, _ name: String, _ range: ClosedRange<Int>, _ standard: Int
    ) throws -> Int {
        try Self.number(flag, name, range) ?? standard
    }

    /// A number from a flag, else from the environment; nil for neither.
    private static func number(_ flag: Int?, _ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        let variable = "PINLEDGER_" + name.uppercased().replacing("-", with: "_")
        let number: Int
        if let flag {
            number = flag
        } else if let text = Environment[variable] {
            guard let value = Int(text) else {
                throw CommandFailure("\(variable) is \(text), which is not a number", status: .usage)
            }
            number = value
        } else {
            return nil
        }
        guard range.contains(number) else {
            throw CommandFailure(
                "--\(name) must be from \(range.lowerBound) to \(range.upperBound)", status: .usage)
        }
        return number
    }
}
