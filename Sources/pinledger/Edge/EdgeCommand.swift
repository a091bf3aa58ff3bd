import ArgumentParser
import LogLines
import Logging

struct EdgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edge", abstract: "Serve another server's documents, verified, where clients are.",
        subcommands: [EdgeServeCommand.self, EdgeExportCommand.self, EdgeConfigCommands.self])
}

struct EdgeServeCommand: AsyncParsableCommand, JoinedArguments, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve an upstream's documents to clients, without a database and without keys.",
        discussion: """
            pinledger edge serve --upstream https://pins.example.com --upstream-token-file token \
            --trusted-keys keys.json --state-directory /var/lib/pinledger-edge --listen 0.0.0.0:8450

            It verifies each document before it serves it, and never goes back to an older one. It starts and serves \
            without its upstream, and passes clients' reports on. Its upstream may be another edge.
            """)

    private var options = EdgeOptions()

    init() {}

    init(joining decoder: any Decoder) throws { self.options = try EdgeOptions(from: decoder) }

    var groups: [any ParsableArguments] { [self.options] }

    func run() async throws {
        let configuration = try EdgeConfiguration(self.options)
        let edge = EdgeNode(configuration: configuration)
        try await edge.run { port in
            var addresses: Logger.Metadata = [
                "version": "\(Version.text)", "listen": "\(configuration.listen.with(port: port).text)",
            ]
            if let metrics = configuration.metricsListen { addresses["metrics_listen"] = "\(metrics.text)" }
            edge.logger.log(.serverServing, addresses)
        }
    }
}
