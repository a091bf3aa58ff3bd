// The closures run on the connection's thread and are not Sendable, so that they may gather their results in a
// variable: from outside the connection, call these inside `perform`.
extension PostgresConnection {
    /// COPY … TO STDOUT, message by message as the server sends them; the bytes are valid inside the closure only.
    ///
    /// An error of the closure ends the COPY and is rethrown; the connection stays usable. The server's statement
    /// timeout applies to the whole COPY: run a long one inside `withStatementTimeout`.
    package func copyOut(_ sql: String, _ onChunk: (UnsafeRawBufferPointer) throws -> Void) throws {
        defer { self.publish() }
        unsafe try self.session.copyOut(sql, onChunk)
    }

    /// COPY … TO STDOUT (FORMAT binary), decoded, in batches of a limited number of rows; returns the number of rows.
    ///
    /// The rows have no column names or types: COPY sends none.
    ///
    /// - Parameters:
    ///   - first: The size of the first batch where it differs.
    @discardableResult
    package func copyRows(
        _ sql: String,
        batch: Int = 1000,
        first: Int? = nil,
        _ onBatch: (PostgresRows) throws -> Void
    ) throws -> Int64 {
        var decoder = PostgresCopyDecoder()
        var wanted = first ?? batch
        unsafe try self.copyOut(sql) { chunk in
            unsafe try decoder.append(chunk)
            if decoder.rowCount >= wanted {
                wanted = batch
                try onBatch(decoder.takeRows())
            }
        }
        try decoder.finish()
        if decoder.rowCount > 0 { try onBatch(decoder.takeRows()) }
        return decoder.totalRows
    }

    /// Limits how long the server may send nothing, inside `withStatementTimeout(nil)`, which restores it: a long COPY
    /// takes its time, and a dead one is noticed.
    package func boundSilence(to duration: Duration) {
        self.session.allowance = duration
    }

    /// COPY … FROM STDIN; sends chunks until the closure returns nil. Returns the number of rows.
    ///
    /// An error of the closure makes the server discard all rows, and is rethrown.
    @discardableResult
    package func copyIn(_ sql: String, chunks nextChunk: () throws -> [UInt8]?) throws -> Int64 {
        defer { self.publish() }
        return try self.session.copyIn(sql, nextChunk)
    }

    /// COPY … FROM STDIN (FORMAT binary) of rows, encoded in chunks of about 64 KiB. Returns the number of rows.
    @discardableResult
    package func copyIn(_ sql: String, rows: some Sequence<[PostgresValue]>) throws -> Int64 {
        var encoder = PostgresCopyEncoder()
        var iterator = rows.makeIterator()
        var isFinished = false
        return try self.copyIn(sql) {
            guard !isFinished else { return nil }
            while encoder.byteCount < 65_536 {
                guard let row = iterator.next() else {
                    encoder.finish()
                    isFinished = true
                    break
                }
                try encoder.append(row)
            }
            return encoder.takeBytes()
        }
    }
}
