import Postgres

/// Reads that belong together: the connections of a pool may lead to several servers.
extension LedgerReader {
    /// The server that answered lacks events that another one has.
    package struct Behind: Error, CustomStringConvertible {
        package let position: Int64

        package init(position: Int64) { self.position = position }

        package var description: String {
            "the database server that answered does not have the event at position \(self.position) yet, which another has"
        }
    }

    /// Reads on one connection, and so on one server: another one may lack the last events, or have more.
    ///
    /// Repeated, once, where the connection is lost. A connection to a server that turns out to be ``Behind`` is closed, so that
    /// the next one may lead elsewhere.
    package func onOneServer<R>(_ body: (LedgerReader) async throws -> R) async throws -> R {
        guard self.connection == nil else { return try await body(self) }
        return try await self.pool.reading { connection in
            do { return try await body(self.reading(on: connection)) } catch let behind as Behind {
                await connection.close()
                throw behind
            }
        }
    }

    /// The same, on a server that has the first `end` events of the ledger.
    ///
    /// - Throws: ``LedgerFault/shrunk(from:to:)`` as ``loss(before:)`` says, ``Behind`` where no server that was asked has them.
    package func onServer<R>(with end: Int64, _ body: (LedgerReader) async throws -> R) async throws -> R {
        func ask() async throws -> R {
            try await self.onOneServer { reader in
                guard try await reader.head().position >= end else { throw Behind(position: end - 1) }
                return try await body(reader)
            }
        }
        do { return try await ask() } catch is Behind where self.connection == nil {
            if let found = try await self.loss(before: end) { throw LedgerFault.shrunk(from: end, to: found) }
            return try await ask()
        }
    }

    /// Reads on a connection that is opened for it, to the primary where one is named: the connections of before may lead to a former
    /// primary, and end.
    func onNewConnection<R>(_ body: (LedgerReader) async throws -> R) async throws -> R {
        try await self.pool.withNewConnection { try await body(self.reading(on: $0)) }
    }

    /// The number of events in the ledger where it is less than `end`, by the word of a primary on a connection that was opened for it:
    /// another one may lead to a former primary. Nil where a server has as many events, or only standbys answer, which may be behind.
    package func loss(before end: Int64) async throws -> Int64? {
        let (found, isStandby) = try await self.endAndServer()
        guard found.head.position < end else { return nil }
        guard isStandby else { return try await self.onNewConnection { try await $0.fewer(than: end) } }
        guard self.pool.configuration.ofPrimary != nil else { return nil }
        do { return try await self.onNewConnection { try await $0.fewer(than: end) } } catch let error as PostgresError
            where error.meansNoServer
        {
            return nil
        }
    }

    private func fewer(than end: Int64) async throws -> Int64? {
        let (found, isStandby) = try await self.endAndServer()
        return found.head.position < end && !isStandby ? found.head.position : nil
    }

    /// The number of events in the primary's ledger, asked on a connection of its own; nil where the connection string names none beside
    /// standbys.
    func endOfPrimary() async throws -> Int64? {
        guard var configuration = self.pool.configuration.ofPrimary else { return nil }
        configuration.connectTimeout = min(configuration.connectTimeout, .seconds(1))
        let connection = try await PostgresConnection.connect(configuration)
        let end: Result<Int64, any Error>
        do {
            end = .success(try await connection.query("SELECT next_position FROM pinledger.head").only.int64(0))
        } catch {
            end = .failure(error)
        }
        await connection.close()
        return try end.get()
    }

    /// The reason why an event is not there that a head of this reader's server counts: ``Behind``, or
    /// ``LedgerFault/position(expected:found:)`` where the server's own head says so too.
    func absence(of position: Int64) async throws -> any Error {
        let row = try await self.read(
            """
            SELECT next_position, EXISTS (SELECT FROM pinledger.event WHERE position = $1) FROM pinledger.head
            """, [.int64(position)]
        ).only
        let end = try row.int64(0)
        guard try position < end && !row.bool(1) else { return Behind(position: position) }
        return LedgerFault.position(expected: position, found: end)
    }
}
