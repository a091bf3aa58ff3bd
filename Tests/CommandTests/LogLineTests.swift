import Fixtures
import Foundation
import LogLines
import Logging
import Testing

/// The lines of the log, which are declared in one place.
@Suite struct `A line of the log` {
    private static let file = SourceTexts.root.appending(path: "Sources/CHandbook/pages/log-lines.md")

    /// What the handbook says of all lines.
    private static var table: String {
        func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
        let rows = LogLine.allCases.map { line in
            let declaration = line.declaration
            return "| `\(line.rawValue)` | \(declaration.level) | \(cell("\(declaration.message)")) "
                + "| \(cell(declaration.advice ?? "Nothing.")) |"
        }
        return """
            # Log lines

            The server writes its log to standard error, one line for each thing that happened. Each line has a `code`, which
            stays the same between versions: let alerts match the code, not the message. What to do is also in the line itself,
            as `advice`. Lines that only inform have no advice. Lines without a code come from libraries that the server uses.

            A warning or an error that repeats with the same content is written once a minute, with the number of repetitions in
            `repeated`. Lines that strangers can cause (`request_refused`, `request_failed`, `request_ended`,
            `connection_refused`, `connections_not_accepted`) are limited to one a second of each kind after the first
            20; `left_out` counts the others.

            | Code | Level | What happened | What to do |
            | --- | --- | --- | --- |

            """ + rows.joined(separator: "\n") + "\n"
    }

    @Test(arguments: LogLine.allCases) func `a log line has a code, a message and, where something is wrong, advice`(
        line: LogLine
    ) throws {
        let declaration = line.declaration
        let message = "\(declaration.message)"
        #expect(line.rawValue.wholeMatch(of: #/[a-z]+(_[a-z]+)*/#) != nil)
        #expect(message.first?.isLowercase == true && !message.hasSuffix("."), "\(message)")
        #expect(Unreadable.reason(message) == nil)
        for pattern in try `The help of a command`.notPlain() {
            #expect(!message.contains(pattern) && declaration.advice?.contains(pattern) != true, "\(line)")
        }
        if let advice = declaration.advice {
            #expect(advice.first?.isUppercase == true && advice.hasSuffix("."), "\(advice)")
        } else {
            #expect(declaration.level <= .notice, "\(line) does not say what to do")
        }
    }

    @Test func `every log line has a code and a message of its own`() {
        #expect(Set(LogLine.allCases.map(\.rawValue)).count == LogLine.allCases.count)
        #expect(Set(LogLine.allCases.map { "\($0.declaration.message)" }).count == LogLine.allCases.count)
    }

    @Test func `every log line is in the handbook`() throws {
        if ProcessInfo.processInfo.environment["PINLEDGER_WRITE_GOLDEN"] == "1" {
            try Self.table.write(to: Self.file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: Self.file, encoding: .utf8) == Self.table,
            "write it again with PINLEDGER_WRITE_GOLDEN=1, and look at the difference")
    }

    @Test func `a log line is written by naming it, and in no other way`() throws {
        var named: Set<String> = []
        for (path, text) in try SourceTexts.swift() where !path.hasPrefix("LogLines/") {
            for call in Self.undeclared(in: text) { Issue.record("\(path) logs what is not declared: \(call)") }
            for part in text.utf8.split(separator: UInt8(ascii: ".")) {
                named.insert(String(decoding: part.prefix(while: Self.isName), as: UTF8.self))
            }
        }
        let unused = LogLine.allCases.filter { !named.contains("\($0)") }
        #expect(unused.isEmpty, "declared, and written nowhere")
    }

    @Test(arguments: [
        "self.logger.error(x)", "logger?.notice(", "services.logger.warning(\n", "a(b(logger.log(level: x)))",
        "log.info(y)",
    ]) func `a log line that is written freely is found`(text: String) {
        #expect(Self.undeclared(in: text).count == 1)
        #expect(
            Self.undeclared(in: "self.logger.log(.databaseLost, [:]); console.error(x); Glibc.log(x); error(y)").isEmpty
        )
    }

    /// Calls that write to a log without naming a line.
    private static func undeclared(in text: String) -> [String] {
        let levels: Set<Substring> = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
        let loggers: Set<Substring> = ["log", "logger", "logger?"]
        let pieces = text.utf8.split(separator: UInt8(ascii: "("), omittingEmptySubsequences: false)
        return zip(pieces, pieces.dropFirst()).compactMap { before, after in
            let name = String(decoding: before.reversed().prefix(while: Self.isName).reversed(), as: UTF8.self)
            let parts = name.split(separator: ".").suffix(2)
            guard parts.count == 2, let logger = parts.first, let method = parts.last, loggers.contains(logger) else {
                return nil
            }
            return levels.contains(method) || (method == "log" && after.starts(with: "level:".utf8)) ? name : nil
        }
    }

    /// Whether a byte is part of a name, with its dots and question marks.
    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "?"): true
        default: false
        }
    }

    @Test func `a log line carries its code and its advice, which details may replace`() {
        let recorder = LogRecorder()
        recorder.logger.log(.clockDrifting, ["difference": "2 s"])
        recorder.logger.log(.fileRefused, ["advice": "do this", "code": "own"])
        recorder.logger.log(.databaseBack)
        let text = recorder.text
        #expect(text.count == 3)
        #expect(text[0].hasPrefix("warning this node's clock"))
        for part in ["clock_drifting", "2 s", "NTP"] { #expect(text[0].contains(part)) }
        #expect(text[1].contains("do this") && text[1].contains("file_refused") && !text[1].contains("own\""))
        #expect(!text[2].contains("advice"))
    }

    @Test func `a log line costs nothing where its level is not logged`() {
        var logger = LogRecorder().logger
        logger.logLevel = .error
        logger.log(
            .databaseBack,
            {
                Issue.record("the details are made for nothing"); return [:]
            }())
    }
}
