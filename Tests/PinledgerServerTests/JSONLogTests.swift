import Logging
import PinWire
import Synchronization
import Testing

@testable import PinledgerServer

@Suite("The log in JSON") struct JSONLogTests {
    /// Lines, as they were written.
    private final class Lines: Sendable {
        let all = Mutex<[[UInt8]]>([])
    }

    private static func lines(_ write: (Logger) -> Void) throws -> [JSON] {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in JSONLogHandler { line in lines.all.withLock { $0.append(line) } } }
        logger.logLevel = .trace
        write(logger)
        return try lines.all.withLock { $0 }.map { line in
            #expect(line.last == UInt8(ascii: "\n") && line.dropLast().allSatisfy { $0 != UInt8(ascii: "\n") })
            return try JSON(parsing: Array(line.dropLast()))
        }
    }

    @Test func `a line is one object with time, level, message and the details`() throws {
        let lines = try Self.lines { logger in
            logger.warning(
                "the disk is full", metadata: ["code": "disk_full", "free": "\(17)", "on": ["a", ["b": "c"]]])
        }
        let line = try #require(lines.first)
        #expect(lines.count == 1)
        #expect(line["level"] == "warning" && line["message"] == "the disk is full" && line["code"] == "disk_full")
        #expect(line["free"] == "17" && line["on"] == ["a", ["b": "c"]])
        #expect(Timestamp(rfc3339: try #require(line["time"]?.stringValue)) != nil)
    }

    @Test(arguments: ["\n{\"level\":\"error\"}", "\"", "\u{0}\u{1B}[31m", "\\", "\u{2028}é"])
    func `text from outside stays a string`(text: String) throws {
        let lines = try Self.lines { $0.notice("a change", metadata: ["app": "\(text)", "time": "never"]) }
        #expect(lines.count == 1)
        #expect(lines.first?["app"]?.stringValue == text)
        #expect(lines.first?["detail_time"] == "never" && lines.first?["level"] == "notice")
    }
}
