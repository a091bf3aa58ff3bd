import Synchronization

// The shell around the state machine: it keeps connections and continuations under one lock, and acts after leaving it.
extension PostgresPool {
    struct State {
        var machine: PoolStateMachine
        var idle: [PoolStateMachine.Slot: Idle] = [:]
        /// Requests that wait; without a continuation yet, or with an outcome that came before it.
        private var waiters: [PoolStateMachine.RequestID: Waiter] = [:]
        var closers: [Closer] = []
        var check: ConnectionCheck?
        private var nextRequest: PoolStateMachine.RequestID = 0

        init(machine: PoolStateMachine) {
            self.machine = machine
        }

        mutating func request(
            of kind: PoolStateMachine.Kind?
        ) -> (PoolStateMachine.RequestID, PoolStateMachine.RequestAction) {
            defer { self.nextRequest += 1 }
            return (self.nextRequest, self.machine.request(self.nextRequest, of: kind))
        }

        /// Gives a waiting request its outcome; the closure, if any, resumes it and must be called outside the lock.
        mutating func settle(_ id: PoolStateMachine.RequestID, _ outcome: Outcome) -> Resumption? {
            guard case .suspended(let continuation)? = self.waiters.removeValue(forKey: id) else {
                self.waiters[id] = .settled(outcome)
                return nil
            }
            return { continuation.resume(returning: outcome) }
        }

        /// Stores a request's continuation, or returns the outcome it has got already.
        mutating func suspend(
            _ id: PoolStateMachine.RequestID,
            _ continuation: CheckedContinuation<Outcome, Never>
        ) -> Outcome? {
            guard case .settled(let outcome)? = self.waiters.removeValue(forKey: id) else {
                self.waiters[id] = .suspended(continuation)
                return nil
            }
            return outcome
        }
    }

    struct Idle {
        var connection: PostgresConnection
        var since: ContinuousClock.Instant
    }

    /// A slot, and its connection if it has one.
    struct Lease {
        var slot: PoolStateMachine.Slot
        var connection: PostgresConnection?
    }

    typealias Outcome = Result<Lease, PostgresError>
    typealias Resumption = @Sendable () -> Void
    typealias Closer = CheckedContinuation<Void, Never>

    private enum Waiter {
        case suspended(CheckedContinuation<Outcome, Never>)
        case settled(Outcome)
    }

    /// A connection that was alive a moment ago, in the slot to which it must return.
    func lend() async throws(PostgresError) -> (PoolStateMachine.Slot, PostgresConnection) {
        self.retireOld()
        let lease = try await self.lease().get()
        do throws(PostgresError) {
            return (lease.slot, try await self.liveConnection(lease.connection))
        } catch {
            // The connection that a cancelled task did not use is unharmed.
            self.takeBack(lease.slot, lease.connection)
            throw error
        }
    }

    private func liveConnection(_ existing: PostgresConnection?) async throws(PostgresError) -> PostgresConnection {
        if let existing {
            do throws(PostgresError) {
                try await existing.checkAlive()
                return existing
            } catch {
                guard error.isConnectionLoss else { throw error }
            }
        }
        let connection = try await PostgresConnection.connect(self.configuration)
        do throws(PostgresError) { try await self.check(connection) } catch {
            guard error.code == .connectionFailed, let primary = self.configuration.ofPrimary else { throw error }
            let other = try await PostgresConnection.connect(primary)
            try await self.check(other)
            return other
        }
        return connection
    }

    /// Lends a connection that is opened for the closure, beside those of the pool: to the primary, where the connection string names one
    /// beside standbys. The pool's own connections end, as ``dropConnections()`` says.
    package func withNewConnection<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        self.dropConnections()
        let connection = try await PostgresConnection.connect(self.configuration.ofPrimary ?? self.configuration)
        try await self.check(connection)
        let result: Result<R, any Error>
        do { result = .success(try await body(connection)) } catch { result = .failure(error) }
        await connection.close()
        return try result.get()
    }

    /// Checks a new connection, and closes one that fails.
    private func check(_ connection: PostgresConnection) async throws(PostgresError) {
        do throws(PostgresError) { try await self.state.withLock(\.check)?(connection) } catch {
            await connection.close()
            throw error
        }
    }

    /// Keeps the connection or passes it to the next request in line. Where it is nil, closed or inside a transaction,
    /// it is dropped, and its `deinit` ends the session.
    func takeBack(_ slot: PoolStateMachine.Slot, _ connection: PostgresConnection?) {
        let usable = connection.flatMap { $0.isUsable ? $0 : nil }
        let (resume, closers) = self.state.withLock { state -> (Resumption?, [Closer]) in
            switch state.machine.release(slot, hasConnection: usable != nil) {
            case .resume(let id, let lease):
                return (state.settle(id, .success(Lease(slot: slot, connection: lease.isVacant ? nil : usable))), [])
            case .keep:
                state.idle[slot] = usable.map { Idle(connection: $0, since: .now) }
                return (nil, [])
            case .drop(let isLast):
                guard isLast else { return (nil, []) }
                defer { state.closers.removeAll() }
                return (nil, state.closers)
            }
        }
        resume?()
        for closer in closers { closer.resume() }
    }

    /// Drops connections that stayed unused for a while. No task watches over them: the next request does it.
    private func retireOld() {
        let oldest = ContinuousClock.now - self.idleTimeout
        // Returned so that the connections are released outside the lock.
        _ = self.state.withLock { state in
            state.idle.filter { $0.value.since < oldest }.keys.compactMap { slot in
                state.machine.retire(slot) ? state.idle.removeValue(forKey: slot)?.connection : nil
            }
        }
    }

    private func lease() async -> Outcome {
        let kind = Self.kind
        let (id, action, connection) = self.state.withLock { state in
            let (id, action) = state.request(of: kind)
            guard case .lease(.connection(let slot)) = action else { return (id, action, PostgresConnection?.none) }
            return (id, action, state.idle.removeValue(forKey: slot)?.connection)
        }
        switch action {
        case .lease(let lease): return .success(Lease(slot: lease.slot, connection: connection))
        case .fail(let code): return .failure(PostgresError(code, "no connection can be lent"))
        case .wait: return await self.wait(id)
        }
    }

    private func wait(_ id: PoolStateMachine.RequestID) async -> Outcome {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await Task.sleep(for: self.waitTimeout)
                } catch {
                    return
                }
                self.withdraw(id, PostgresError(.timeout, "no connection became free in time"))
            }
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let early = self.state.withLock { $0.suspend(id, continuation) }
                    if let early { continuation.resume(returning: early) }
                }
            } onCancel: {
                self.withdraw(id, PostgresError(.cancelled, "cancelled while waiting for a connection"))
            }
            group.cancelAll()
            return outcome
        }
    }

    private func withdraw(_ id: PoolStateMachine.RequestID, _ error: PostgresError) {
        let resume = self.state.withLock { state in
            state.machine.withdraw(id) ? state.settle(id, .failure(error)) : nil
        }
        resume?()
    }
}

extension PoolStateMachine.Lease {
    var slot: PoolStateMachine.Slot {
        switch self {
        case .connection(let slot), .vacancy(let slot): slot
        }
    }

    var isVacant: Bool {
        if case .vacancy = self { true } else { false }
    }
}
