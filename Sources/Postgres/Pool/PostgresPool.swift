import Synchronization
import Traces
import Tracing

/// A bounded set of connections that many tasks share.
///
/// Connections are opened when they are needed, by the task that needs them. Requests beyond the limit wait in line, no
/// longer than the wait timeout, and the line has an end. A connection that comes back broken, or inside a transaction,
/// is dropped; one that died while it was idle is replaced before it is lent.
package final class PostgresPool: Sendable {
    /// The kind of requests for connections that the task makes, such as an operation of the API: those of one kind hold no more than
    /// ``init(configuration:maximumConnections:maximumPerKind:maximumWaiters:waitTimeout:idleTimeout:)`` allows, and wait in no more
    /// than half of the line. Nil for one without a limit of its own.
    @TaskLocal package static var kind: String?

    package let configuration: PostgresConfiguration
    let waitTimeout: Duration
    let idleTimeout: Duration
    let state: Mutex<State>

    package init(
        configuration: PostgresConfiguration,
        maximumConnections: Int = 4,
        maximumPerKind: Int = 2,
        maximumWaiters: Int = 64,
        waitTimeout: Duration = .seconds(5),
        idleTimeout: Duration = .seconds(300)
    ) {
        self.configuration = configuration
        self.waitTimeout = waitTimeout
        self.idleTimeout = idleTimeout
        let machine = PoolStateMachine(
            maximumConnections: maximumConnections, maximumWaiters: maximumWaiters, maximumPerKind: maximumPerKind)
        self.state = Mutex(State(machine: machine))
    }

    /// The check of a connection before it is lent for the first time.
    package typealias ConnectionCheck = @Sendable (PostgresConnection) async throws(PostgresError) -> Void

    /// Sets the check for every connection that is opened from now on; a connection that fails it is closed, and the
    /// request for it gets the error. Where standbys are preferred, one that fails it with `.connectionFailed` gives way to the
    /// primary first.
    package func checkConnections(_ check: @escaping ConnectionCheck) {
        self.state.withLock { $0.check = check }
    }

    /// Lends a connection for as long as the closure runs, on the caller's executor.
    ///
    /// Throws `.poolExhausted` at once when the line is full, `.timeout`, `.poolClosed`, `.cancelled`,
    /// `.connectionFailed`, and the closure's own errors. The connection MUST NOT be used after the closure has
    /// returned.
    package func withConnection<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        let (slot, connection) = try await self.lend()
        do {
            let value = try await body(connection)
            self.takeBack(slot, connection)
            return value
        } catch {
            self.takeBack(slot, connection)
            throw error
        }
    }

    /// One statement on any connection. One that turned out dead before the statement was sent is replaced, once; a
    /// statement whose outcome is unknown is never repeated.
    @discardableResult
    package func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        try await self.retrying(\.isCertainlyUndone) { try await $0.query(sql, parameters) }
    }

    /// Like `query`, for statements that only read: repeated, once, whenever its connection was lost.
    package func read(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        try await self.retrying(\.isConnectionLoss) { try await $0.query(sql, parameters) }
    }

    /// Like ``read(_:_:)``, for several statements that only read, on one connection. The loss of another one repeats nothing.
    package func reading<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        try await self.retrying(\.isConnectionLoss, body)
    }

    /// A transaction on any connection; it is not repeated. See `PostgresConnection.transaction`.
    package func transaction<R: Sendable>(
        isolation: PostgresIsolation? = nil,
        readOnly: Bool = false,
        _ body: @Sendable (isolated PostgresConnection) throws -> R
    ) async throws -> R {
        try await traced("database", .client, attributes: ["db.system.name": "postgresql"]) { _ in
            try await self.withConnection { connection in
                try await connection.transaction(isolation: isolation, readOnly: readOnly, body)
            }
        }
    }

    /// Ends all connections, those that are lent once they come back, so that the next requests open new ones: to the servers that the
    /// connection string leads to by then.
    package func dropConnections() {
        // Returned so that the connections are released outside the lock.
        _ = self.state.withLock { state in
            state.machine.dropAll().compactMap { state.idle.removeValue(forKey: $0)?.connection }
        }
    }

    /// Refuses new requests, fails those that wait, and returns when the last lent connection has come back and all are
    /// closed. May be called more than once.
    package func close() async {
        let (action, waiters, connections) = self.state.withLock { state in
            let action = state.machine.close()
            let failure = Outcome.failure(PostgresError(.poolClosed, "the pool is closed"))
            let waiters = action.failed.compactMap { state.settle($0, failure) }
            let connections = action.dropped.compactMap { state.idle.removeValue(forKey: $0)?.connection }
            return (action, waiters, connections)
        }
        for waiter in waiters { waiter() }
        for connection in connections {
            await connection.close()
        }
        guard !action.isLast else { return }
        await withCheckedContinuation { closer in
            let isDone = self.state.withLock { state in
                if !state.machine.leased.isEmpty { state.closers.append(closer) }
                return state.machine.leased.isEmpty
            }
            if isDone { closer.resume() }
        }
    }

    /// How many connections are lent, how many lie idle, and how many requests wait.
    package var occupancy: (leased: Int, idle: Int, waiting: Int) {
        self.state.withLock { ($0.machine.leased.count, $0.machine.idle.count, $0.machine.waiting.count) }
    }

    private func retrying<R>(
        _ isSafe: (PostgresError) -> Bool,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await traced("database", .client, attributes: ["db.system.name": "postgresql"]) { _ in
            var lent: PostgresConnection?
            do {
                return try await self.withConnection { connection in
                    lent = connection
                    return try await body(connection)
                }
            } catch let error as PostgresError where isSafe(error) && lent?.isUsable != true {
                return try await self.withConnection(body)
            }
        }
    }
}

extension PostgresError {
    /// The connection broke, and the statement did nothing.
    fileprivate var isCertainlyUndone: Bool { self.code == .connectionLost }
}
