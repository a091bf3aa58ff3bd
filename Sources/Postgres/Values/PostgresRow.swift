import PinWire

/// One row of a result; columns are numbered from 0.
///
/// Every accessor throws `.decoding` when the column does not exist, is NULL where a value is required, or holds
/// another type. Integers widen (an `int4` may be read as `int64`); nothing narrows.
package struct PostgresRow: Sendable {
    let rows: PostgresRows
    package let index: Int

    package var columnCount: Int { self.rows.columnCount }

    package func isNull(_ column: Int) throws(PostgresError) -> Bool {
        try self.cell(column).length < 0
    }

    package func bool(_ column: Int) throws(PostgresError) -> Bool {
        try self.required(column, self.optionalBool(column))
    }

    package func int16(_ column: Int) throws(PostgresError) -> Int16 {
        try self.required(column, self.optionalInt16(column))
    }

    package func int32(_ column: Int) throws(PostgresError) -> Int32 {
        try self.required(column, self.optionalInt32(column))
    }

    package func int64(_ column: Int) throws(PostgresError) -> Int64 {
        try self.required(column, self.optionalInt64(column))
    }

    /// A whole number from 0 to 2^53 - 1, the range of positions, versions and counts: sums of such numbers cannot
    /// overflow.
    package func natural(_ column: Int) throws(PostgresError) -> Int64 {
        let number = try self.int64(column)
        guard (0..<1 << 53).contains(number) else { throw self.mismatch(column, "a whole number from 0 to 2^53 - 1") }
        return number
    }

    package func double(_ column: Int) throws(PostgresError) -> Double {
        try self.required(column, self.optionalDouble(column))
    }

    package func text(_ column: Int) throws(PostgresError) -> String {
        try self.required(column, self.optionalText(column))
    }

    package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        try self.required(column, self.optionalBytes(column))
    }

    /// `timestamptz` in microseconds since the Unix epoch.
    package func timestamp(_ column: Int) throws(PostgresError) -> Int64 {
        try self.required(column, self.optionalTimestamp(column))
    }

    package func optionalBool(_ column: Int) throws(PostgresError) -> Bool? {
        guard let bytes = try self.slice(column, [TypeOID.bool]) else { return nil }
        guard bytes.count == 1, let first = bytes.first else { throw self.mismatch(column, "bool") }
        return first != 0
    }

    package func optionalInt16(_ column: Int) throws(PostgresError) -> Int16? {
        guard let bytes = try self.slice(column, [TypeOID.int2]) else { return nil }
        guard bytes.count == 2 else { throw self.mismatch(column, "int2") }
        return Int16(bigEndian: bytes)
    }

    package func optionalInt32(_ column: Int) throws(PostgresError) -> Int32? {
        guard let bytes = try self.slice(column, [TypeOID.int4, TypeOID.int2]) else { return nil }
        switch bytes.count {
        case 4: return Int32(bigEndian: bytes)
        case 2: return Int32(Int16(bigEndian: bytes))
        default: throw self.mismatch(column, "int4")
        }
    }

    package func optionalInt64(_ column: Int) throws(PostgresError) -> Int64? {
        let types = [TypeOID.int8, TypeOID.int4, TypeOID.int2, TypeOID.oid]
        guard let bytes = try self.slice(column, types) else { return nil }
        switch bytes.count {
        case 8: return Int64(bigEndian: bytes)
        case 4 where self.type(column) == TypeOID.oid: return Int64(UInt32(bigEndian: bytes))
        case 4: return Int64(Int32(bigEndian: bytes))
        case 2: return Int64(Int16(bigEndian: bytes))
        default: throw self.mismatch(column, "int8")
        }
    }

    package func optionalDouble(_ column: Int) throws(PostgresError) -> Double? {
        guard let bytes = try self.slice(column, [TypeOID.float8, TypeOID.float4]) else { return nil }
        switch bytes.count {
        case 8: return Double(bitPattern: UInt64(bigEndian: bytes))
        case 4: return Double(Float(bitPattern: UInt32(bigEndian: bytes)))
        default: throw self.mismatch(column, "float8")
        }
    }

    package func optionalTimestamp(_ column: Int) throws(PostgresError) -> Int64? {
        guard let bytes = try self.slice(column, [TypeOID.timestamptz]) else { return nil }
        guard bytes.count == 8 else { throw self.mismatch(column, "timestamptz") }
        let (value, overflows) = Int64(bigEndian: bytes).addingReportingOverflow(PostgresValue.epochOffset)
        // "infinity" is the largest Int64.
        return overflows ? .max : value
    }

    package func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? {
        try self.slice(column, [TypeOID.bytea, TypeOID.uuid]).map(Array.init)
    }

    /// Any type whose binary form is its text: `text`, `varchar`, `name`, `json`, enumerations; and `jsonb`.
    package func optionalText(_ column: Int) throws(PostgresError) -> String? {
        let type = self.type(column)
        guard !Self.isBinary(type) else { throw self.mismatch(column, "text") }
        guard var bytes = try self.slice(column, []) else { return nil }
        if type == TypeOID.jsonb { bytes = bytes.dropFirst() }
        guard let text = String(streamSafe: bytes, marks: StreamSafeText.storedMarkLimit) else {
            throw self.mismatch(column, "text in UTF-8 with few combining marks in a row")
        }
        return text
    }

    // MARK: Cells

    private func cell(_ column: Int) throws(PostgresError) -> PostgresRows.Cell {
        guard column >= 0, column < self.rows.columnCount else {
            throw PostgresError(.decoding, "there is no column \(column)")
        }
        return self.rows.cells[self.index * self.rows.columnCount + column]
    }

    /// 0 when the type or the column is unknown.
    private func type(_ column: Int) -> UInt32 {
        self.rows.columnTypes.indices.contains(column) ? self.rows.columnTypes[column] : 0
    }

    /// The cell's bytes, nil for NULL. An empty list of types accepts any.
    func slice(_ column: Int, _ types: [UInt32]) throws(PostgresError) -> ArraySlice<UInt8>? {
        let cell = try self.cell(column)
        let type = self.type(column)
        guard types.isEmpty || type == 0 || types.contains(type) else { throw self.mismatch(column, "that type") }
        guard cell.length >= 0 else { return nil }
        return self.rows.buffer[cell.offset..<cell.offset + cell.length]
    }

    func required<Value>(_ column: Int, _ value: Value?) throws(PostgresError) -> Value {
        guard let value else { throw PostgresError(.decoding, "column \(column) is NULL") }
        return value
    }

    func mismatch(_ column: Int, _ wanted: String) -> PostgresError {
        PostgresError(.decoding, "column \(column), of type \(self.type(column)), is not \(wanted)")
    }

    /// Types whose binary form would only look like text by accident.
    private static func isBinary(_ type: UInt32) -> Bool {
        switch type {
        case TypeOID.bool, TypeOID.bytea, TypeOID.int2, TypeOID.int4, TypeOID.int8, TypeOID.oid, TypeOID.float4,
            TypeOID.float8, TypeOID.date, TypeOID.timestamp, TypeOID.timestamptz, TypeOID.interval, TypeOID.numeric,
            TypeOID.uuid:
            true
        case 1000..<1042, 1115, 1182..<1184, 1185, 1187, 1231, 2951, 3807: true
        default: false
        }
    }
}

extension FixedWidthInteger {
    /// From as many bytes as the integer has; the caller has counted them.
    init(bigEndian bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
