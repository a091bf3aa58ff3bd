import ArgumentParser
import EventStore
import Foundation
import Keys
import Logging
import PinWire
import PinledgerServer
import Pinning
import Postgres

struct DevCommand: AsyncParsableCommand, JoinedArguments, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "dev", abstract: "Run everything on this machine: a private PostgreSQL, the schema, the server.",
        discussion: """
            pinledger dev

            The data is in one directory, or PostgreSQL's part in another one that the greeting names. The first start \
            creates the database, a key-encryption key, a signing key and an admin token. Later starts reuse them. For trial and development, not for production.
            """
    )

    /// The app and the configuration of a new database.
    struct Example: ParsableArguments {
        @Option(
            help: ArgumentHelp("Remote configuration to import into --app, unless the app exists.", valueName: "file")
        )
        var example: String?

        @Option(help: ArgumentHelp("App to import --example into.", valueName: "app"))
        var app: String?
    }

    private var directory = DataDirectory()
    private var given = Example()
    private var flags = SettingFlags<TrialProgram>()
    private var trust = TrustOption()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.directory = try DataDirectory(from: decoder)
        self.given = try Example(from: decoder)
        self.flags = try SettingFlags(from: decoder)
        self.trust = try TrustOption(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.directory, self.given, self.flags, self.trust] }

    func validate() throws {
        guard (self.given.example == nil) == (self.given.app == nil) else {
            throw ValidationError("--example and --app must be given together")
        }
    }

    func run() async throws {
        // Before anything is made.
        try Settings(of: .trial, flags: self.flags.values).check()
        let home = self.directory.path
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        let database = try await PrivateDatabase(home: home)
        try await database.start()
        do {
            try await self.serve(home, database)
        } catch {
            await database.stop()
            throw error
        }
        await database.stop()
    }

    private func serve(_ home: String, _ database: PrivateDatabase) async throws {
        try await Self.migrate(database, in: home)
        let kekFile = "\(home)/key-encryption-key"
        if !FileManager.default.fileExists(atPath: kekFile) {
            try Self.write(Base64.encode(Random.bytes(32)) + "\n", to: kekFile)
        }
        var flags = self.flags.values
        flags[.database] = [database.connectionString(user: "pinledger_dev")]
        flags[.kekFile] = [kekFile]
        flags[.stateDirectory] = flags[.stateDirectory] ?? ["\(home)/state"]
        let configuration = try NodeConfiguration(
            Settings(of: .trial, flags: flags), trustsDatabase: self.trust.trustDatabase)
        let (example, app) = (self.given.example, self.given.app)
        try await Node(configuration: configuration).run { port, services in
            do {
                let context = try await Self.settle(home, configuration.listen.host, port, services)
                services.trialSetup.end()
                if let example, let app { try await Self.load(example, into: app, context, services) }
                self.greet(context, app: app, home: home, database: database.directory)
            } catch {
                let failure = ErrorText.failure(for: error)
                Console.error("pinledger: \(failure.message)")
                if let advice = failure.advice { Console.error("  \(advice)") }
            }
        }
    }

    private static func migrate(_ database: PrivateDatabase, in home: String) async throws {
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(connectionString: database.connectionString(user: "postgres"))
        )
        do { _ = try await Migrator().migrate(on: connection) } catch let failure as MigrationFailure {
            let places = database.directory.hasPrefix("\(home)/") ? home : "\(home) and \(database.directory)"
            let advice = "Delete \(places) and run `pinledger dev` again. The ledger in it cannot be carried over."
            throw CommandFailure("\(failure)", advice: failure == .unreleased ? advice : failure.advice)
        }
        try await connection.execute(
            script: """
                DO $$ BEGIN
                    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pinledger_dev') THEN
                        CREATE ROLE pinledger_dev LOGIN;
                    END IF;
                END $$;
                GRANT pinledger_app TO pinledger_dev;
                """
        )
        await connection.close()
    }

    /// Makes sure that there is a signing key, an admin token and the context that the other commands read.
    private static func settle(
        _ home: String, _ host: String, _ port: Int, _ services: Services
    ) async throws -> ServerContext {
        let issuer = LocalOperator(services: services)
        try await issuer.ensureSigningKey()
        let path = "\(home)/context.json"
        let server = "http://\(host == "0.0.0.0" ? "127.0.0.1" : host):\(port)"
        let access = services.ledger.view.state.access
        if var context = try ServerContext(path: path), let text = context.token,
            let token = try? APIToken(parsing: text),
            let known = access.idByDigest[token.digest].flatMap({ access.tokens[$0] }),
            known.isValid(at: services.clock())
        {
            let before = context.text
            context.server = server
            context.tokenEnd = known.expiresAt
            if context.text != before { try Self.write(context.text, to: path) }
            return context
        }
        let seconds: Int64 = 90 * 86_400
        let end = services.clock().adding(seconds: seconds)
        let token = try await issuer.createToken(name: "first admin", seconds: seconds)
        var context = ServerContext(server: server, token: token)
        context.tokenEnd = end
        try Self.write(context.text, to: path)
        return context
    }

    private static func load(
        _ file: String, into app: String, _ context: ServerContext, _ services: Services
    ) async throws {
        guard let id = try? AppID(app), services.ledger.view.state.apps[id] == nil else { return }
        let data = try GivenFile.data(file)
        try await APIClient.with(context) { client in
            try await client.send("POST", "/v1/import/remote-config?app=\(app)", body: Array(data)).check()
        }
    }

    private func greet(_ context: ServerContext, app: String?, home: String, database: String) {
        let next =
            app.map { app in
                [
                    "pinledger app show \(app)",
                    "curl -si \(context.server)/client/v1/apps/\(app)/document",
                    "pinledger document verify \(app)",
                ]
            } ?? [
                "pinledger app create com.example.app",
                "pinledger host add com.example.app api.example.com --primary sha256/… --backup sha256/…",
                "curl -si \(context.server)/client/v1/apps/com.example.app/document",
            ]
        let find = Self.pathLine + (self.directory.isUsual ? [] : ["export PINLEDGER_DATA='\(home)'"])
        let elsewhere = database.hasPrefix("\(home)/") ? "" : " PostgreSQL's part is in \(database)."
        Console.print(
            """
            pinledger \(Version.text) serves on \(context.server)

            Try next, in another terminal in this directory:
              \((find + next).joined(separator: "\n  "))

            Stop with Ctrl-C. All data stays in \(home).\(elsewhere)
            """
        )
    }

    /// What makes a shell find this program, where it does not.
    private static var pathLine: [String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let isFound = path.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/pinledger")
        }
        guard !isFound, let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return [] }
        return ["export PATH='\(URL(fileURLWithPath: program).deletingLastPathComponent().path)':\"$PATH\""]
    }

    /// Writes a file that only its owner can read, whole or not at all.
    private static func write(_ text: String, to path: String) throws {
        do throws(PrivateFile.Failure) { try PrivateFile.write(Array(text.utf8), to: path) } catch {
            throw CommandFailure(error, "the file", path)
        }
    }
}
