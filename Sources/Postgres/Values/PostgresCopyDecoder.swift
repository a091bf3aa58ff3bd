/// Decodes binary COPY output, however it was cut into chunks.
package struct PostgresCopyDecoder: Sendable {
    private enum Progress {
        case header
        case rows
        case ended
    }

    private var progress = Progress.header
    /// Bytes that do not make a whole row yet, behind the cells of the complete rows.
    private var buffer: [UInt8] = []
    private var parsed = 0
    private var cells: [PostgresRows.Cell] = []
    private var columnCount = 0
    package private(set) var rowCount = 0
    package private(set) var totalRows: Int64 = 0

    package init() {}

    /// Throws `.decoding` when the bytes are not binary COPY output.
    package mutating func append(_ chunk: UnsafeRawBufferPointer) throws(PostgresError) {
        unsafe self.buffer.append(contentsOf: chunk)
        if self.progress == .header { try self.parseHeader() }
        while self.progress == .rows, try self.parseRow() {}
    }

    /// The rows decoded since the last call.
    package mutating func takeRows() -> PostgresRows {
        let rows = PostgresRows(
            buffer: self.buffer,
            cells: self.cells,
            columnNames: [],
            columnTypes: [],
            columnCount: self.columnCount,
            count: self.rowCount,
            affectedRows: Int64(self.rowCount)
        )
        // The next batch is about as large: reserving room for it at once avoids growing step by step.
        var next: [UInt8] = []
        next.reserveCapacity(self.buffer.count + self.buffer.count / 8)
        next += self.buffer[self.parsed...]
        self.buffer = next
        self.parsed = 0
        let cellCount = self.cells.count
        self.cells = []
        self.cells.reserveCapacity(cellCount)
        self.rowCount = 0
        return rows
    }

    /// Throws `.decoding` when the output stopped before its end marker.
    package func finish() throws(PostgresError) {
        guard self.progress == .ended else { throw PostgresError(.decoding, "the COPY output is cut short") }
    }

    private mutating func parseHeader() throws(PostgresError) {
        let signature = PostgresCopyEncoder.signature
        guard self.buffer.count >= signature.count + 8 else { return }
        guard self.buffer.starts(with: signature) else { throw PostgresError(.decoding, "not binary COPY output") }
        let extensionLength = Int(Int32(bigEndian: self.buffer[15..<19]))
        guard extensionLength >= 0 else { throw PostgresError(.decoding, "a broken COPY header") }
        guard self.buffer.count >= 19 + extensionLength else { return }
        self.parsed = 19 + extensionLength
        self.progress = .rows
    }

    /// One row if all of it is there; nothing is kept of a partial row.
    private mutating func parseRow() throws(PostgresError) -> Bool {
        var position = self.parsed
        guard self.buffer.count - position >= 2 else { return false }
        let columns = Int(Int16(truncatingIfNeeded: Int(self.buffer[position]) << 8 | Int(self.buffer[position + 1])))
        position += 2
        if columns == -1 {
            self.parsed = position
            self.progress = .ended
            return false
        }
        guard columns >= 0, self.totalRows == 0 || columns == self.columnCount else {
            throw PostgresError(.decoding, "rows of different widths in COPY output")
        }
        let complete = self.cells.count
        for _ in 0..<columns {
            guard self.buffer.count - position >= 4 else { return self.forget(complete) }
            // Called for every cell of a long table, so it avoids a slice.
            let high = Int(self.buffer[position]) << 24 | Int(self.buffer[position + 1]) << 16
            let low = Int(self.buffer[position + 2]) << 8 | Int(self.buffer[position + 3])
            let length = Int(Int32(truncatingIfNeeded: high | low))
            position += 4
            guard length >= -1 else { throw PostgresError(.decoding, "a negative length in COPY output") }
            guard self.buffer.count - position >= length else { return self.forget(complete) }
            self.cells.append(PostgresRows.Cell(offset: position, length: length))
            position += max(0, length)
        }
        self.columnCount = columns
        self.parsed = position
        self.rowCount += 1
        self.totalRows += 1
        return true
    }

    private mutating func forget(_ complete: Int) -> Bool {
        self.cells.removeSubrange(complete...)
        return false
    }
}
