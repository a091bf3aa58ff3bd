import Addresses
import Concurrency
import LogLines
import Postgres
import Signals

/// Keeps in the database which tokens were used from where, every ten seconds.
package struct TokenUseWorker: Sendable {
    private let services: Services

    package init(services: Services) { self.services = services }

    /// Reports until cancelled.
    package func run() async {
        await PeriodicWorker(every: .seconds(10), jitter: 0.1).run(
            logging: .tokenUsesNotKept, to: self.services.logger
        ) { try await self.report() }
        await finish(within: .seconds(1)) { try? await self.report() }
    }

    /// Reports what waits. What cannot be kept waits for the next time.
    package func report() async throws {
        var rest = Array(self.services.tokenUses.take())[...]
        do {
            while !rest.isEmpty {
                let part = rest.prefix(TokenUseStore.batch)
                try await TokenUseStore(pool: self.services.pool).report(
                    part.compactMap { use in
                        (try? IPNetwork(use.network.description)).map { (token: use.token, network: $0) }
                    })
                rest = rest.dropFirst(part.count)
            }
        } catch {
            self.services.tokenUses.putBack(rest)
            throw error
        }
    }
}
