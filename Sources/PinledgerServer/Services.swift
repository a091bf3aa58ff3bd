package import EventStore
package import Logging
package import PinWire
package import Pinning
package import Postgres
package import Publishing

/// What the handlers of a node work with.
package struct Services: Sendable {
    package var ledger: Ledger
    /// Nil on a read-only node.
    package var writer: Writer?
    package var pool: PostgresPool
    package var publisher: Publisher
    package var keys: SigningKeys
    /// Which document versions clients hold.
    package var adoption: AdoptionRecorder
    package var clock: @Sendable () -> Timestamp
    package var logger: Logger
    /// How long clients and caches may use a document before asking again, in seconds.
    package var documentMaxAge: Int
    package var version: String
    /// Whether the node is on its way out.
    package let drain = Drain()

    package init(
        ledger: Ledger, writer: Writer?, pool: PostgresPool, publisher: Publisher, keys: SigningKeys,
        adoption: AdoptionRecorder, clock: @escaping @Sendable () -> Timestamp, logger: Logger, documentMaxAge: Int,
        version: String
    ) {
        self.ledger = ledger
        self.writer = writer
        self.pool = pool
        self.publisher = publisher
        self.keys = keys
        self.adoption = adoption
        self.clock = clock
        self.logger = logger
        self.documentMaxAge = documentMaxAge
        self.version = version
    }

    /// What is known of the versions that an app's clients hold; nil where it is not known yet.
    package var adoptionFacts: @Sendable (AppID) -> AdoptionFacts? {
        let adoption = self.adoption
        return { adoption.facts(of: $0) }
    }

    var reader: LedgerReader { LedgerReader(pool: self.pool) }
}
