import ArgumentParser
import Foundation
import PinledgerServer

/// What bounds the connections of a node, and its end.
struct LimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Connections at once (10000). [env: PINLEDGER_MAX_CONNECTIONS]", valueName: "count"))
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp(
            "Streams of documents at once, each a connection or part of one (10000, but at most three quarters of the connections). [env: PINLEDGER_CLIENT_STREAMS]",
            valueName: "count"))
    var clientStreams: Int?

    @Option(
        help: ArgumentHelp(
            "Connections at once of one network (/24, /48) on the clients' address; 0 for as many as there are (a quarter of the connections). Trusted proxies' do not count. [env: PINLEDGER_CONNECTIONS_PER_NETWORK]",
            valueName: "count"))
    var connectionsPerNetwork: Int?

    @Option(
        help: ArgumentHelp(
            "Streams of documents at once of one network; 0 for as many as there are (a quarter of the streams). [env: PINLEDGER_STREAMS_PER_NETWORK]",
            valueName: "count"))
    var streamsPerNetwork: Int?

    @Option(
        help: ArgumentHelp(
            "Requests a second of one network that cost most (evaluated documents, those of deployed clients with an answer of their own), ten times that at once; 0 for any number (200). [env: PINLEDGER_REQUESTS_PER_NETWORK]",
            valueName: "count"))
    var requestsPerNetwork: Double?

    @Option(
        help: ArgumentHelp(
            "MiB that the requests may hold which are not answered to the end; above it those give way in which nothing has moved for the longest time (256). [env: PINLEDGER_REQUEST_MEMORY]",
            valueName: "MiB"))
    var requestMemory: Int?

    @Option(
        help: ArgumentHelp(
            "Time for the head of a request, and for the TLS handshake (10). [env: PINLEDGER_HEADER_TIMEOUT]",
            valueName: "seconds"))
    var headerTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long a connection may stay without a request (75). [env: PINLEDGER_IDLE_TIMEOUT]", valueName: "seconds"
        ))
    var idleTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "Time for the body of a request (30). [env: PINLEDGER_BODY_TIMEOUT]", valueName: "seconds"))
    var bodyTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long a client may take nothing of its answer (30). [env: PINLEDGER_WRITE_TIMEOUT]",
            valueName: "seconds"))
    var writeTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "How long to serve on after SIGTERM, while /readyz says 503 (0). [env: PINLEDGER_DRAIN_DELAY]",
            valueName: "seconds"))
    var drainDelay: Int?

    @Option(
        help: ArgumentHelp(
            "How long what is in flight may take to finish then (10). [env: PINLEDGER_DRAIN_TIMEOUT]",
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
