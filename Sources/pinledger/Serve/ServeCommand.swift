import ArgumentParser

struct ServeCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves documents to clients and the API to operators.",
        discussion: "Any number of these may run on one database. The database must be migrated (`pinledger migrate`)."
    )

    @OptionGroup var options: NodeOptions

    func run() async throws {
        let configuration = try NodeConfiguration(self.options)
        try await Node(configuration: configuration).run { port, _ in
            Console.error("pinledger \(Version.text) serves on \(configuration.listen.host):\(port)")
            if let admin = configuration.adminListen { Console.error("operators: \(admin.text)") }
        }
    }
}
