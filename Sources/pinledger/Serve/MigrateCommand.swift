import ArgumentParser
import EventStore
import Postgres

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Bring the database's schema up to date.",
        discussion: """
            pinledger migrate --database "$DATABASE" --grant-to pinledger_server

            Use an account that may create roles and the schema `pinledger`. Each migration is one transaction and is \
            applied once. A database whose applied migrations differ from the program's is refused.

            Nodes go on while it runs: it waits a fifth of a second for a lock, lets others go on for a second, and tries \
            again. After 60 attempts it ends, and names who holds the lock.
            """
    )

    @Option(help: ArgumentHelp("Connection string of the database. [env: PINLEDGER_DATABASE]", valueName: "conninfo"))
    var database: String?

    @OptionGroup var file: SettingsFileOption

    @Flag(help: "Show what would be done, and change nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Login role of the server. It gets the role pinledger_app.", valueName: "role"))
    var grantTo: String?

    func run() async throws {
        let database = try self.file.database(self.database)
        // Building an index on a large table takes long. Another migrator is waited for; each attempt's other locks are taken at once.
        let configuration = PostgresConfiguration(
            connectionString: database, statementTimeout: nil, lockTimeout: .seconds(60), preferredServer: .readWrite)
        do {
            let connection = try await PostgresConnection.connect(configuration)
            if self.dryRun {
                switch try await Migrator().status(on: connection) {
                case .upToDate: Console.print("up to date")
                case .pending(let migrations):
                    for migration in migrations { Console.print("pending: \(migration.title)") }
                }
            } else {
                let done = try await Migrator().migrate(on: connection) { holders in
                    Console.error("waiting for a lock: \(LockHolder.text(of: holders))")
                }
                for migration in done { Console.print("applied: \(migration.title)") }
                if done.isEmpty { Console.print("up to date") }
                if let role = self.grantTo {
                    let name = role.replacing("\"", with: "\"\"")
                    try await connection.execute(script: "GRANT pinledger_app TO \"\(name)\"")
                    Console.print("granted: pinledger_app to \(role)")
                }
            }
            await connection.close()
        } catch let failure as MigrationFailure {
            throw CommandFailure("\(failure)", advice: failure.advice)
        } catch let error as PostgresError {
            let unreachable = error.code == .connectionFailed
            throw CommandFailure("\(error)", status: unreachable ? .unreachable : .failure)
        }
    }
}

extension Migration {
    var title: String { String(repeating: "0", count: 4 - String(self.version).count) + "\(self.version) \(self.name)" }
}
