import Dispatch
import Fixtures
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct CopyTests {
    struct Enough: Error {}

    static let rowCount = 100_000

    static func rows() -> some Sequence<[PostgresValue]> {
        (0..<Self.rowCount).lazy.map { index -> [PostgresValue] in
            let bytes = [UInt8](repeating: UInt8(index % 256), count: index % 100)
            return [.int64(Int64(index)), .bytes(bytes), index % 7 == 0 ? .null : .text("row \(index)")]
        }
    }

    @Test func `a hundred thousand rows go in and come out as they were`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (position int8, body bytea, note text)")
        let (copied, total, wrong) = try await connection.perform { connection in
            let copied = try connection.copyIn("COPY t FROM STDIN (FORMAT binary)", rows: Self.rows())
            var expected = Self.rows().makeIterator()
            var wrong = 0
            let sql = "COPY (SELECT * FROM t ORDER BY position) TO STDOUT (FORMAT binary)"
            let total = try connection.copyRows(sql) { batch in
                for row in batch {
                    let found: [PostgresValue] = [
                        .int64(try row.int64(0)), .bytes(try row.bytes(1)),
                        .optional(try row.optionalText(2)) { .text($0) },
                    ]
                    if found != expected.next() { wrong += 1 }
                }
            }
            return (copied, total, wrong)
        }
        #expect(copied == Int64(Self.rowCount))
        #expect(total == Int64(Self.rowCount))
        #expect(wrong == 0)
        #expect(connection.isUsable)
    }

    @Test func `raw chunks come as the server sends them`() async throws {
        let connection = try await SharedDatabase.connect()
        let lines = try await connection.perform { connection in
            var lines: [String] = []
            try connection.copyOut("COPY (SELECT generate_series(1, 3)) TO STDOUT") {
                lines.append(String(decoding: $0, as: UTF8.self))
            }
            return lines
        }
        #expect(lines == ["1\n", "2\n", "3\n"])
    }

    @Test func `a reader that gives up leaves the connection usable`() async throws {
        let connection = try await SharedDatabase.connect()
        await #expect(throws: Enough.self) {
            try await connection.perform { connection in
                try connection.copyRows("COPY (SELECT generate_series(1, 5000000)) TO STDOUT (FORMAT binary)") { _ in
                    throw Enough()
                }
            }
        }
        #expect(connection.isUsable)
        #expect(try await connection.query("SELECT 1::int8").only.int64(0) == 1)
    }

    @Test func `a writer that gives up leaves nothing in the table`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (a int8)")
        await #expect(throws: Enough.self) {
            try await connection.perform { connection in
                var left = 3
                return try connection.copyIn("COPY t FROM STDIN") {
                    left -= 1
                    if left == 0 { throw Enough() }
                    return Array("1\n".utf8)
                }
            }
        }
        #expect(try await connection.query("SELECT count(*) FROM t").only.int64(0) == 0)
    }

    @Test func `the server's refusal of a row is reported`() async throws {
        let connection = try await SharedDatabase.connect()
        try await connection.execute(script: "CREATE TEMP TABLE t (a int8 UNIQUE)")
        let duplicate = await failure {
            try await connection.perform { connection in
                let rows: [[PostgresValue]] = [[.int64(1)], [.int64(1)]]
                return try connection.copyIn("COPY t FROM STDIN (FORMAT binary)", rows: rows)
            }
        }
        #expect(duplicate?.sqlState == "23505")
        let missing = await failure {
            try await connection.perform { try $0.copyRows("COPY nowhere TO STDOUT (FORMAT binary)") { _ in } }
        }
        #expect(missing?.sqlState == "42P01")
        let notCopy = await failure { try await connection.perform { try $0.copyOut("SELECT 1") { _ in } } }
        #expect(notCopy?.code == .usage)
        #expect(connection.isUsable)
    }

    @Test func `cancelling the task ends a COPY whose rows never stop coming`() async throws {
        let connection = try await SharedDatabase.connect()
        let (rows, row) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let task = Task {
            try await connection.perform { connection in
                try connection.copyRows("COPY (SELECT generate_series(1, 1000000000)) TO STDOUT (FORMAT binary)") { _ in
                    row.yield()
                }
            }
        }
        for await _ in rows { break }
        task.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
        #expect(connection.isUsable)
    }

    @Test func `a COPY cut within a row is a lost connection at once`() async throws {
        // So long that the end of this test would come before the statement's.
        var configuration = try SharedDatabase.configuration()
        (configuration.statementTimeout, configuration.answerGrace) = (.seconds(36_000), .seconds(36_000))
        let connection = try await PostgresConnection.connect(configuration)
        let backend = connection.backendPID
        let error = await failure {
            try await connection.perform { connection in
                var isCut = false
                // More than the sockets hold, so that the server is in the middle of a row when it is ended.
                try connection.copyOut(
                    "COPY (SELECT repeat('x', 20000000) FROM generate_series(1, 20)) TO STDOUT (FORMAT binary)"
                ) { _ in
                    guard !isCut else { return }
                    isCut = true
                    let done = DispatchSemaphore(value: 0)
                    Task {
                        try? await SharedDatabase.terminate(backend)
                        done.signal()
                    }
                    done.wait()
                }
            }
        }
        #expect(error?.isConnectionLoss == true)
        #expect(!connection.isUsable)
    }

    @Test func `a COPY killed under way is a lost connection`() async throws {
        let connection = try await SharedDatabase.connect()
        let error = await failure {
            try await connection.perform { connection in
                try connection.copyRows(
                    "COPY (SELECT CASE WHEN i = 5000 THEN pg_terminate_backend(pg_backend_pid()) END FROM "
                        + "generate_series(1, 10000) i) TO STDOUT (FORMAT binary)"
                ) { _ in }
            }
        }
        #expect(error?.isConnectionLoss == true)
        #expect(!connection.isUsable)
    }

    // MARK: The format, without a database

    private static func encoded() throws -> [UInt8] {
        var encoder = PostgresCopyEncoder()
        try encoder.append([.int32(5), .null, .text("")])
        try encoder.append([.int32(-5), .bytes([1, 2, 3]), .text("ü")])
        encoder.finish()
        return encoder.takeBytes()
    }

    @Test func `rows of a COPY are the same however the bytes are cut`() throws {
        let bytes = try Self.encoded()
        for size in 1...bytes.count {
            var decoder = PostgresCopyDecoder()
            var found: [Int32] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                try Array(bytes[start..<min(bytes.count, start + size)]).withUnsafeBytes { try decoder.append($0) }
                if decoder.rowCount > 0 { found += try decoder.takeRows().map { try $0.int32(0) } }
            }
            try decoder.finish()
            #expect(found == [5, -5])
        }
    }

    @Test func `a COPY whose bytes are cut short or malformed is refused`() throws {
        let bytes = try Self.encoded()
        var short = PostgresCopyDecoder()
        try Array(bytes.dropLast(2)).withUnsafeBytes { try short.append($0) }
        #expect(short.rowCount == 2)
        #expect(throws: PostgresError.self) { try short.finish() }
        var other = PostgresCopyDecoder()
        #expect(throws: PostgresError.self) {
            try [UInt8](repeating: 0, count: 40).withUnsafeBytes { try other.append($0) }
        }
        var broken = PostgresCopyDecoder()
        #expect(throws: PostgresError.self) {
            try (bytes.prefix(19) + [0, 1, 255, 255, 255, 0]).withUnsafeBytes { try broken.append($0) }
        }
    }
}
