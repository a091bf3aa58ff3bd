import ArgumentParser
import LogLines
import Logging

struct ServeCommand: AsyncParsableCommand, JoinedArguments, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve documents to clients and the API to operators.",
        discussion: """
            pinledger serve --database "$DATABASE" --kek-file kek --listen 0.0.0.0:8440 --admin-listen 127.0.0.1:8441

            Any number of nodes can share one database. Run `pinledger migrate` on it first.
            """
    )

    private var options = NodeOptions()

    init() {}

    init(joining decoder: any Decoder) throws { self.options = try NodeOptions(from: decoder) }

    var groups: [any ParsableArguments] { [self.options] }

    func run() async throws {
        for warning in ConfigCommands.Check.warnings() { Console.error("pinledger: warning: \(warning)") }
        let configuration = try NodeConfiguration(self.options)
        try configuration.checkOperatorsAddress()
        let node = Node(configuration: configuration)
        try await node.run { port, _ in
            var addresses: Logger.Metadata = [
                "version": "\(Version.text)", "listen": "\(configuration.listen.with(port: port).text)",
            ]
            if let admin = configuration.adminListen { addresses["admin_listen"] = "\(admin.text)" }
            if let metrics = configuration.metricsListen { addresses["metrics_listen"] = "\(metrics.text)" }
            node.logger.log(.serverServing, addresses)
        }
    }
}
