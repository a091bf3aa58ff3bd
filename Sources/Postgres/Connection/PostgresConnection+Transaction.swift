extension PostgresConnection {
    /// Runs the closure between BEGIN and COMMIT, on this connection's thread and without suspension.
    ///
    /// An error of the closure is rethrown after ROLLBACK. A connection that breaks before COMMIT was sent is
    /// `.connectionLost`: the transaction is certainly rolled back, as it is if the process dies there. One that breaks
    /// after it is `.outcomeUnknown`: the caller MUST check before it repeats anything. A closure that swallows a
    /// failed statement does not commit: SQLSTATE 25P02. COMMIT itself ignores the task's cancellation.
    package func transaction<R>(
        isolation: PostgresIsolation? = nil,
        readOnly: Bool = false,
        _ body: @Sendable (isolated PostgresConnection) throws -> R
    ) throws -> R {
        guard !self.session.isInTransaction, self.session.transactionStatus != .inTransaction else {
            throw PostgresError(.usage, "transactions do not nest")
        }
        self.session.isInTransaction = true
        defer {
            self.session.isInTransaction = false
            self.session.ignoresCancellation = false
            self.publish()
        }
        try self.session.execute(script: self.beginning(isolation, readOnly))
        let value: R
        do {
            value = try body(self)
            try self.checkCommittable()
        } catch {
            self.rollback()
            throw error
        }
        self.session.ignoresCancellation = true
        try self.session.commit()
        return value
    }

    /// Gives statements inside the closure another time limit, nil for none, here and (unless the configuration leaves
    /// the server's settings alone) on the server. From outside the connection, call it inside `perform`.
    package func withStatementTimeout<R>(
        _ timeout: Duration?,
        _ body: (isolated PostgresConnection) throws -> R
    ) throws -> R {
        let before = self.session.allowance
        try self.setStatementTimeout(timeout)
        self.session.allowance = timeout.map { $0 + self.configuration.answerGrace }
        defer { self.session.allowance = before }
        let value = Result { try body(self) }
        // In a failed transaction nothing can be set, and ROLLBACK restores the value.
        if self.session.transactionStatus == .idle || self.session.transactionStatus == .inTransaction {
            self.session.ignoresCancellation = true
            defer { self.session.ignoresCancellation = false }
            do throws(PostgresError) {
                try self.setStatementTimeout(self.configuration.statementTimeout)
            } catch {
                // A session with the wrong limit must not return to a pool.
                self.close()
            }
        }
        return try value.get()
    }

    private func setStatementTimeout(_ timeout: Duration?) throws(PostgresError) {
        let scope: String
        switch (self.configuration.sessionSettings, self.session.isInTransaction) {
        case (.none, _), (.perTransaction, false): return
        case (.startup, false): scope = "SESSION"
        case (_, true): scope = "LOCAL"
        }
        try self.session.execute(script: "SET \(scope) statement_timeout = \(timeout?.wholeMilliseconds ?? 0)")
    }

    private func beginning(_ isolation: PostgresIsolation?, _ readOnly: Bool) -> String {
        var text = "BEGIN"
        if let isolation { text += " ISOLATION LEVEL \(isolation.rawValue)" }
        if readOnly { text += " READ ONLY" }
        guard self.configuration.sessionSettings == .perTransaction else { return text }
        let settings = self.configuration.serverSettings.map { "; SET LOCAL \($0.name) = \($0.value)" }
        return text + settings.joined()
    }

    /// COMMIT of a failed transaction succeeds, as ROLLBACK.
    private func checkCommittable() throws(PostgresError) {
        switch self.session.transactionStatus {
        case .inTransaction: return
        case .failed:
            throw PostgresError(.server(sqlState: "25P02"), "a statement failed unnoticed, so nothing is committed")
        case .idle: throw PostgresError(.usage, "the closure ended the transaction itself")
        case .unknown: throw PostgresError(.connectionLost, "the connection was lost inside the transaction")
        }
    }

    private func rollback() {
        guard self.session.transactionStatus != .unknown, self.session.transactionStatus != .idle else { return }
        self.session.ignoresCancellation = true
        do throws(PostgresError) {
            try self.session.execute(script: "ROLLBACK")
        } catch {
            // Closing rolls back as well.
            self.session.close()
        }
    }
}
