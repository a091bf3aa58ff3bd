import CPostgres

extension LibpqSession {
    /// The unnamed extended protocol: one statement, binary parameters, binary rows.
    func query(_ sql: String, _ parameters: [PostgresValue]) throws(PostgresError) -> PostgresRows {
        let encoded = try EncodedParameters(parameters)
        try self.begin()
        try self.queue(sql, encoded)
        return try self.receiveRows()
    }

    /// The simple protocol: several statements, no parameters; their rows are dropped.
    func execute(script sql: String) throws(PostgresError) {
        try self.begin()
        unsafe try self.send { unsafe PQsendQuery($0, sql) }
        _ = try self.receiveRows()
    }

    func prepare(_ name: String, _ sql: String, _ types: [UInt32]) throws(PostgresError) {
        try self.begin()
        unsafe try self.send { unsafe PQsendPrepare($0, name, sql, Int32(types.count), types) }
        _ = try self.receiveRows()
    }

    func queryPrepared(
        _ name: String, _ parameters: [PostgresValue], meanwhile: () -> Void = {}
    ) throws(PostgresError) -> PostgresRows {
        let encoded = try EncodedParameters(parameters)
        try self.begin()
        unsafe try self.send { connection in
            unsafe encoded.withPointers { values, lengths, formats in
                unsafe PQsendQueryPrepared(connection, name, encoded.count, values, lengths, formats, 1)
            }
        }
        // libpq has tried to send it already.
        meanwhile()
        return try self.receiveRows()
    }

    /// COMMIT: until it is sent the transaction is certain to be rolled back, from then on the server decides its
    /// outcome.
    func commit() throws(PostgresError) {
        try self.begin()
        self.isInTransaction = false
        unsafe try self.send { unsafe PQsendQuery($0, "COMMIT") }
        _ = try self.receiveRows(isCommit: true)
    }

    /// One round trip for many statements.
    ///
    /// Atomically, they share one synchronisation point: the first error undoes all of them and skips the rest.
    /// Otherwise each stands alone.
    func pipeline(
        _ statements: [PostgresStatement],
        atomically: Bool
    ) throws(PostgresError) -> [Result<PostgresRows, PostgresError>] {
        var encoded: [EncodedParameters] = []
        for statement in statements {
            encoded.append(try EncodedParameters(statement.parameters))
        }
        try self.begin()
        unsafe try self.send { unsafe PQenterPipelineMode($0) }
        var results: [Result<PostgresRows, PostgresError>] = []
        do throws(PostgresError) {
            for (statement, parameters) in zip(statements, encoded) {
                try self.queue(statement.sql, parameters)
                if !atomically { unsafe try self.send { unsafe PQpipelineSync($0) } }
            }
            if atomically { unsafe try self.send { unsafe PQpipelineSync($0) } }
            try self.flush()
            for _ in statements {
                self.extendDeadline()
                results.append(try self.pipelineResult())
                if !atomically { try self.expectSync() }
            }
            if atomically { try self.expectSync() }
            unsafe try self.send { unsafe PQexitPipelineMode($0) }
        } catch {
            // Half a pipeline cannot be undone.
            self.close()
            throw error
        }
        try self.finish()
        return results
    }

    private func pipelineResult() throws(PostgresError) -> Result<PostgresRows, PostgresError> {
        var outcome: Result<PostgresRows, PostgresError> = .success(.empty)
        while let result = try self.nextResult() {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                outcome = .success(result.rows())
            case PGRES_PIPELINE_ABORTED:
                outcome = .failure(PostgresError(.pipelineAborted, "an earlier statement of the pipeline failed"))
            default:
                let error = self.error(in: result)
                guard !self.isClosed else { throw error }
                outcome = .failure(error)
            }
        }
        return outcome
    }

    private func expectSync() throws(PostgresError) {
        guard let result = try self.nextResult(), result.status == PGRES_PIPELINE_SYNC else {
            throw self.lost(why: "the pipeline lost its place")
        }
        try self.checkCommitted()
    }

    private func queue(_ sql: String, _ parameters: EncodedParameters) throws(PostgresError) {
        unsafe try self.send { connection in
            unsafe parameters.withPointers { values, lengths, formats in
                unsafe PQsendQueryParams(
                    connection,
                    sql,
                    parameters.count,
                    parameters.types,
                    values,
                    lengths,
                    formats,
                    1
                )
            }
        }
    }

    /// Takes every result up to the end; the last rows, or the first error.
    func receiveRows(isCommit: Bool = false) throws(PostgresError) -> PostgresRows {
        try self.flush()
        var rows = PostgresRows.empty
        var failure: PostgresError?
        while let result = try self.nextResult() {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                rows = result.rows()
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                self.close()
                throw PostgresError(.usage, "COPY goes through copyIn and copyOut")
            default:
                let error = failure ?? self.error(in: result)
                guard !self.isClosed else { throw error }
                failure = error
            }
        }
        if failure == nil { try self.checkCommitted(isCommit: isCommit) }
        try self.finish()
        if let failure { throw failure }
        return rows
    }
}
