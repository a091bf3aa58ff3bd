import Concurrency
import EventStore
package import Keys
import LogLines
import Logging
import PinWire
import Pinning
import Postgres
import Secrets

/// Opens every secret that the ledger names, at the start and every few minutes: operators learn of one that is damaged or gone
/// before something needs it.
package struct SecretWorker: Sendable {
    private let services: Services
    private let keyEncryptionKeys: KeyEncryptionKeys

    private static let interval = Duration.seconds(300)
    /// The most lines of one look.
    private static let lineLimit = 10

    package init(services: Services, keyEncryptionKeys: KeyEncryptionKeys) {
        self.services = services
        self.keyEncryptionKeys = keyEncryptionKeys
    }

    /// Looks until cancelled.
    package func run() async {
        await PeriodicWorker(every: Self.interval, jitter: 0.1).run {
            // Where the database does not answer, what reads the ledger says so.
            guard let found = try? await self.look() else { return }
            for failure in self.services.secretFaults.take(found, tellingAtMost: Self.lineLimit) {
                self.services.logger.log(.secretUnavailable, ["fault": "\(failure)"])
            }
        }
    }

    /// The secrets that cannot be opened, but for the active signing key, of which the publisher tells; nil where this node has
    /// not read what the database holds.
    private func look() async throws -> [SecretTrial.Failure]? {
        let ledger = self.services.ledger
        guard ledger.fault == nil else { return nil }
        let (state, keyEncryptionKeys, now) = (ledger.view.state, self.keyEncryptionKeys, self.services.clock())
        // On the connection's thread: there may be many secrets.
        let (trial, end) = try await self.services.pool.reading { connection in
            try await connection.perform { @Sendable connection in
                let secrets = try StoredSecret.named(in: state, at: now, on: connection)
                // In this order: what was erased because the ledger names it no more was recorded before.
                let end = try LedgerReader.end(on: connection).head.position
                return (SecretTrial(of: keyEncryptionKeys, on: secrets, in: state, at: now), end)
            }
        }
        guard await self.hasRead(end) else { return nil }
        let view = ledger.view
        let active = view.state.keys.active?.kid
        return trial.unusable(in: view.state, at: now).filter { $0.kind != .signing || $0.id != active }
    }

    private func hasRead(_ position: Int64) async -> Bool {
        for _ in 0..<20 where self.services.ledger.position < position {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return false }
        }
        return position <= self.services.ledger.position
    }
}
