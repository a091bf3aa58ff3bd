import CPostgres

extension LibpqSession {
    /// Passes on each message of a COPY … TO STDOUT, and keeps nothing.
    ///
    /// The deadline restarts with every message. When the closure throws, the statement is cancelled on the server and
    /// the rest of it is read, so that the connection stays usable.
    func copyOut(_ sql: String, _ onChunk: (UnsafeRawBufferPointer) throws -> Void) throws {
        try self.begin()
        unsafe try self.send { unsafe PQsendQuery($0, sql) }
        try self.flush()
        try self.expectCopy(PGRES_COPY_OUT)
        var failure: (any Error)?
        while unsafe try self.takeChunk({ chunk in
            guard failure == nil else { return }
            do {
                unsafe try onChunk(chunk)
                self.extendDeadline()
            } catch {
                failure = error
                self.cancelStatement()
            }
        }) {}
        do throws(PostgresError) {
            _ = try self.receiveRows()
        } catch {
            throw failure ?? error
        }
        if let failure { throw failure }
    }

    /// Sends chunks until there is none left; returns the number of rows that the server took.
    ///
    /// When the closure throws, the server aborts the COPY and nothing is copied.
    func copyIn(_ sql: String, _ nextChunk: () throws -> [UInt8]?) throws -> Int64 {
        try self.begin()
        unsafe try self.send { unsafe PQsendQuery($0, sql) }
        try self.flush()
        try self.expectCopy(PGRES_COPY_IN)
        var failure: (any Error)?
        do {
            while let chunk = try nextChunk() {
                try self.put(chunk)
                self.extendDeadline()
            }
        } catch let error as PostgresError where self.isClosed {
            throw error
        } catch {
            failure = error
        }
        let reason = failure.map { _ in "the sender gave up" }
        unsafe try self.put { unsafe PQputCopyEnd($0, reason) }
        do throws(PostgresError) {
            let rows = try self.receiveRows()
            if failure != nil { throw self.lost(why: "COPY went on although it was given up") }
            return rows.affectedRows
        } catch {
            throw failure ?? error
        }
    }

    private func expectCopy(_ wanted: ExecStatusType) throws(PostgresError) {
        guard let result = try self.nextResult() else { throw self.lost(why: "no answer to COPY") }
        let status = result.status
        if status == wanted { return }
        if status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH {
            self.close()
            throw PostgresError(.usage, "this COPY goes the other way")
        }
        let isError = status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE
        let error = isError ? self.error(in: result) : PostgresError(.usage, "the statement is not a COPY")
        if !self.isClosed { _ = try self.receiveRows() }
        throw error
    }

    /// One message from the server, or false at the end of them.
    private func takeChunk(_ body: (UnsafeRawBufferPointer) -> Void) throws(PostgresError) -> Bool {
        while let handle = unsafe self.handle {
            var chunk: UnsafeMutablePointer<CChar>? = nil
            let length = unsafe PQgetCopyData(handle, &chunk, 1)
            defer { unsafe PQfreemem(chunk) }
            if length > 0 {
                unsafe body(UnsafeRawBufferPointer(start: chunk, count: Int(length)))
                return true
            }
            if length < 0 { return false }
            try self.waitForInput()
        }
        throw self.lost()
    }

    private func put(_ chunk: [UInt8]) throws(PostgresError) {
        unsafe try self.put { connection in
            unsafe chunk.withUnsafeBytes { bytes in
                unsafe PQputCopyData(
                    connection,
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(bytes.count)
                )
            }
        }
    }

    /// Queues and sends; 0 from libpq means its buffer is full, and then it is emptied first.
    private func put(_ queue: (OpaquePointer) -> Int32) throws(PostgresError) {
        while let handle = unsafe self.handle {
            let state = unsafe queue(handle)
            guard state >= 0 else { throw self.lost() }
            try self.flush()
            if state > 0 { return }
        }
        throw self.lost()
    }
}
