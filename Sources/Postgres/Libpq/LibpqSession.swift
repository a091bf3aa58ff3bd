import CPostgres
import Glibc

/// One PGconn, driven without blocking calls, so that every wait has a deadline and sees a cancellation.
///
/// Not Sendable: it belongs to one thread. A statement is `begin`, `send…`, `nextResult` until nil, `finish`; any of
/// them that throws a connection loss has closed the session.
@safe
final class LibpqSession {
    let configuration: PostgresConfiguration
    private(set) var handle: OpaquePointer?
    private(set) var canceller: Canceller?

    /// How long a statement may stay without an answer. Nil: forever.
    var allowance: Duration?
    /// Set while work of a cancelled task must be finished: COMMIT and ROLLBACK.
    var ignoresCancellation = false
    /// A statement that is lost inside a transaction is known to have had no effect.
    var isInTransaction = false

    /// Ends every wait; without one, the current task's cancellation does.
    private let stop: WakeUp?
    private var deadline: ContinuousClock.Instant?
    private var wasSent = false
    private var hasRequestedCancel = false
    let warnings = ServerWarnings()

    /// How often a wait checks whether the task was cancelled. It costs nothing where answers come sooner.
    private static let glance = Duration.milliseconds(50)

    init(configuration: PostgresConfiguration, stop: WakeUp? = nil) {
        self.configuration = configuration
        self.stop = stop
        self.allowance = configuration.statementTimeout.map { $0 + configuration.answerGrace }
    }

    deinit {
        self.close()
    }

    func close() {
        guard let handle = unsafe self.handle else { return }
        unsafe PQfinish(handle)
        unsafe self.handle = nil
        self.canceller = nil
    }

    var isClosed: Bool { unsafe self.handle == nil }

