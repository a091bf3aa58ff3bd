import Fixtures
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct ValueTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var type: String
        var value: PostgresValue
        /// What PostgreSQL itself writes for the value.
        var text: String?
        var read: @Sendable (PostgresRow) throws -> PostgresValue

        var testDescription: String { "\(self.type) \(self.text ?? "NULL")".prefix(60).description }
    }

    static func array<Element: PostgresArrayElement>(_ elements: Element...) -> PostgresValue {
        self.array(elements)
    }

    static func array<Element: PostgresArrayElement>(_ elements: [Element?]) -> PostgresValue {
        var array = PostgresArray<Element>()
        for case let element? in elements { array.append(element) }
        return array.value
    }

    static let cases: [Case] = [
        Case(type: "text", value: .text(""), text: "") { .text(try $0.text(0)) },
        Case(type: "text", value: .text("grüße 🦔 \u{1} \"'\\"), text: "grüße 🦔 \u{1} \"'\\") { .text(try $0.text(0)) },
        Case(type: "varchar", value: .text("a"), text: "a") { .text(try $0.text(0)) },
        Case(type: "name", value: .text("a"), text: "a") { .text(try $0.text(0)) },
        Case(type: "json", value: .text("{\"a\": 1}"), text: "{\"a\": 1}") { .text(try $0.text(0)) },
        Case(type: "jsonb", value: .jsonb("{\"a\": 1}"), text: "{\"a\": 1}") { .jsonb(try $0.text(0)) },
        Case(type: "bytea", value: .bytes([]), text: "\\x") { .bytes(try $0.bytes(0)) },
        Case(type: "bytea", value: .bytes([0, 255, 0]), text: "\\x00ff00") { .bytes(try $0.bytes(0)) },
        Case(type: "bool", value: .bool(true), text: "true") { .bool(try $0.bool(0)) },
        Case(type: "bool", value: .bool(false), text: "false") { .bool(try $0.bool(0)) },
        Case(type: "int2", value: .int16(.min), text: "-32768") { .int16(try $0.int16(0)) },
        Case(type: "int2", value: .int16(.max), text: "32767") { .int16(try $0.int16(0)) },
        Case(type: "int4", value: .int32(.min), text: "-2147483648") { .int32(try $0.int32(0)) },
        Case(type: "int4", value: .int32(.max), text: "2147483647") { .int32(try $0.int32(0)) },
        Case(type: "int8", value: .int64(.min), text: "-9223372036854775808") { .int64(try $0.int64(0)) },
        Case(type: "int8", value: .int64(.max), text: "9223372036854775807") { .int64(try $0.int64(0)) },
        Case(type: "int8", value: .int64(-1), text: "-1") { .int64(try $0.int64(0)) },
        Case(type: "float8", value: .double(-0.1), text: "-0.1") { .double(try $0.double(0)) },
        Case(type: "timestamptz", value: .timestamp(0), text: "1970-01-01 00:00:00+00") {
            .timestamp(try $0.timestamp(0))
        },
        Case(type: "timestamptz", value: .timestamp(1_700_000_000_123_456), text: "2023-11-14 22:13:20.123456+00") {
            .timestamp(try $0.timestamp(0))
        },
        Case(type: "timestamptz", value: .timestamp(-1), text: "1969-12-31 23:59:59.999999+00") {
            .timestamp(try $0.timestamp(0))
        },
        Case(type: "text[]", value: .textArray([]), text: "{}") { .textArray(try $0.textArray(0)) },
        Case(type: "text[]", value: .textArray(["a", nil, "", "ü,"]), text: "{a,NULL,\"\",\"ü,\"}") {
            .textArray(try $0.textArray(0))
        },
        Case(type: "bytea[]", value: .bytesArray([]), text: "{}") { .bytesArray(try $0.bytesArray(0)) },
        Case(type: "bytea[]", value: .bytesArray([[0], nil, []]), text: #"{"\\x00",NULL,"\\x"}"#) {
            .bytesArray(try $0.bytesArray(0))
        },
        Case(type: "text[]", value: PostgresArray<String>().value, text: "{}") { _ in PostgresArray<String>().value },
        Case(type: "text[]", value: array("a", "", "ü,"), text: "{a,\"\",\"ü,\"}") {
            array(try $0.textArray(0))
        },
        Case(type: "bytea[]", value: array([0], []), text: #"{"\\x00","\\x"}"#) { array(try $0.bytesArray(0)) },
        Case(type: "int4[]", value: array(Int32.min, .max), text: "{-2147483648,2147483647}") {
            array(try $0.int32Array(0))
        },
        Case(type: "int8[]", value: array(Int64.min, .max), text: "{-9223372036854775808,9223372036854775807}") {
            array(try $0.int64Array(0))
        },
        Case(type: "bool[]", value: .boolArray([true, nil, false]), text: "{t,NULL,f}") {
            .boolArray(try $0.boolArray(0))
        },
        Case(type: "int2[]", value: .int16Array([.min, nil]), text: "{-32768,NULL}") {
            .int16Array(try $0.int16Array(0))
        },
        Case(type: "int4[]", value: .int32Array([.max, 0]), text: "{2147483647,0}") {
            .int32Array(try $0.int32Array(0))
        },
        Case(type: "int8[]", value: .int64Array([.min]), text: "{-9223372036854775808}") {
            .int64Array(try $0.int64Array(0))
        },
        Case(type: "int8[]", value: .int64Array([]), text: "{}") { .int64Array(try $0.int64Array(0)) },
        Case(type: "timestamptz[]", value: .timestampArray([0, nil]), text: "{\"1970-01-01 00:00:00+00\",NULL}") {
            .timestampArray(try $0.timestampArray(0))
        },
    ]

    @Test(arguments: cases)
    func `a value reads back as it was sent, and PostgreSQL reads the same in it`(_ given: Case) async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "SET timezone = 'UTC'")
        let sql = "SELECT $1::\(given.type), ($1::\(given.type))::text"
        for rows in [
            try await connection.query(sql, [given.value]),
            try await connection.query(prepared: PreparedStatement(sql), [given.value]),
        ] {
            let row = try rows.only
            #expect(try given.read(row) == given.value)
            #expect(try row.optionalText(1) == given.text)
        }
    }

    @Test(arguments: Set(cases.map(\.type)).sorted())
    func `NULL is NULL in every type`(_ type: String) async throws {
        let row = try await SharedDatabase.connect().query("SELECT $1::\(type)", [.null]).only
        #expect(try row.isNull(0))
        #expect(throws: PostgresError.self) { try row.bytes(0) }
    }

    @Test func `optional accessors return nil for NULL and plain ones throw`() async throws {
        let sql = """
            SELECT NULL::int8, NULL::text, NULL::bytea, NULL::bool, NULL::timestamptz, NULL::float8, NULL::int4,
                NULL::int2, NULL::text[], NULL::bytea[], NULL::int8[]
            """
        let row = try await SharedDatabase.connect().query(sql).only
        #expect(try row.optionalInt64(0) == nil)
        #expect(try row.optionalText(1) == nil)
        #expect(try row.optionalBytes(2) == nil)
        #expect(try row.optionalBool(3) == nil)
        #expect(try row.optionalTimestamp(4) == nil)
        #expect(try row.optionalDouble(5) == nil)
        #expect(try row.optionalInt32(6) == nil)
        #expect(try row.optionalInt16(7) == nil)
        #expect(try row.optionalTextArray(8) == nil)
        #expect(try row.optionalBytesArray(9) == nil)
        #expect(try row.optionalInt64Array(10) == nil)
        #expect(throws: PostgresError.self) { try row.int64(0) }
        #expect(throws: PostgresError.self) { try row.textArray(8) }
    }

    @Test func `integers widen and never narrow, and types are not confused`() async throws {
        let row = try await SharedDatabase.connect().query("SELECT 7::int2, -8::int4, 9::int8, 'x'::text, 1.5::float4")
            .only
        #expect(try row.int64(0) == 7)
        #expect(try row.int64(1) == -8)
        #expect(try row.int32(0) == 7)
        #expect(try row.double(4) == 1.5)
        for wrong: (PostgresRow) throws -> Any in [
            { try $0.int32(2) }, { try $0.int16(1) }, { try $0.int64(3) }, { try $0.text(2) }, { try $0.timestamp(2) },
            { try $0.bytes(3) }, { try $0.bool(0) }, { try $0.textArray(3) }, { try $0.int64(5) }, { try $0.int64(-1) },
        ] {
            #expect(throws: PostgresError.self) { _ = try wrong(row) }
        }
    }

    @Test func `rows are a collection with names and counts`() async throws {
        let connection = try await SharedDatabase.connect()
        let rows = try await connection.query("SELECT i AS number, i::text AS word FROM generate_series(1, 1000) AS i")
        #expect(rows.count == 1000)
        #expect(rows.columnCount == 2)
        #expect(rows.column(named: "word") == 1)
        #expect(rows.column(named: "none") == nil)
        #expect(try rows.map { try $0.int64(0) } == Array(1...1000))
        #expect(try rows[999].text(1) == "1000")
        #expect(throws: PostgresError.self) { try rows.only }
        #expect(try await connection.query("CREATE TEMP TABLE t AS SELECT generate_series(1, 5)").affectedRows == 5)
        #expect(try await connection.query("DELETE FROM t WHERE generate_series > 2").affectedRows == 3)
        #expect(try await connection.query("SELECT").columnCount == 0)
    }
}
