import CPostgres

/// One PGresult, freed with its owner.
@safe
struct LibpqResult: ~Copyable {
    private let handle: OpaquePointer

    init?(taking handle: OpaquePointer?) {
        guard let handle = unsafe handle else { return nil }
        unsafe self.handle = handle
    }

    deinit {
        unsafe PQclear(self.handle)
    }

    var status: ExecStatusType { unsafe PQresultStatus(self.handle) }

    var affectedRows: Int64 {
        unsafe PQcmdTuples(self.handle).flatMap { unsafe Int64(String(cString: $0)) } ?? 0
    }

    /// The server's error; nil unless it has an SQLSTATE (libpq makes results of its own for lost connections).
    var serverError: PostgresError? {
        guard let state = self.field("C") else { return nil }
        var error = PostgresError(.server(sqlState: state), self.field("M") ?? "")
        error.detail = self.field("D")
        error.hint = self.field("H")
        error.constraint = self.field("n")
        return error
    }

    /// FATAL and PANIC end the session.
    var endsSession: Bool {
        ["FATAL", "PANIC"].contains(self.field("V") ?? "")
    }

    private func field(_ code: Unicode.Scalar) -> String? { unsafe Self.field(code, of: self.handle) }

    /// A field of an error or a notice: `C`, `M` and so on, as the protocol names them.
    static func field(_ code: Unicode.Scalar, of result: OpaquePointer) -> String? {
        unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) }
    }

    /// All rows, copied into one buffer that is sized before.
    func rows() -> PostgresRows {
        let columns = unsafe Int(PQnfields(self.handle))
        let count = unsafe Int(PQntuples(self.handle))
        var cells: [PostgresRows.Cell] = []
        cells.reserveCapacity(columns * count)
        var size = 0
        for row in 0..<Int32(count) {
            for column in 0..<Int32(columns) {
                let isNull = unsafe PQgetisnull(self.handle, row, column) != 0
                let length = unsafe isNull ? -1 : Int(PQgetlength(self.handle, row, column))
                cells.append(PostgresRows.Cell(offset: size, length: length))
                size += max(0, length)
            }
        }
        // Without bytes this would write to the empty array that all threads share.
        let buffer =
            size == 0
            ? []
            : unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
                for (index, cell) in cells.enumerated() where cell.length > 0 {
                    let row = Int32(index / columns)
                    let column = Int32(index % columns)
                    guard let value = unsafe PQgetvalue(self.handle, row, column) else { continue }
                    unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[cell.offset...]
                    )
                    .copyMemory(from: UnsafeRawBufferPointer(start: value, count: cell.length))
                }
                filled = size
            }
        return PostgresRows(
            buffer: buffer,
            cells: cells,
            columnNames: (0..<Int32(columns)).map {
                unsafe PQfname(self.handle, $0).map { unsafe String(cString: $0) } ?? ""
            },
            columnTypes: (0..<Int32(columns)).map { unsafe PQftype(self.handle, $0) },
            columnCount: columns,
            count: count,
            affectedRows: self.affectedRows
        )
    }
}
