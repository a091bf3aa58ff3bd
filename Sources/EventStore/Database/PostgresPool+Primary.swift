import Postgres

extension PostgresPool {
    /// Asks a primary: the pool's server, or where that is a standby, the one among the other hosts of the connection string.
    ///
    /// - Parameter sql: Its answer, one value, MUST be null on a standby and nowhere else.
    /// - Returns: The answer; nil where the string names this standby alone.
    /// - Throws: ``PostgresError``, also where no host is a primary, or the primary lets the node not in.
    func askPrimary(_ sql: String, _ parameters: [PostgresValue]) async throws -> Bool? {
        try await self.askPrimary(sql, parameters) { try $0.optionalBool(0) }
    }

    /// The same, of a value that `read` takes from the answer's row.
    func askPrimary<Value: Sendable>(
        _ sql: String, _ parameters: [PostgresValue], _ read: (PostgresRow) throws -> Value?
    ) async throws -> Value? {
        if let answer = try read(try await self.query(sql, parameters).only) { return answer }
        guard self.configuration.namesSeveralServers else { return nil }
        var configuration = self.configuration
        configuration.preferredServer = .readWrite
        let connection = try await PostgresConnection.connect(configuration)
        let answer: Result<Value?, any Error>
        do { answer = .success(try read(try await connection.query(sql, parameters).only)) } catch {
            answer = .failure(error)
        }
        await connection.close()
        return try answer.get()
    }
}
