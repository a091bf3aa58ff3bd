import EventStore
import Keys
import Logging
import PinWire
import Pinning
import Postgres
import Probing
import Publishing
import Secrets
import Signals

@testable import PinledgerServer

/// A server's parts without a database behind them, for what can be said without one.
enum ExampleServer {
    static let documents = DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) })

    static let routes = Routes(services: Self.services)

    static let services: Services = {
        let nowhere = PostgresConfiguration(connectionString: "host=127.0.0.1 port=1")
        let pool = PostgresPool(configuration: nowhere)
        let ledger = Ledger()
        let keys = SigningKeys(pool: pool, keyEncryptionKeys: nil)
        let logger = Logger(label: "test")
        let clock: @Sendable () -> Timestamp = { Timestamp(seconds: 1_800_000_000) }
        let publisher = Publisher(
            ledger: ledger, keys: keys, pool: pool,
            listener: PostgresListener(configuration: nowhere, channels: []), schedule: .init(), table: Self.documents,
            logger: logger, clock: clock
        )
        return Services(
            ledger: ledger, writer: nil, pool: pool, publisher: publisher, keys: keys,
            logKeys: SigningKeys(pool: pool, keyEncryptionKeys: nil),
            clientKeys: ClientKeys(pool: pool, keyEncryptionKeys: nil), adoption: Self.recorder(),
            telemetry: Self.telemetry(pool, logger), clock: clock, logger: logger,
            version: "test",
            observations: ObservationSummary(), probeScheduler: Self.probeScheduler(pool, ledger, clock, logger),
            environment: DecisionEnvironment { _ in false }
        )
    }()

    /// Takes reports and has nowhere to record them.
    private static func telemetry(_ pool: PostgresPool, _ logger: Logger) -> TelemetryServices {
        TelemetryServices(
            recorder: TelemetryRecorder(
                store: TelemetryStore(pool: pool),
                intake: TelemetryIntake(salts: nil, rate: 0), node: "test",
                thread: ThreadExecutor(),
                logger: logger, clock: { Timestamp(seconds: 1_800_000_000) }),
            secrets: TelemetrySecrets(pool: pool, keyEncryptionKeys: nil))
    }

    /// One that sees nothing.
    private static func probeScheduler(
        _ pool: PostgresPool, _ ledger: Ledger, _ clock: @escaping @Sendable () -> Timestamp, _ logger: Logger
    ) -> ProbeScheduler {
        ProbeScheduler(
            summary: ObservationSummary(), store: ObservationStore(pool: pool), ledger: ledger, vantage: "here",
            schedule: ProbeSchedule(), isScheduled: false, records: false, logger: logger, clock: clock,
            probe: { ProbeReport(target: $0) }
        )
    }

    /// One that counts and has nowhere to record.
    static func recorder(currentVersion: @escaping @Sendable (AppID) -> Int64? = { _ in nil }) -> AdoptionRecorder {
        AdoptionRecorder(
            store: AdoptionStore(
                pool: PostgresPool(configuration: PostgresConfiguration(connectionString: "host=127.0.0.1 port=1"))),
            salts: (try? KeyEncryptionKey([UInt8](repeating: 7, count: 32))).map { DailySalts($0, for: "installs") },
            windowSeconds: 86_400, logger: Logger(label: "test"),
            clock: { Timestamp(seconds: 1_800_000_000) }, currentVersion: currentVersion
        )
    }
}
