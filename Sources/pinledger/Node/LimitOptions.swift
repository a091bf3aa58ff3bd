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
        limits.connections = min(limits.connections, Self.descriptors)
        // Clients that only fetch find a connection, however many wait for news.
        limits.streams = try Self.number(
            self.clientStreams, "client-streams", 0...1_000_000, min(10_000, limits.connections * 3 / 4))
        limits.headerSeconds = try Self.number(self.headerTimeout, "header-timeout", 1...3600, limits.headerSeconds)
        limits.idleSeconds = try Self.number(self.idleTimeout, "idle-timeout", 1...86_400, limits.idleSeconds)
        limits.bodySeconds = try Self.number(self.bodyTimeout, "body-timeout", 1...3600, limits.bodySeconds)
        limits.writeSeconds = try Self.number(self.writeTimeout, "write-timeout", 1...3600, limits.writeSeconds)
        limits.drainSeconds = try Self.number(self.drainTimeout, "drain-timeout", 1...3600, limits.drainSeconds)
        return (limits, try Self.number(self.drainDelay, "drain-delay", 0...3600, 0))
    }

    /// How many connections this process has file descriptors for, with some left for the database, files and listeners:
    /// a listener that runs out of them would ask for the next connection again and again.
    private static var descriptors: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return max(8, Int(clamping: limit.rlim_cur) - 64)
    }

    private static func number(
        _ flag: Int?, _ name: String, _ range: ClosedRange<Int>, _ standard: Int
    ) throws -> Int {
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
            number = standard
        }
        guard range.contains(number) else {
            throw CommandFailure(
                "--\(name) must be from \(range.lowerBound) to \(range.upperBound)", status: .usage)
        }
        return number
    }
}
