import Concurrency
import EventStore
import Postgres

/// Asks the database every half minute who copies it, for ``NodeHealth``.
package struct DatabaseStandingWorker: Sendable {
    private let services: Services

    package init(services: Services) { self.services = services }

    /// Asks until cancelled. Other parts of the node report that the database is away; what it said last is not shown then.
    package func run() async {
        await PeriodicWorker(every: .seconds(30), jitter: 0.1).run {
            self.services.health.note(try? await DatabaseStanding(self.services.pool))
        }
    }
}
