import Dispatch
import EventStore
import Foundation
import Keys
import Logging
import NIOCore
import NIOPosix
import PinWire
import PinledgerServer
import Pinning
import Postgres
import Probing
import Publishing
import Secrets
import ServiceLifecycle
import Signals
import Synchronization

/// A server in this process, without a database, that listens on a port of this machine alone, and a client's connection to it. By the
/// clock nothing happens in it but a new date once a second, which a task of Hummingbird makes: the rounds of its event loop do not run.
final class ExampleServer {
    let app: ExampleApp
    let client: ExampleClient
    /// The entity tag of the app's document.
    let tag: String

    init() throws {
        var app = try ExampleApp(hosts: 5)
        try app.record(.clientSet(.muejam, ClientSettings()))
        let table = DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) })
        let document = try Self.published(try app.signedDocument(), of: app.id)
        table.put([document])
        var view = LedgerView()
        view.state = app.state
        let services = try Self.services(Ledger(view: view), table)
        var limits = Server.Limits()
        limits.networkRequests = 0
        let server = Server(services: services, limits: limits)
        let bound = BoundPort()
        let listener = server.application(
            for: Server.Listener(.client, host: "127.0.0.1", port: 0, connections: 10)
        ) { port in
            bound.tell(port)
        }
        var logger = Logger(label: "cost")
        logger.logLevel = .error
        let group = ServiceGroup(services: [listener], logger: logger)
        // The server runs as long as the process does.
        Task.detached { try await group.run() }
        self.app = app
        self.tag = document.body.identity.tag
        self.client = try ExampleClient(port: bound.wait())
    }

    /// A signed document as a node serves it: read as an edge reads it, which trusts the key in a file.
    private static func published(_ bytes: [UInt8], of app: AppID) throws -> PublishedDocument {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pinledger-cost-\(getpid()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(JWK.set([JWK(try ExampleApp.signingKey().publicKey)]).canonicalBytes).write(to: file)
        return try TrustedKeys(file: file.path).verify(bytes, of: app)
    }

    private static func services(_ ledger: Ledger, _ table: DocumentTable) throws -> Services {
        let nowhere = PostgresConfiguration(connectionString: "host=127.0.0.1 port=1")
        let pool = PostgresPool(configuration: nowhere)
        var logger = Logger(label: "cost")
        logger.logLevel = .error
        let clock: @Sendable () -> Timestamp = { ExampleApp.now }
        let salts = DailySalts(try KeyEncryptionKey([UInt8](repeating: 7, count: 32)), for: "installs")
        let keys = SigningKeys(pool: pool, keyEncryptionKeys: nil)
        return Services(
            ledger: ledger, writer: nil, pool: pool,
            publisher: Publisher(
                ledger: ledger, keys: keys, pool: pool,
                listener: PostgresListener(configuration: nowhere, channels: []), schedule: .init(), table: table,
                logger: logger, clock: clock),
            keys: keys, logKeys: SigningKeys(pool: pool, keyEncryptionKeys: nil),
            clientKeys: ClientKeys(pool: pool, keyEncryptionKeys: nil),
            adoption: AdoptionRecorder(
                store: AdoptionStore(pool: pool), salts: salts, windowSeconds: 86_400, logger: logger, clock: clock,
                currentVersion: { ledger.view.state.documentVersion(of: $0) }),
            telemetry: TelemetryServices(
                recorder: TelemetryRecorder(
                    store: TelemetryStore(pool: pool), intake: TelemetryIntake(salts: salts, rate: 0), node: "cost",
                    thread: ThreadExecutor(), logger: logger, clock: clock),
                secrets: TelemetrySecrets(pool: pool, keyEncryptionKeys: nil)),
            clock: clock, logger: logger, version: "cost",
            observations: ObservationSummary(),
            probeScheduler: ProbeScheduler(
                summary: ObservationSummary(), store: ObservationStore(pool: pool), ledger: ledger, vantage: "here",
                schedule: ProbeSchedule(), isScheduled: false, records: false, logger: logger, clock: clock,
                probe: { ProbeReport(target: $0) }),
            environment: DecisionEnvironment { _ in false })
    }

    /// Waits for what the event loop does once an answer has left.
    func settle() throws { try MultiThreadedEventLoopGroup.singleton.any().submit {}.wait() }

    /// The bytes of a request as clients send them.
    func request(
        _ method: String, _ target: String, _ fields: KeyValuePairs<String, String> = [:], body: String = ""
    ) -> [UInt8] {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: pins.example.com\r\nUser-Agent: shop/2.4.1\r\nAccept: */*\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        return Array((text + "\r\n" + body).utf8)
    }
}

/// The port that a server listens on, once it does. Waiting blocks the thread: valgrind does not know the ways of a main thread that
/// awaits.
private final class BoundPort: Sendable {
    private let port = Mutex(0)
    private let isThere = DispatchSemaphore(value: 0)

    func tell(_ port: Int) {
        self.port.withLock { $0 = port }
        self.isThere.signal()
    }

    func wait() -> Int {
        self.isThere.wait()
        return self.port.withLock { $0 }
    }
}
