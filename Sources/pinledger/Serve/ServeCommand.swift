import ArgumentParser

struct ServeCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve documents to clients and the API to operators.",
        discussion: """
            pinledger serve --database "$DATABASE" --kek-file kek --listen 0.0.0.0:8440 --admin-listen 127.0.0.1:8441

            Any number of nodes can share one database. Run `pinledger migrate` on it first.
            """
    )

    @OptionGroup var options: NodeOptions

    func run() async throws {
        for warning in ConfigCommands.Check.warnings() { Console.error("pinledger: warning: \(warning)") }
        let configuration = try NodeConfiguration(self.options)
        try configuration.checkOperatorsAddress()
        try await Node(configuration: configuration).run { port, _ in
            Console.error("pinledger \(Version.text) serves on \(configuration.listen.host):\(port)")
            if let admin = configuration.adminListen { Console.error("operators' address: \(admin.text)") }
        }
    }
}
