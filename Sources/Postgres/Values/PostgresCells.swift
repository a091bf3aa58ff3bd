/// The cells of rows in place, for readers of many rows that make values of only a few.
@safe
package struct PostgresCells {
    private let buffer: UnsafeBufferPointer<UInt8>
    private let cells: UnsafeBufferPointer<PostgresRows.Cell>
    package let columnCount: Int
    package let count: Int

    fileprivate init(
        buffer: UnsafeBufferPointer<UInt8>, cells: UnsafeBufferPointer<PostgresRows.Cell>, columnCount: Int, count: Int
    ) {
        unsafe self.buffer = buffer
        unsafe self.cells = cells
        self.columnCount = columnCount
        self.count = count
    }

    /// A cell's bytes, valid as long as the closure that got these cells runs; nil for NULL and for a missing cell.
    package subscript(row: Int, column: Int) -> UnsafeBufferPointer<UInt8>? {
        guard row >= 0, row < self.count, column >= 0, column < self.columnCount else { return nil }
        let cell = unsafe self.cells[row * self.columnCount + column]
        guard cell.length >= 0 else { return nil }
        return unsafe UnsafeBufferPointer(rebasing: self.buffer[cell.offset..<cell.offset + cell.length])
    }

    /// A cell of eight bytes as a whole number; nil for another length.
    package func int64(_ row: Int, _ column: Int) -> Int64? {
        guard let bytes = unsafe self[row, column], bytes.count == 8 else { return nil }
        return unsafe Int64(bigEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(as: Int64.self))
    }

    /// A `timestamptz` in microseconds since the Unix epoch; nil for another length, and beyond the numbers.
    package func timestamp(_ row: Int, _ column: Int) -> Int64? {
        guard let value = self.int64(row, column)?.addingReportingOverflow(PostgresValue.epochOffset), !value.overflow
        else { return nil }
        return value.partialValue
    }
}

extension PostgresRows {
    /// Calls `body` with the cells, which are valid only until it returns.
    package func withCells<R>(_ body: (PostgresCells) throws -> R) rethrows -> R {
        try unsafe self.buffer.withUnsafeBufferPointer { buffer in
            try unsafe self.cells.withUnsafeBufferPointer { cells in
                try body(
                    unsafe PostgresCells(buffer: buffer, cells: cells, columnCount: self.columnCount, count: self.count)
                )
            }
        }
    }
}