    var transactionStatus: PostgresTransactionStatus {
        switch unsafe self.handle.map({ unsafe PQtransactionStatus($0) }) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_INTRANS: .inTransaction
        case PQTRANS_INERROR: .failed
        default: .unknown
        }
    }

    var backendPID: Int32 { unsafe self.handle.map { unsafe PQbackendPID($0) } ?? 0 }
    var serverVersion: Int32 { unsafe self.handle.map { unsafe PQserverVersion($0) } ?? 0 }

    // MARK: Connecting

    func open() throws(PostgresError) {
        var parameters = try ConnectionParameters(parsing: self.configuration.connectionString)
        parameters.complete(with: self.configuration)
        var failure = PostgresError(.connectionFailed, "no host to connect to")
        for attempt in parameters.attempts {
            do throws(PostgresError) {
                return try self.open(attempt)
            } catch {
                guard case .connectionFailed = error.code else { throw error }
                failure = error
            }
        }
        throw failure
    }

    private func open(_ parameters: ConnectionParameters) throws(PostgresError) {
        self.deadline = ContinuousClock.now + self.configuration.connectTimeout
        guard let handle = unsafe Self.start(parameters) else {
            throw PostgresError(.connectionFailed, "no memory for a connection")
        }
        unsafe self.handle = handle
        var events = Int16(POLLOUT)
        while true {
            guard unsafe PQstatus(handle) != CONNECTION_BAD else { throw self.openingFailed(self.libpqMessage) }
            guard !self.isInterrupted else {
                self.close()
                throw PostgresError(.cancelled, "cancelled while connecting")
            }
            guard self.isInTime else { throw self.openingFailed("no connection within the connect timeout") }
            guard self.waitOnce(for: events) != 0 else { continue }
            switch unsafe PQconnectPoll(handle) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            case PGRES_POLLING_OK:
                unsafe PQsetnonblocking(handle, 1)
                unsafe self.warnings.listen(to: handle)
                self.canceller = unsafe Canceller(connection: handle)
                return
            default: throw self.openingFailed(self.libpqMessage)
            }
        }
    }

    private static func start(_ parameters: ConnectionParameters) -> OpaquePointer? {
        let keywords = unsafe parameters.values.map { unsafe strdup($0.keyword) }
        let values = unsafe parameters.values.map { unsafe strdup($0.value) }
        defer {
            for index in unsafe keywords.indices {
                unsafe free(keywords[index])
                unsafe free(values[index])
            }
        }
        let keywordPointers = unsafe keywords.map { unsafe UnsafePointer<CChar>($0) } + [nil]
        let valuePointers = unsafe values.map { unsafe UnsafePointer<CChar>($0) } + [nil]
        return unsafe PQconnectStartParams(keywordPointers, valuePointers, 0)
    }

    private func openingFailed(_ message: String) -> PostgresError {
        self.close()
        return PostgresError(.connectionFailed, message)
    }

    // MARK: One statement

    /// Throws `.connectionLost` when the connection turns out dead; nothing was sent then.
    func begin() throws(PostgresError) {
        self.wasSent = false
        self.hasRequestedCancel = false
        self.warnings.forget()
        guard unsafe self.handle != nil else { throw PostgresError(.connectionLost, "the connection is closed") }
        guard !self.isInterrupted else { throw PostgresError(.cancelled, "cancelled before the statement was sent") }
        try self.settleCancellation()
        _ = self.canceller?.takeRequested()
        try self.drainInput()
        self.extendDeadline()
    }

    /// Reads data that arrived without a request: notifications, or the server's shutdown message.
    func drainInput() throws(PostgresError) {
        while let handle = unsafe self.handle, self.waitOnce(for: Int16(POLLIN), atMost: .zero) != 0 {
            guard unsafe PQconsumeInput(handle) == 1, unsafe PQstatus(handle) == CONNECTION_OK else {
                throw self.lost()
            }
            // Without this, libpq keeps what it has read as unparsed input.
            _ = unsafe PQisBusy(handle)
            guard unsafe PQstatus(handle) == CONNECTION_OK else { throw self.lost() }
        }
    }

    /// Between statements there is no deadline.
    func forgetStatement() {
        self.wasSent = false
        self.deadline = nil
    }

    func extendDeadline() {
        self.deadline = self.allowance.map { ContinuousClock.now + $0 }
    }

    /// Queues something with libpq; the closure returns 0 on failure.
    func send(_ queue: (OpaquePointer) -> Int32) throws(PostgresError) {
        guard let handle = unsafe self.handle else { throw self.lost() }
        guard unsafe queue(handle) != 0 else {
            if unsafe PQstatus(handle) == CONNECTION_OK { throw PostgresError(.usage, self.libpqMessage) }
            throw self.lost()
        }
        self.wasSent = true
    }

    /// Sends all that is queued, reading meanwhile: the server may block on its own answers.
    func flush() throws(PostgresError) {
        while let handle = unsafe self.handle {
            let state = unsafe PQflush(handle)
            if state == 0 { return }
            guard state > 0 else { throw self.lost() }
            if try self.wait(for: Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0 {
                guard unsafe PQconsumeInput(handle) == 1 else { throw self.lost() }
            }
        }
    }

    func nextResult() throws(PostgresError) -> LibpqResult? {
        guard let handle = unsafe self.handle else { throw self.lost() }
        while unsafe PQisBusy(handle) != 0 {
            try self.waitForInput()
        }
        return unsafe LibpqResult(taking: PQgetResult(handle))
    }

    /// Waits for the next bytes and reads them.
    func waitForInput() throws(PostgresError) {
        guard let handle = unsafe self.handle else { throw self.lost() }
        _ = try self.wait(for: Int16(POLLIN))
        // At the end of the stream libpq still has to parse what came before it, such as a FATAL error.
        guard unsafe PQconsumeInput(handle) == 1 || PQisBusy(handle) == 0 else { throw self.lost() }
    }

    /// The error in an error result; closes the session when it was the server's last message.
    func error(in result: borrowing LibpqResult) -> PostgresError {
        let said = result.serverError
        if unsafe result.endsSession || self.handle.map({ unsafe PQstatus($0) }) != CONNECTION_OK {
            return self.lost(said)
        }
        guard let said else { return PostgresError(.usage, self.libpqMessage) }
        if said.sqlState == "57014", self.canceller?.isRequested ?? false {
            var error = said
            error.code = .cancelled
            return error
        }
        return said
    }

    /// After the last result of a statement that committed by itself: throws `.outcomeUnknown`, with the session
    /// closed, where the server warned while it committed. It is then unknown whether the standby that the commit was
    /// to wait for has it.
    ///
    /// - Parameter isCommit: Whether it was COMMIT, of which every warning is about the commit. Other statements have
    ///   warnings of their own, which libpq does not distinguish by their place behind the result.
    func checkCommitted(isCommit: Bool = false) throws(PostgresError) {
        guard !self.isInTransaction, let warning = isCommit ? self.warnings.last : self.warnings.ofReplication
        else { return }
        throw self.lost(warning)
    }

    /// After the last result: leaves nothing behind for the next statement.
    func finish() throws(PostgresError) {
        guard let handle = unsafe self.handle else { throw self.lost() }
        guard unsafe PQstatus(handle) == CONNECTION_OK else { throw self.lost() }
        if self.stop == nil { _ = self.takeNotifications() }
        try self.settleCancellation()
    }

    private func settleCancellation() throws(PostgresError) {
        guard let canceller, canceller.isRequested else { return }
        guard canceller.settle(within: self.configuration.answerGrace) else {
            throw self.lost(why: "a cancellation hangs")
        }
    }

    // MARK: Losing it

    /// Closes the session and throws what is known about the statement.
    func lost(_ said: PostgresError? = nil, why: String? = nil) -> PostgresError {
        let message = said?.message ?? why ?? self.libpqMessage
        let mayHaveHappened = self.wasSent && !self.isInTransaction
        self.close()
        return PostgresError(mayHaveHappened ? .outcomeUnknown : .connectionLost, message, sqlState: said?.sqlState)
    }

    private var libpqMessage: String {
        guard let handle = unsafe self.handle, let message = unsafe PQerrorMessage(handle) else {
            return "the connection is closed"
        }
        let text = unsafe String(cString: message)
        let end = text.lastIndex { !$0.isNewline } ?? text.startIndex
        return text.isEmpty ? "the connection was lost" : String(text[...end])
    }

    // MARK: Waiting

    private var isInterrupted: Bool {
        if let stop { return stop.isSignalled }
        return !self.ignoresCancellation && Task.isCancelled
    }

    private var isInTime: Bool {
        self.deadline.map { ContinuousClock.now < $0 } ?? true
    }

    /// Waits until the socket is ready. A cancelled task has the statement cancelled on the server and goes on waiting
    /// for the answer, for the grace at most; past the deadline the session is lost.
    private func wait(for events: Int16) throws(PostgresError) -> Int16 {
        while true {
            // Checked first, because a server that always has more to send would never let the wait fail.
            if self.isInterrupted, !self.hasRequestedCancel {
                guard self.stop == nil else { throw self.lost(why: "stopped") }
                self.cancelStatement()
            }
            // libpq closes the socket at the end of the stream, also in the middle of a message of a COPY.
            guard unsafe self.handle.map({ unsafe PQsocket($0) }) ?? -1 >= 0 else { throw self.lost() }
            let ready = self.waitOnce(for: events)
            if ready != 0 { return ready }
            guard self.isInTime else { throw self.lost(why: "no answer from the server in time") }
        }
    }

    /// Requests the statement's cancellation once, and gives the server the grace to answer.
    func cancelStatement() {
        guard !self.hasRequestedCancel else { return }
        self.hasRequestedCancel = true
        self.canceller?.request()
        let end = ContinuousClock.now + self.configuration.answerGrace
        self.deadline = self.deadline.map { min($0, end) } ?? end
    }

    /// One `poll` of at most one interval: the events that are ready, 0 for none yet.
    func waitOnce(for events: Int16, atMost limit: Duration = .seconds(3600)) -> Int16 {
        guard let handle = unsafe self.handle else { return 0 }
        var timeout = self.stop == nil ? min(limit, Self.glance) : limit
        if let deadline { timeout = min(timeout, ContinuousClock.now.duration(to: deadline)) }
        let milliseconds = timeout <= .zero ? 0 : Int32(clamping: timeout.wholeMilliseconds)
        var descriptors = unsafe [pollfd(fd: PQsocket(handle), events: events, revents: 0)]
        if let stop { descriptors.append(pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)) }
        let count = unsafe poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        guard count > 0 else { return 0 }
        return descriptors[0].revents
    }
}
