/// An error between this process and PostgreSQL.
///
/// The code decides what a caller may do next; the texts are for people. `description` shows neither `detail` nor the
/// message of a data exception (SQLSTATE class 22), because the server quotes values in those.
package struct PostgresError: Error, Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        /// The server refused the statement; its transaction is rolled back.
        case server(sqlState: String)
        /// No session could be opened: nothing was sent.
        case connectionFailed
        /// The session is gone and the statement, or the transaction it belonged to, took no effect.
        case connectionLost
        /// The session is gone after a statement or COMMIT was sent and before its answer: it may have taken effect. Or
        /// the server warned while it committed: it no longer waits for a standby, which may lack the changes that took
        /// effect here.
        case outcomeUnknown
        /// The pool had no connection to lend within its wait time.
        case timeout
        /// The pool's waiting line is full.
        case poolExhausted
        /// The pool is closed.
        case poolClosed
        /// The task or `cancel()` stopped the statement, which took no effect.
        case cancelled
        /// An earlier statement of the same pipeline failed; this one was not executed.
        case pipelineAborted
        /// A value is not of the requested type.
        case decoding
        /// The call itself is wrong: a malformed connection string, COPY through `query`, a nested transaction.
        case usage
    }

    package var code: Code
    package var message: String
    /// The five characters the server sent, also when the code is not `.server` (57P01 before a connection is lost).
    package var sqlState: String?
    /// May quote values of the row: do not log it.
    package var detail: String?
    package var hint: String?
    /// The name of the constraint that was violated.
    package var constraint: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        if case .server(let state) = code {
            self.sqlState = state
        } else {
            self.sqlState = sqlState
        }
    }

    /// The session this error came from cannot be used again.
    package var isConnectionLoss: Bool {
        switch self.code {
        case .connectionLost, .outcomeUnknown: true
        default: false
        }
    }

    /// No session with a working server could be opened, or the present one broke.
    package var meansNoServer: Bool {
        switch self.code {
        case .connectionFailed, .connectionLost, .outcomeUnknown: true
        case .server(let state): state.hasPrefix("57P") || state.hasPrefix("08")
        default: false
        }
    }

    /// Nothing took effect, and the same call may succeed when it is repeated.
    package var isRetryable: Bool {
        switch self.code {
        case .connectionFailed, .connectionLost, .timeout, .poolExhausted: true
        case .server(let state): Self.isTransient(state)
        case .outcomeUnknown, .poolClosed, .cancelled, .pipelineAborted, .decoding, .usage: false
        }
    }

    /// Serialization failures, deadlocks, lock timeouts, lack of resources, and a server that became a standby.
    private static func isTransient(_ state: String) -> Bool {
        ["40001", "40P01", "55P03", "25006", "57P01", "57P02", "57P03"].contains(state)
            || state.hasPrefix("53") || state.hasPrefix("08")
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        let state = self.sqlState.map { " \($0)" } ?? ""
        let quotesValues = self.sqlState?.hasPrefix("22") ?? false
        let text = quotesValues ? "data exception (message withheld)" : self.message
        let constraint = self.constraint.map { " (constraint \($0))" } ?? ""
        return "PostgreSQL \(self.code.name)\(state): \(text)\(constraint)"
    }
}

extension PostgresError.Code {
    var name: String {
        switch self {
        case .server: "error"
        case .connectionFailed: "connection failed"
        case .connectionLost: "connection lost"
        case .outcomeUnknown: "outcome unknown"
        case .timeout: "pool wait timed out"
        case .poolExhausted: "pool exhausted"
        case .poolClosed: "pool closed"
        case .cancelled: "cancelled"
        case .pipelineAborted: "pipeline aborted"
        case .decoding: "decoding failed"
        case .usage: "misuse"
        }
    }
}
