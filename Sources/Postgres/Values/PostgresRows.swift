/// The rows that a statement returned, copied out of libpq into one buffer.
///
/// A value: it may cross tasks and outlive its connection.
package struct PostgresRows: Sendable {
    /// The offsets of a cell's bytes; a negative length is NULL.
    struct Cell: Sendable {
        var offset: Int
        var length: Int
    }

    let buffer: [UInt8]
    let cells: [Cell]
    package let columnCount: Int
    package let columnNames: [String]
    /// 0 where the type is unknown, as in COPY.
    let columnTypes: [UInt32]
    package let count: Int
    /// How many rows INSERT, UPDATE, DELETE, COPY … touched, or SELECT returned.
    package let affectedRows: Int64

    init(
        buffer: [UInt8],
        cells: [Cell],
        columnNames: [String],
        columnTypes: [UInt32],
        columnCount: Int,
        count: Int,
        affectedRows: Int64
    ) {
        self.buffer = buffer
        self.cells = cells
        self.columnNames = columnNames
        self.columnTypes = columnTypes
        self.columnCount = columnCount
        self.count = count
        self.affectedRows = affectedRows
    }

    static let empty = PostgresRows(
        buffer: [],
        cells: [],
        columnNames: [],
        columnTypes: [],
        columnCount: 0,
        count: 0,
        affectedRows: 0
    )

    /// The column of that name, if there is one.
    package func column(named name: String) -> Int? {
        self.columnNames.firstIndex(of: name)
    }

    /// The only row. Throws `.decoding` when there is none or more than one.
    package var only: PostgresRow {
        get throws(PostgresError) {
            guard self.count == 1 else { throw PostgresError(.decoding, "expected one row, got \(self.count)") }
            return self[0]
        }
    }
}

extension PostgresRows {
    /// The same rows with other bytes in some cells of one column, each named by its row.
    package func replacing(column: Int, with values: [(row: Int, bytes: [UInt8])]) -> PostgresRows {
        precondition((0..<self.columnCount).contains(column), "column index out of range")
        var (buffer, cells) = (self.buffer, self.cells)
        buffer.reserveCapacity(buffer.count + values.reduce(0) { $0 + $1.bytes.count })
        for (row, bytes) in values {
            precondition((0..<self.count).contains(row), "row index out of range")
            cells[row * self.columnCount + column] = Cell(offset: buffer.count, length: bytes.count)
            buffer += bytes
        }
        return PostgresRows(
            buffer: buffer, cells: cells, columnNames: self.columnNames, columnTypes: self.columnTypes,
            columnCount: self.columnCount, count: self.count, affectedRows: self.affectedRows)
    }
}

extension PostgresRows: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { self.count }

    package subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < self.count, "row index out of range")
        return PostgresRow(rows: self, index: position)
    }
}
