import PinWire

// One-dimensional arrays. A NULL array is an error unless asked for as optional; an element may be NULL.
extension PostgresRow {
    package func textArray(_ column: Int) throws(PostgresError) -> [String?] {
        try self.required(column, self.optionalTextArray(column))
    }

    package func bytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]?] {
        try self.required(column, self.optionalBytesArray(column))
    }

    package func int64Array(_ column: Int) throws(PostgresError) -> [Int64?] {
        try self.required(column, self.optionalInt64Array(column))
    }

    package func int32Array(_ column: Int) throws(PostgresError) -> [Int32?] {
        try self.array(column, [TypeOID.int4Array]) { $0.count == 4 ? Int32(bigEndian: $0) : nil }
    }

    package func int16Array(_ column: Int) throws(PostgresError) -> [Int16?] {
        try self.array(column, [TypeOID.int2Array]) { $0.count == 2 ? Int16(bigEndian: $0) : nil }
    }

    package func boolArray(_ column: Int) throws(PostgresError) -> [Bool?] {
        try self.array(column, [TypeOID.boolArray]) { $0.count == 1 ? $0.first != 0 : nil }
    }

    /// In microseconds since the Unix epoch.
    package func timestampArray(_ column: Int) throws(PostgresError) -> [Int64?] {
        try self.array(column, [TypeOID.timestamptzArray]) {
            $0.count == 8 ? Int64(bigEndian: $0) &+ PostgresValue.epochOffset : nil
        }
    }

    package func optionalTextArray(_ column: Int) throws(PostgresError) -> [String?]? {
        // varchar[], bpchar[] and name[] have the same form.
        try self.optionalArray(column, [TypeOID.textArray, 1015, 1014, 1003]) {
            String(streamSafe: $0, marks: StreamSafeText.storedMarkLimit)
        }
    }

    package func optionalBytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]?]? {
        try self.optionalArray(column, [TypeOID.byteaArray, 2951]) { Array($0) }
    }

    package func optionalInt64Array(_ column: Int) throws(PostgresError) -> [Int64?]? {
        try self.optionalArray(column, [TypeOID.int8Array, TypeOID.int4Array, TypeOID.int2Array]) {
            switch $0.count {
            case 8: Int64(bigEndian: $0)
            case 4: Int64(Int32(bigEndian: $0))
            case 2: Int64(Int16(bigEndian: $0))
            default: nil
            }
        }
    }

    private func array<Element>(
        _ column: Int,
        _ types: [UInt32],
        _ decode: (ArraySlice<UInt8>) -> Element?
    ) throws(PostgresError) -> [Element?] {
        try self.required(column, self.optionalArray(column, types, decode))
    }

    private func optionalArray<Element>(
        _ column: Int,
        _ types: [UInt32],
        _ decode: (ArraySlice<UInt8>) -> Element?
    ) throws(PostgresError) -> [Element?]? {
        guard var rest = try self.slice(column, types) else { return nil }
        let malformed = self.mismatch(column, "a one-dimensional array of that element")
        func next() throws(PostgresError) -> Int {
            guard rest.count >= 4 else { throw malformed }
            defer { rest = rest.dropFirst(4) }
            return Int(Int32(bigEndian: rest.prefix(4)))
        }
        let dimensions = try next()
        _ = try next()
        _ = try next()
        if dimensions == 0 { return [] }
        guard dimensions == 1 else { throw malformed }
        let count = try next()
        _ = try next()
        // Each element takes at least its length, which bounds what a broken count could make us reserve.
        guard count >= 0, count <= rest.count / 4 else { throw malformed }
        var elements: [Element?] = []
        elements.reserveCapacity(count)
        for _ in 0..<count {
            let length = try next()
            guard length >= 0 else {
                elements.append(nil)
                continue
            }
            guard length <= rest.count, let element = decode(rest.prefix(length)) else { throw malformed }
            elements.append(element)
            rest = rest.dropFirst(length)
        }
        return elements
    }
}
