/// Rows in the binary COPY format: a header of 19 bytes, then for each row its column count and each value behind its
/// length, and -1 at the end.
package struct PostgresCopyEncoder: Sendable {
    static let signature: [UInt8] = [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00]

    private var buffer: [UInt8]

    package init() {
        // No flags, no header extension.
        self.buffer = Self.signature + [UInt8](repeating: 0, count: 8)
    }

    package var byteCount: Int { self.buffer.count }

    /// The values MUST have exactly the column types of the table: COPY converts nothing.
    package mutating func append(_ row: [PostgresValue]) throws(PostgresError) {
        guard let count = Int16(exactly: row.count) else {
            throw PostgresError(.usage, "\(row.count) columns are too many")
        }
        self.buffer.append(bigEndian: count)
        for value in row {
            if value == .null {
                self.buffer.append(bigEndian: Int32(-1))
            } else {
                self.buffer.appendCounted { value.encode(into: &$0) }
            }
        }
    }

    /// Appends the end marker.
    package mutating func finish() {
        self.buffer.append(bigEndian: Int16(-1))
    }

    /// What has been encoded since the last call.
    package mutating func takeBytes() -> [UInt8] {
        defer { self.buffer = [] }
        return self.buffer
    }
}
