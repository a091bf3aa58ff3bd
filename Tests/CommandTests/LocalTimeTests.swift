import Foundation
import PinWire
import Testing

@testable import pinledger

@Suite struct `A time for people` {
    private let moment = Timestamp(seconds: 1_795_389_840)

    @Test(
        arguments: [
            (0, "2026-11-22 23:24Z"), (7200, "2026-11-23 01:24+02:00"), (-12_600, "2026-11-22 19:54-03:30"),
            (20_700, "2026-11-23 05:09+05:45"),
        ])
    func `a time has its date, and its distance from UTC`(seconds: Int, text: String) throws {
        let zone = try #require(TimeZone(secondsFromGMT: seconds))
        #expect(LocalTime.text(self.moment, zone: zone) == text)
        // Options take what is shown.
        #expect(try TimeInput.moment(text, .back) == self.moment)
    }

    @Test func `another text than a time is shown as it is`() {
        #expect(LocalTime.text("-") == "-")
        #expect((["at": "2026-11-22T23:24:00.5Z"] as JSON).time("at") == LocalTime.text(self.moment))
        #expect((["at": 7] as JSON).time("else") == "-")
    }

    /// Members of the API that are times, read where people are shown them.
    @Test func `every time that a command shows is in this one form`() throws {
        let name = #/\.text\("(?:time|at|since|until|from|minute|not_after|phase_since|[a-z_]*_at|[a-z_]+_time)"\)/#
        // Where the value is read, and not shown.
        let readers: Set = ["EventExport.swift", "ChangeReport.swift", "DayPeriods.swift"]
        for (path, text) in try SourceTexts.swift() where path.hasPrefix("pinledger/") {
            guard !readers.contains(where: path.hasSuffix) else { continue }
            for line in text.split(separator: "\n") where line.contains(name) {
                #expect(line.contains("Timestamp(rfc3339:") || line.contains(".prefix(10)"), "\(path): \(line)")
            }
        }
    }
}
