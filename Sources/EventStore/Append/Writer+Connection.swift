import LogLines
import Logging
import Postgres

/// The one connection on which a writer appends.
extension Writer {
    func connected() async throws -> PostgresConnection {
        if let connection = self.connection, connection.isUsable { return connection }
        await self.drop()
        do {
            let connection = try await PostgresConnection.connect(self.configuration)
            self.connection = connection
            self.ledger.database.find(.writing, self.logger)
            return connection
        } catch {
            if !Task.isCancelled { self.ledger.database.lose(.writing, error, self.logger) }
            throw WriteFailure.unavailable("the database cannot be reached")
        }
    }

    func drop() async {
        let connection = self.connection
        (self.connection, self.lease) = (nil, nil)
        await connection?.close()
    }

    /// Finds out whether a batch, whose connection broke before the answer, was recorded.
    ///
    /// - Throws: ``WriteFailure/outcomeUnknown`` where that cannot be found out for as long as ``Limits/settling``.
    func findOutcome(of batch: Batch) async throws -> AppendOutcome {
        var delay = Duration.milliseconds(20)
        let deadline = ContinuousClock.now + self.limits.settling
        while true {
            do {
                let connection = try await self.connected()
                let outcome = try await connection.transaction { @Sendable connection in
                    try AppendOutcome(of: batch, seenFrom: connection)
                }
                try await connection.checkCommitsWait()
                return outcome
            } catch {
                self.logger.log(.batchOutcomeUnknown, ["error": "\(error)"])
                await self.drop()
                guard ContinuousClock.now + delay < deadline, !Task.isCancelled else {
                    throw WriteFailure.outcomeUnknown
                }
                try? await Task.sleep(for: delay)
                delay = min(delay * 2, .seconds(1))
            }
        }
    }
}
