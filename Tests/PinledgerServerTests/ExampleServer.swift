import EventStore
import Logging
import PinWire
import Postgres
import PublicSuffixes
import Publishing

@testable import PinledgerServer

/// A server's parts without a database behind them, for what can be said without one.
enum ExampleServer {
    static let routes: Routes = {
        let nowhere = PostgresConfiguration(connectionString: "host=127.0.0.1 port=1")
        let pool = PostgresPool(configuration: nowhere)
        let ledger = Ledger()
        let keys = SigningKeys(pool: pool, keyEncryptionKey: nil)
        let logger = Logger(label: "test")
        let clock: @Sendable () -> Timestamp = { Timestamp(seconds: 1_800_000_000) }
        let publisher = Publisher(
            ledger: ledger, keys: keys, pool: pool,
            listener: PostgresListener(configuration: nowhere, channels: []), schedule: .init(), table: DocumentTable(),
            logger: logger, clock: clock
        )
        let services = Services(
            ledger: ledger, writer: nil, pool: pool, publisher: publisher, keys: keys, clock: clock, logger: logger,
            documentMaxAge: 60, version: "test"
        )
        return Routes(services: services, isPublicSuffix: { _ in false })
    }()
}
