import Logging
import PinledgerServer
import Synchronization
import Testing

struct RepeatedLinesTests {
    /// What comes through.
    private final class Written: Sendable {
        private let content = Mutex<[String]>([])
        var lines: [String] { self.content.withLock { $0 } }
        func take(_ line: String) { self.content.withLock { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let written: Written
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.written.take("\(event.message) \(event.metadata ?? [:])") }
    }

    private static func logger(_ written: Written, _ held: HeldLines) -> Logger {
        Logger(label: "test") { _ in RepeatedLines(Handler(written: written), held: held, level: SharedLogLevel(.trace))
        }
    }

    @Test func `one of several equal warnings is written, and then their number`() {
        let (written, held) = (Written(), HeldLines(interval: .seconds(3600)))
        let logger = Self.logger(written, held)
        for _ in 0..<4333 { logger.warning("not recorded", metadata: ["error": "disk full"]) }
        logger.warning("not recorded", metadata: ["error": "another"])
        logger.error("not recorded", metadata: ["error": "disk full"])
        #expect(written.lines.count == 3)
        held.writeHeld(before: .now)
        #expect(written.lines.count == 3)
        held.writeHeld(before: nil)
        #expect(written.lines.count == 4)
        #expect(written.lines.last?.contains("4332") == true)
        // Nothing is left of it: the next one is written at once.
        logger.warning("not recorded", metadata: ["error": "disk full"])
        #expect(written.lines.count == 5)
    }

    @Test func `a repeated warning after the interval is written with the number of all since`() {
        let (written, held) = (Written(), HeldLines(interval: .zero))
        let logger = Self.logger(written, held)
        for _ in 0..<3 { logger.warning("again") }
        #expect(written.lines.count == 3)
        #expect(written.lines.allSatisfy { $0.contains("again") })
    }

    @Test func `other levels are written each time, and so are a thousand different warnings`() {
        let (written, held) = (Written(), HeldLines(interval: .seconds(3600)))
        let logger = Self.logger(written, held)
        for _ in 0..<10 { logger.notice("said") }
        for number in 0..<1000 { logger.warning("w\(number)") }
        #expect(written.lines.count == 1010)
    }

    @Test func `the logger's own metadata tell lines apart`() {
        let (written, held) = (Written(), HeldLines(interval: .seconds(3600)))
        for name in ["a", "b", "a"] {
            var logger = Self.logger(written, held)
            logger[metadataKey: "node"] = "\(name)"
            logger.warning("same")
        }
        #expect(written.lines.count == 2)
    }
}
