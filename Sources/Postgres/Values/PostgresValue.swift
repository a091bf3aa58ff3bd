/// One parameter of a statement, sent in binary with its type's OID, so that the server never guesses.
package enum PostgresValue: Sendable, Hashable {
    /// NULL of the type that the statement's context gives the parameter.
    case null
    case text(String)
    case bytes([UInt8])
    case bool(Bool)
    case int16(Int16)
    case int32(Int32)
    case int64(Int64)
    case double(Double)
    /// JSON text, sent as `jsonb`.
    case jsonb(String)
    /// `timestamptz`, in microseconds since the Unix epoch.
    case timestamp(Int64)
    case textArray([String?])
    case bytesArray([[UInt8]?])
    case boolArray([Bool?])
    case int16Array([Int16?])
    case int32Array([Int32?])
    case int64Array([Int64?])
    /// `timestamptz[]`, in microseconds since the Unix epoch.
    case timestampArray([Int64?])
    /// An array that is in its binary form already.
    case array(PostgresArrayBody)
}

extension PostgresValue {
    /// The value, or NULL.
    package static func optional<Value>(_ value: Value?, _ make: (Value) -> PostgresValue) -> PostgresValue {
        value.map(make) ?? .null
    }

    /// Microseconds from the Unix epoch to PostgreSQL's, 2000-01-01.
    static let epochOffset: Int64 = 946_684_800_000_000
}

/// The OIDs of the built-in types that cross the wire here; they are the same in every PostgreSQL.
enum TypeOID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let int2Array: UInt32 = 1005
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let date: UInt32 = 1082
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let timestamptzArray: UInt32 = 1185
    static let interval: UInt32 = 1186
    static let numeric: UInt32 = 1700
    static let uuid: UInt32 = 2950
    static let jsonb: UInt32 = 3802
}

extension PostgresValue {
    /// 0 lets the server infer the type.
    var typeOID: UInt32 {
        switch self {
        case .null: 0
        case .text: TypeOID.text
        case .bytes: TypeOID.bytea
        case .bool: TypeOID.bool
        case .int16: TypeOID.int2
        case .int32: TypeOID.int4
        case .int64: TypeOID.int8
        case .double: TypeOID.float8
        case .jsonb: TypeOID.jsonb
        case .timestamp: TypeOID.timestamptz
        case .textArray: TypeOID.textArray
        case .bytesArray: TypeOID.byteaArray
        case .boolArray: TypeOID.boolArray
        case .int16Array: TypeOID.int2Array
        case .int32Array: TypeOID.int4Array
        case .int64Array: TypeOID.int8Array
        case .timestampArray: TypeOID.timestamptzArray
        case .array(let body): body.arrayOID
        }
    }

    /// Appends the binary form; NULL has none and appends nothing.
    func encode(into buffer: inout [UInt8]) {
        switch self {
        case .null: break
        case .text(let value): buffer.append(contentsOf: value.utf8)
        case .bytes(let value): buffer.append(contentsOf: value)
        case .bool(let value): buffer.append(value ? 1 : 0)
        case .int16(let value): buffer.append(bigEndian: value)
        case .int32(let value): buffer.append(bigEndian: value)
        case .int64(let value): buffer.append(bigEndian: value)
        case .double(let value): buffer.append(bigEndian: value.bitPattern)
        case .jsonb(let value):
            buffer.append(1)
            buffer.append(contentsOf: value.utf8)
        case .timestamp(let value): buffer.append(bigEndian: value &- Self.epochOffset)
        case .textArray(let values): buffer.append(array: values, of: TypeOID.text) { $0.append(contentsOf: $1.utf8) }
        case .bytesArray(let values): buffer.append(array: values, of: TypeOID.bytea) { $0.append(contentsOf: $1) }
        case .boolArray(let values): buffer.append(array: values, of: TypeOID.bool) { $0.append($1 ? 1 : 0) }
        case .int16Array(let values): buffer.append(array: values, of: TypeOID.int2) { $0.append(bigEndian: $1) }
        case .int32Array(let values): buffer.append(array: values, of: TypeOID.int4) { $0.append(bigEndian: $1) }
        case .int64Array(let values): buffer.append(array: values, of: TypeOID.int8) { $0.append(bigEndian: $1) }
        case .timestampArray(let values):
            buffer.append(array: values, of: TypeOID.timestamptz) { $0.append(bigEndian: $1 &- Self.epochOffset) }
        case .array(let body):
            buffer.append(arrayOf: body.count, hasNulls: false, body.elementOID)
            buffer.append(contentsOf: body.elements)
        }
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe self.append(contentsOf: $0) }
    }

    /// A one-dimensional array: dimensions, has-nulls flag, element OID, (length, lower bound), then each element.
    fileprivate mutating func append<Value>(
        array values: [Value?],
        of elementOID: UInt32,
        _ encode: (inout [UInt8], Value) -> Void
    ) {
        self.append(arrayOf: values.count, hasNulls: values.contains { $0 == nil }, elementOID)
        for value in values {
            guard let value else {
                self.append(bigEndian: Int32(-1))
                continue
            }
            self.appendCounted { encode(&$0, value) }
        }
    }

    /// The header before the elements of an array.
    mutating func append(arrayOf count: Int, hasNulls: Bool, _ elementOID: UInt32) {
        self.append(bigEndian: count == 0 ? Int32(0) : 1)
        self.append(bigEndian: hasNulls ? Int32(1) : 0)
        self.append(bigEndian: elementOID)
        guard count > 0 else { return }
        self.append(bigEndian: Int32(truncatingIfNeeded: count))
        self.append(bigEndian: Int32(1))
    }

    /// Appends the closure's bytes after their length as an `Int32`.
    mutating func appendCounted(_ body: (inout [UInt8]) -> Void) {
        let start = self.count
        self.append(bigEndian: Int32(0))
        body(&self)
        let length = UInt32(truncatingIfNeeded: self.count - start - 4)
        for index in 0..<4 {
            self[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index))
        }
    }
}
