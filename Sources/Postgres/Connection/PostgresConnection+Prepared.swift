/// A statement that stays parsed and planned on the server. Equal texts share one plan per connection.
package struct PreparedStatement: Sendable, Hashable, ExpressibleByStringLiteral {
    package let sql: String

    package init(_ sql: String) {
        self.sql = sql
    }

    package init(stringLiteral sql: String) {
        self.sql = sql
    }
}

/// The statements that a session has prepared, and their names.
struct PreparedStatements {
    struct Key: Hashable {
        var sql: String
        var types: [UInt32]
    }

    static let capacity = 256

    private var names: [Key: String] = [:]
    private var counter = 0

    subscript(key: Key) -> String? { self.names[key] }

    var isFull: Bool { self.names.count >= Self.capacity }

    func nextName() -> String { "pinledger_\(self.counter)" }

    mutating func insert(_ key: Key) {
        self.names[key] = self.nextName()
        self.counter += 1
    }

    mutating func remove(_ key: Key) {
        self.names[key] = nil
    }
}

extension PostgresConnection {
    /// Like `query(_:_:)`, and the server keeps the statement for the next time, if the configuration allows it.
    ///
    /// - Parameter meanwhile: What to do between sending the statement and waiting for its answer. Not called where the
    ///   statement could not be sent; called before sending where the server keeps no statements.
    @discardableResult
    package func query(
        prepared statement: PreparedStatement,
        _ parameters: [PostgresValue] = [],
        meanwhile: () -> Void = {}
    ) throws(PostgresError) -> PostgresRows {
        let key = PreparedStatements.Key(sql: statement.sql, types: parameters.map(\.typeOID))
        guard self.configuration.preparesStatements, self.prepared[key] != nil || !self.prepared.isFull else {
            meanwhile()
            return try self.query(statement.sql, parameters)
        }
        defer { self.publish() }
        do throws(PostgresError) {
            return try self.session.queryPrepared(self.name(of: key), parameters, meanwhile: meanwhile)
        } catch {
            // The statement is gone (DISCARD ALL) or its result type has changed (a migration): in both cases it has
            // had no effect.
            guard error.sqlState == "26000" || error.sqlState == "0A000", !self.session.isInTransaction else {
                throw error
            }
            self.prepared.remove(key)
            return try self.session.queryPrepared(self.name(of: key), parameters)
        }
    }

    private func name(of key: PreparedStatements.Key) throws(PostgresError) -> String {
        if let name = self.prepared[key] { return name }
        let name = self.prepared.nextName()
        try self.session.prepare(name, key.sql, key.types)
        self.prepared.insert(key)
        return name
    }
}
