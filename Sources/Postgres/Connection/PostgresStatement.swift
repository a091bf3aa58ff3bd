/// One statement with its parameters.
package struct PostgresStatement: Sendable, Hashable {
    package var sql: String
    package var parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// How much a transaction may see of others.
package enum PostgresIsolation: String, Sendable, Hashable {
    case repeatableRead = "REPEATABLE READ"
}

/// The state of a session between two statements.
package enum PostgresTransactionStatus: Sendable, Hashable {
    case idle
    case inTransaction
    /// A statement failed: only ROLLBACK is accepted.
    case failed
    /// In the middle of a statement, or closed.
    case unknown
}
