import Synchronization

/// One session with the server, on a thread of its own.
///
/// The actor's executor is that thread: libpq is only ever called there, so a slow server delays only the callers of
/// this connection. Its methods do not suspend; several calls inside one `perform` or `transaction` are never
/// interleaved with another task's.
///
/// Every wait has an end: the statement timeout plus the grace of the configuration, after which the connection is
/// dropped. When a task is cancelled, its running statement is cancelled on the server and throws `.cancelled`. If the
/// process dies, the server rolls back what was not committed.
package actor PostgresConnection {
    private struct Status {
        var canceller: Canceller?
        var transaction = PostgresTransactionStatus.unknown
        var backendPID: Int32 = 0
        var serverVersion: Int32 = 0
    }

    package nonisolated let configuration: PostgresConfiguration
    private nonisolated let thread: ThreadExecutor
    private nonisolated let status = Mutex(Status())
    let session: LibpqSession
    var prepared = PreparedStatements()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.thread.asUnownedSerialExecutor() }

    private init(configuration: PostgresConfiguration, thread: ThreadExecutor) {
        self.configuration = configuration
        self.thread = thread
        self.session = LibpqSession(configuration: configuration)
    }

    isolated deinit {
        self.session.close()
        self.thread.stop()
    }

    /// Opens a session. Throws `.connectionFailed`, `.cancelled`, or `.usage` for a malformed connection string.
    package static func connect(_ configuration: PostgresConfiguration) async throws(PostgresError)
        -> PostgresConnection
    {
        let thread = ThreadExecutor()
        try thread.start()
        let connection = PostgresConnection(configuration: configuration, thread: thread)
        try await connection.open()
        return connection
    }

    private func open() throws(PostgresError) {
        defer { self.publish() }
        try self.session.open()
    }

    /// Ends the session. Every later call throws `.connectionLost`.
    package func close() {
        self.session.close()
        self.publish()
    }

    // MARK: Statements

    /// One statement; its rows are binary. Throws `.server` with the SQLSTATE, `.cancelled`, `.connectionLost` when
    /// nothing took effect, or `.outcomeUnknown` when the connection broke after the statement was sent outside a
    /// transaction.
    @discardableResult
    package func query(_ sql: String, _ parameters: [PostgresValue] = []) throws(PostgresError) -> PostgresRows {
        defer { self.publish() }
        return try self.session.query(sql, parameters)
    }

    /// Whether the server has the settings that this session began with. A pooler that shares its sessions with the server
    /// (PgBouncer in transaction mode) drops them; behind it notifications, locks and prepared statements get lost too.
    package func hasItsSettings() throws(PostgresError) -> Bool {
        guard self.configuration.sessionSettings == .startup else { return true }
        return try self.query(PostgresConfiguration.ownSetting).only.optionalText(0) != nil
    }

    /// After a commit, where a synchronous standby is required: throws `.outcomeUnknown` if commits wait for none any more.
    ///
    /// An operator or a cluster manager that takes the last standby out of `synchronous_standby_names` ends the wait of all commits
    /// that wait for it; and the server then says nothing, unlike after a cancelled wait (PostgreSQL's syncrep.c). Sessions
    /// learn of the new setting before the wait ends, so that this one knows it.
    package func checkCommitsWait() throws(PostgresError) {
        guard self.configuration.requiresSynchronousStandby else { return }
        let why: String
        do {
            if try self.query(PostgresConfiguration.commitsWait).only.bool(0) { return }
            why = "commits on this server wait for no synchronous standby any more"
        } catch {
            why = error.message
        }
        throw PostgresError(.outcomeUnknown, why, sqlState: "01000")
    }

    /// Several statements in one text, as in migrations, in one implicit transaction unless they say otherwise.
    package func execute(script sql: String) throws(PostgresError) {
        defer { self.publish() }
        try self.session.execute(script: sql)
    }

    /// One round trip for many statements; a result for each. Throws only when the connection is lost or misused.
    ///
    /// Atomically (the default), the first error rolls all of them back, also those whose result reads as a success,
    /// and those after it are `.pipelineAborted`. Otherwise each is its own transaction. COPY is not possible here.
    package func pipeline(
        _ statements: [PostgresStatement],
        atomically: Bool = true
    ) throws(PostgresError) -> [Result<PostgresRows, PostgresError>] {
        defer { self.publish() }
        return try self.session.pipeline(statements, atomically: atomically)
    }

    /// Runs synchronous work on the connection without anyone else's statements in between.
    ///
    /// It is also the way to call, from outside, functions that take a closure that is not Sendable (`copyOut`,
    /// `withStatementTimeout`).
    package func perform<R, E: Error>(
        _ body: @Sendable (isolated PostgresConnection) throws(E) -> R
    ) throws(E) -> R {
        try body(self)
    }

    /// Checks, without a round trip, whether the server has closed the connection. Throws `.connectionLost`.
    package func checkAlive() throws(PostgresError) {
        defer { self.publish() }
        try self.session.begin()
    }

    // MARK: From any thread

    /// Asks the server to stop the running statement, which then throws `.cancelled`. Returns at once.
    package nonisolated func cancel() {
        self.status.withLock { $0.canceller }?.request()
    }

    /// Open, and between two transactions.
    package nonisolated var isUsable: Bool { self.transactionStatus == .idle }

    package nonisolated var transactionStatus: PostgresTransactionStatus { self.status.withLock { $0.transaction } }

    package nonisolated var backendPID: Int32 { self.status.withLock { $0.backendPID } }

    /// In libpq's numbering: 150020 is 15.20.
    package nonisolated var serverVersion: Int32 { self.status.withLock { $0.serverVersion } }

    /// Shows the session's state to the other threads.
    func publish() {
        let status = Status(
            canceller: self.session.canceller,
            transaction: self.session.transactionStatus,
            backendPID: self.session.backendPID,
            serverVersion: self.session.serverVersion
        )
        self.status.withLock { $0 = status }
    }
}
